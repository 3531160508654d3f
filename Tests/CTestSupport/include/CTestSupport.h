// What only tests need of Linux, and Swift cannot import.
#ifndef PRSNL_CTESTSUPPORT_H
#define PRSNL_CTESTSUPPORT_H
#include <spawn.h>
#include <sys/types.h>

// Declared for _GNU_SOURCE or _DEFAULT_SOURCE only, which Swift's Glibc module does not define.

// Two names of one file system change places: renameat2(2) with RENAME_EXCHANGE.
int prsnl_exchange(const char *first, const char *second);
// POSIX_SPAWN_SETSID: posix_spawn(3).
extern const short prsnl_spawn_setsid;
int prsnl_spawn_chdir(posix_spawn_file_actions_t *actions, const char *path);
// What this process has inherited, or opened without O_CLOEXEC, is not passed on to the child.
int prsnl_spawn_close_from(posix_spawn_file_actions_t *actions, int from);
// unshare(2): mounts, or a network, of this thread's own.
int prsnl_unshare_mounts(void);
int prsnl_unshare_network(void);
// setns(2): this thread joins the network that the file names.
int prsnl_join_network(int fd);

// Another user for the calling thread alone, where the C library's functions change all threads (setgroups(2), "C
// library/kernel differences"). The thread cannot go back. syscall(2) is variadic.
int prsnl_become_in_this_thread(uid_t user, gid_t group, const gid_t *groups, int count);

// Macros with arguments are not imported: BPF_STMT, CMSG_SPACE and their like.

// What systemd's RestrictAddressFamilies= does without AF_NETLINK (seccomp(2)), for the calling thread and what it starts.
int prsnl_refuse_netlink(void);
// A descriptor is sent along with one byte (unix(7), SCM_RIGHTS).
int prsnl_send_descriptor(int socket, int passed);
#endif
