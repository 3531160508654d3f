// What Swift cannot import of the C library: variadic functions and macros with arguments.
#ifndef PRSNL_CLINUX_SHIM_H
#define PRSNL_CLINUX_SHIM_H
// No _GNU_SOURCE here: the headers must mean the same as in Swift's own Glibc module, which is imported beside this one.
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/fsuid.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/timex.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <arpa/inet.h>
#include <net/if.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/if_link.h>
#include <unistd.h>
#include <stdio.h>
#include <time.h>

// Where the Swift runtime hands over a task that may run on any thread (swift/Runtime/Concurrency.h). A hook is called
// with the job and the default implementation, in Swift's calling convention, which for pointers alone is that of C.
// Weak, because it is no part of the language: a runtime without it makes a program that still links. Returns whether it is there.
extern void *swift_task_enqueueGlobal_hook __attribute__((weak));
static inline int prsnl_set_enqueue_hook(void (*hook)(void *job, void *original)) {
    if (&swift_task_enqueueGlobal_hook == NULL) return 0;
    swift_task_enqueueGlobal_hook = (void *)hook;
    return 1;
}
// prctl(2) is variadic. PR_SET_NAME: 15 bytes at most.
static inline int prsnl_set_thread_name(const char *name) { return prctl(PR_SET_NAME, (unsigned long)name, 0UL, 0UL, 0UL); }
// Two names of one file system change places: renameat2(2), of which glibc's declaration needs _GNU_SOURCE.
static inline int prsnl_exchange(const char *a, const char *b) {
    return (int)syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, 2);
}
// Likewise PR_SET_DUMPABLE: no core, and no other process of the same user may look into this one's memory (ptrace(2)).
static inline int prsnl_set_not_dumpable(void) { return prctl(PR_SET_DUMPABLE, 0UL, 0UL, 0UL, 0UL); }
// Declared for _DEFAULT_SOURCE only: memory that is overwritten although nobody reads it afterwards (bzero(3)).
extern void explicit_bzero(void *memory, size_t size);
static inline void prsnl_wipe(void *memory, size_t size) { explicit_bzero(memory, size); }
// A rename that never replaces: renameat2(2) with RENAME_NOREPLACE, both of which are declared for _GNU_SOURCE only.
extern int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned int flags);
static inline int prsnl_rename_new(const char *from, const char *to) { return renameat2(AT_FDCWD, from, AT_FDCWD, to, 1U); }
// open(2) and fcntl(2) are variadic.
static inline int prsnl_open(const char *path, int flags, mode_t mode) { return open(path, flags, mode); }
static inline int prsnl_openat(int folder, const char *path, int flags) { return openat(folder, path, flags); }
// O_PATH, which is defined for _GNU_SOURCE only: open(2).
static inline int prsnl_o_path(void) { return 010000000; }
static inline int prsnl_fcntl_int(int fd, int op, int v) { return fcntl(fd, op, v); }
static inline int prsnl_fcntl_lock(int fd, int op, struct flock *l) { return fcntl(fd, op, l); }
static inline int prsnl_ioctl_pointer(int fd, unsigned long op, void *v) { return ioctl(fd, op, v); }
// glibc declares it only for _DEFAULT_SOURCE, which Swift's Glibc module does not define.
extern int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *actions, const char *path);
static inline int prsnl_spawn_chdir(posix_spawn_file_actions_t *actions, const char *path) { return posix_spawn_file_actions_addchdir_np(actions, path); }
// Likewise: what this process has inherited, or opened without O_CLOEXEC, is not handed on to the child.
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);
static inline int prsnl_spawn_close_from(posix_spawn_file_actions_t *actions, int from) { return posix_spawn_file_actions_addclosefrom_np(actions, from); }
// POSIX_SPAWN_SETSID, which is defined for _GNU_SOURCE only: posix_spawn(3).
static inline short prsnl_spawn_setsid(void) { return 0x80; }
// Declared for _GNU_SOURCE only: unshare(2), for tests that mount files of their own over the system's.
extern int unshare(int flags);
static inline int prsnl_unshare_mounts(void) { return unshare(0x00020000 /* CLONE_NEWNS */); }
// What systemd's RestrictAddressFamilies= does without AF_NETLINK (seccomp(2)), for tests: holds for the calling thread and
// what is started from it. BPF_STMT and its like are macros with arguments.
static inline int prsnl_refuse_netlink(void) {
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAFNOSUPPORT),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof rules / sizeof rules[0], rules };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) != 0) return -1;
    return prctl(PR_SET_SECCOMP, (unsigned long)SECCOMP_MODE_FILTER, (unsigned long)&program, 0UL, 0UL);
}
// accept4(2) is declared for _GNU_SOURCE only: accept, then set what it would have set.
static inline int prsnl_accept(int listener) {
    int fd = accept(listener, NULL, NULL);
    if (fd >= 0 && (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0 || fcntl(fd, F_SETFL, O_NONBLOCK) != 0)) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}
