import CLinux
import Glibc

/// Keeps the idle daemon small (design: at most 8 MiB of its own), and its memory its own.
enum MemoryUse {
    /// One malloc arena for all threads: by default each gets its own of up to 64 MiB of address space, and what one frees
    /// no other can use (mallopt(3), M_ARENA_MAX). A few threads that mostly wait do not contend for it. M_MMAP_THRESHOLD
    /// is fixed, because it grows by itself with the largest block ever freed, and then large blocks stay on the heap.
    /// M_TRIM_THRESHOLD is raised, or the heap's end would go up and down with every request; `Store.releaseMemory` gives it
    /// back.
    static func limitArenas() {
        mallopt(prsnl_m_arena_max, 1)
        mallopt(prsnl_m_mmap_threshold, 256 << 10)
        mallopt(prsnl_m_trim_threshold, 2 << 20)
    }

    /// Memory holds the key: no core dump, and no other process of the same user may read it (PR_SET_DUMPABLE in prctl(2)).
    /// Root still may. The kernel takes this back at every execve(2).
    static func forbidInspection() { _ = prsnl_set_not_dumpable() }
}
