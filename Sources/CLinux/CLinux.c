// Compiled with _GNU_SOURCE (Package.swift).
#include "CLinux.h"
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

int prsnl_set_thread_name(const char *name) { return prctl(PR_SET_NAME, (unsigned long)name, 0UL, 0UL, 0UL); }

int prsnl_set_not_dumpable(void) { return prctl(PR_SET_DUMPABLE, 0UL, 0UL, 0UL, 0UL); }

int prsnl_open(const char *path, int flags, mode_t mode) { return open(path, flags, mode); }

int prsnl_openat(int folder, const char *path, int flags) { return openat(folder, path, flags); }

int prsnl_createat(int folder, const char *path, int flags, mode_t mode) { return openat(folder, path, flags, mode); }

int prsnl_fcntl_int(int fd, int operation, int value) { return fcntl(fd, operation, value); }

int prsnl_fcntl_lock(int fd, int operation, struct flock *lock) { return fcntl(fd, operation, lock); }

int prsnl_ioctl_pointer(int fd, unsigned long operation, void *value) { return ioctl(fd, operation, value); }

const int prsnl_o_path = O_PATH;

int prsnl_set_thread_groups(const gid_t *groups, size_t count) { return (int)syscall(SYS_setgroups, count, groups); }

void prsnl_wipe(void *memory, size_t size) { explicit_bzero(memory, size); }

int prsnl_renameat_new(int from_folder, const char *from, int to_folder, const char *to) {
    return renameat2(from_folder, from, to_folder, to, RENAME_NOREPLACE);
}

int prsnl_birth_time(int fd, int64_t *seconds, uint32_t *nanoseconds) {
    struct statx status;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &status) != 0 || !(status.stx_mask & STATX_BTIME)) return -1;
    *seconds = status.stx_btime.tv_sec;
    *nanoseconds = status.stx_btime.tv_nsec;
    return 0;
}

unsigned int prsnl_major(uint64_t device) { return major(device); }

unsigned int prsnl_minor(uint64_t device) { return minor(device); }

long prsnl_file_system(const char *path) {
    struct statfs status;
    return statfs(path, &status) == 0 ? (long)status.f_type : -1;
}

int prsnl_syncfs(int fd) { return syncfs(fd); }

mode_t prsnl_entry_type(const struct dirent *entry) { return DTTOIF(entry->d_type); }

int prsnl_lock_file(int fd) { return flock(fd, LOCK_EX | LOCK_NB); }

const short prsnl_spawn_session = POSIX_SPAWN_SETSID;

int prsnl_memory_file(const char *name) { return memfd_create(name, MFD_CLOEXEC); }

int prsnl_process_descriptor(pid_t process) { return (int)syscall(SYS_pidfd_open, process, 0); }

int prsnl_accept(int listener) { return accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK); }

int prsnl_peer_credentials(int fd, pid_t *pid, uid_t *uid, gid_t *gid) {
    struct ucred peer = {0, (uid_t)-1, (gid_t)-1};
    socklen_t size = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return -1;
    if (size != sizeof peer) {
        errno = EINVAL;
        return -1;
    }
    *pid = peer.pid;
    *uid = peer.uid;
    *gid = peer.gid;
    return 0;
}

int prsnl_peer_groups(int fd, gid_t *groups, socklen_t *size) {
    return getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, size);
}

const int prsnl_m_arena_max = M_ARENA_MAX;
const int prsnl_m_trim_threshold = M_TRIM_THRESHOLD;
const int prsnl_m_mmap_threshold = M_MMAP_THRESHOLD;

int prsnl_wait_exited(int status) { return WIFEXITED(status); }

int prsnl_wait_exit_status(int status) { return WEXITSTATUS(status); }

int prsnl_wait_signal(int status) { return WTERMSIG(status); }