// Who has connected to a Unix socket: struct ucred is declared for _GNU_SOURCE only, SO_PEERGROUPS by newer headers only
// (unix(7), socket(7)). The second gives ERANGE and the size needed, in bytes, where the groups do not fit.
static inline int prsnl_peer_credentials(int fd, pid_t *pid, uid_t *uid, gid_t *gid) {
    struct { pid_t pid; uid_t uid; gid_t gid; } peer = { 0, (uid_t)-1, (gid_t)-1 };
    socklen_t size = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return -1;
    if (size != sizeof peer) { errno = EINVAL; return -1; }
    *pid = peer.pid;
    *uid = peer.uid;
    *gid = peer.gid;
    return 0;
}
static inline int prsnl_peer_groups(int fd, gid_t *groups, socklen_t *size) {
    return getsockopt(fd, SOL_SOCKET, 59 /* SO_PEERGROUPS */, groups, size);
}
// Another user for the calling thread alone, where the C library's functions change all threads, for tests
// (setgroups(2), "C library/kernel differences"). The thread cannot go back.
static inline int prsnl_become_in_this_thread(uid_t user, gid_t group, const gid_t *groups, int count) {
    if (syscall(SYS_setgroups, (long)count, groups) != 0) return -1;
    if (syscall(SYS_setresgid, (long)group, (long)group, (long)group) != 0) return -1;
    return (int)syscall(SYS_setresuid, (long)user, (long)user, (long)user);
}
// A descriptor goes along with one byte, for tests: CMSG_SPACE and its like are macros with arguments (unix(7), SCM_RIGHTS).
static inline int prsnl_send_descriptor(int socket, int passed) {
    char byte = ' ';
    union { char bytes[CMSG_SPACE(sizeof(int))]; struct cmsghdr align; } control;
    struct iovec part = { &byte, 1 };
    struct msghdr message = { 0 };
    memset(&control, 0, sizeof control);
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &passed, sizeof(int));
    return sendmsg(socket, &message, MSG_NOSIGNAL) == 1 ? 0 : -1;
}
// Declared for _GNU_SOURCE only: unshare(2), for tests that need a network of their own.
extern int unshare(int flags);
static inline int prsnl_unshare_network(void) { return unshare(0x40000000 /* CLONE_NEWNET */); }
// setns(2), for tests: the calling thread joins the network that the file names.
extern int setns(int fd, int type);
static inline int prsnl_join_network(int fd) { return setns(fd, 0x40000000 /* CLONE_NEWNET */); }
// Negative macros, which the importer leaves out: mallopt(3).
static inline int prsnl_m_arena_max(void) { return M_ARENA_MAX; }
static inline int prsnl_m_trim_threshold(void) { return M_TRIM_THRESHOLD; }
static inline int prsnl_m_mmap_threshold(void) { return M_MMAP_THRESHOLD; }
// WIFEXITED and friends are macros with arguments: wait(2).
static inline int prsnl_wait_exited(int s) { return WIFEXITED(s); }
static inline int prsnl_wait_exit_status(int s) { return WEXITSTATUS(s); }
static inline int prsnl_wait_signal(int s) { return WTERMSIG(s); }
#endif
