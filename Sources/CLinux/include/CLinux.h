// Linux for Swift: headers that Swift's Glibc module leaves out, and functions for what the importer cannot take.
#ifndef PRSNL_CLINUX_H
#define PRSNL_CLINUX_H
// Swift reads this without _GNU_SOURCE: these headers must mean the same as in its own Glibc module, which is imported beside
// this one. What needs _GNU_SOURCE is in CLinux.c.
#include <dirent.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <malloc.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/types.h>

// Variadic functions are not imported: prctl(2), open(2), openat(2), fcntl(2), ioctl(2).

// PR_SET_NAME: 15 bytes at most.
int prsnl_set_thread_name(const char *name);
// PR_SET_DUMPABLE: no core, and no other process of the same user may look into this one's memory (ptrace(2)).
int prsnl_set_not_dumpable(void);
int prsnl_open(const char *path, int flags, mode_t mode);
int prsnl_openat(int folder, const char *path, int flags);
int prsnl_createat(int folder, const char *path, int flags, mode_t mode);
int prsnl_fcntl_int(int fd, int operation, int value);
int prsnl_fcntl_lock(int fd, int operation, struct flock *lock);
int prsnl_ioctl_pointer(int fd, unsigned long operation, void *value);

// Declared for _GNU_SOURCE or _DEFAULT_SOURCE only, which Swift's Glibc module does not define.

// O_PATH: open(2).
extern const int prsnl_o_path;
// The groups of this thread alone, which setgroups(2) of glibc gives to all.
int prsnl_set_thread_groups(const gid_t *groups, size_t count);
// Memory that is overwritten although it is not read afterwards: explicit_bzero(3).
void prsnl_wipe(void *memory, size_t size);
// A rename that never replaces, in open folders: renameat2(2) with RENAME_NOREPLACE.
int prsnl_renameat_new(int from_folder, const char *from, int to_folder, const char *to);
// Everything of a file system onto its disk: syncfs(2).
int prsnl_syncfs(int fd);
// The type of a directory's entry, where the file system says it (readdir(3)): S_IFMT's bits, 0 where it is not known.
mode_t prsnl_entry_type(const struct dirent *entry);
// When a file was made: statx(2) with STATX_BTIME. -1 where the file system does not know.
int prsnl_birth_time(int fd, int64_t *seconds, uint32_t *nanoseconds);
// The two numbers of st_dev: makedev(3).
unsigned int prsnl_major(uint64_t device);
unsigned int prsnl_minor(uint64_t device);
// f_type of statfs(2); -1 where that fails.
long prsnl_file_system(const char *path);
// flock(2): an exclusive lock, without waiting. Swift takes the name for the structure.
int prsnl_lock_file(int fd);
// POSIX_SPAWN_SETSID: posix_spawn(3).
extern const short prsnl_spawn_session;
// memfd_create(2), with MFD_CLOEXEC.
int prsnl_memory_file(const char *name);
// pidfd_open(2): can be read from the process's end on. -1 where the kernel has none.
int prsnl_process_descriptor(pid_t process);
// accept4(2), with SOCK_CLOEXEC and SOCK_NONBLOCK.
int prsnl_accept(int listener);
// Who has connected to a Unix socket: struct ucred (unix(7)).
int prsnl_peer_credentials(int fd, pid_t *pid, uid_t *uid, gid_t *gid);
// SO_PEERGROUPS (socket(7)). ERANGE and the size needed, in bytes, where the groups do not fit.
int prsnl_peer_groups(int fd, gid_t *groups, socklen_t *size);

// Macros that are not plain positive numbers are not imported.

// mallopt(3)
extern const int prsnl_m_arena_max;
extern const int prsnl_m_trim_threshold;
extern const int prsnl_m_mmap_threshold;
// WIFEXITED and its like take an argument: wait(2).
int prsnl_wait_exited(int status);
int prsnl_wait_exit_status(int status);
int prsnl_wait_signal(int status);
#endif
