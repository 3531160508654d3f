import CLinux
import Glibc

/// The memory of the process, as malloc(3) gets it from the kernel.
package enum Heap {
    /// One arena for all threads: by default each gets its own of up to 64 MiB of address space, what one frees no other can
    /// use, and it grows by one page a system call, hundreds of them for a command (mallopt(3), M_ARENA_MAX). A few threads
    /// that mostly wait do not contend for it.
    ///
    /// M_MMAP_THRESHOLD is fixed, because it grows by itself with the largest block ever freed, and then large blocks stay on
    /// the heap. M_TRIM_THRESHOLD is raised, or the heap's end would go up and down with every request, and with the small
    /// cache that SQLite takes for each write. `Store.releaseMemory` gives it back.
    ///
    /// Call before there is a second thread: arenas are made on first use.
    package static func share() {
        mallopt(prsnl_m_arena_max, 1)
        mallopt(prsnl_m_mmap_threshold, 256 << 10)
        mallopt(prsnl_m_trim_threshold, 2 << 20)
    }
}
