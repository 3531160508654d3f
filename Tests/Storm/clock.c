/* LD_PRELOAD: the wall clock of a process is ahead by as many microseconds as the file says that STORM_CLOCK names.
   What counts since the start of the machine goes on as it is, and files keep their times.

   With STORM_SPEED, the wall clock also runs so many times as fast since STORM_SINCE (nanoseconds of CLOCK_BOOTTIME); with
   STORM_WAITS, all clocks of the process do, and all of its waits are as much shorter. What other machines need stays real.

   libfaketime would do the same, but it changes the environment before main, where Swift's runtime looks for the arguments,
   and leaves shared memory behind of each process that is killed. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *ahead;
static int64_t speed = 1, since;
static int waits;
static int (*real)(clockid_t, struct timespec *);

static int64_t really(clockid_t clock) {
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    struct timespec time = {0, 0};
    real(clock, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static struct timespec parts(int64_t nanoseconds) {
    return (struct timespec){nanoseconds / 1000000000, nanoseconds % 1000000000};
}

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("STORM_CLOCK"), *fast = getenv("STORM_SPEED"), *start = getenv("STORM_SINCE");
    if (fast && start) {
        since = atoll(start);
        speed = atoll(fast);
        waits = getenv("STORM_WAITS") != NULL;
        if (!path) return;
    }
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) abort();
    void *memory = mmap(NULL, sizeof *ahead, PROT_READ, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) abort();
    ahead = memory;
    close(file);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int code = real(clock, time);
    int is_wall = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
    int is_fast = is_wall || (waits && (clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_RAW
                                        || clock == CLOCK_MONOTONIC_COARSE || clock == CLOCK_BOOTTIME));
    if (code != 0 || !is_fast) return code;
    int64_t whole = (int64_t)time->tv_sec * 1000000000 + time->tv_nsec + (is_wall && ahead ? *ahead * 1000 : 0);
    if (speed > 1) whole += (really(CLOCK_BOOTTIME) - since) * (speed - 1);
    *time = parts(whole);
    return 0;
}

int poll(struct pollfd *descriptors, nfds_t count, int milliseconds) {
    struct timespec limit = parts((int64_t)milliseconds * 1000000 / (waits ? speed : 1));
    return ppoll(descriptors, count, milliseconds < 0 ? NULL : &limit, NULL);
}

int nanosleep(const struct timespec *time, struct timespec *left) {
    struct timespec shorter = parts(((int64_t)time->tv_sec * 1000000000 + time->tv_nsec) / (waits ? speed : 1));
    int error = clock_nanosleep(CLOCK_MONOTONIC, 0, &shorter, left);
    if (error) errno = error;
    return error ? -1 : 0;
}

int usleep(useconds_t microseconds) {
    struct timespec time = parts((int64_t)microseconds * 1000);
    return nanosleep(&time, NULL);
}

/* The conditions of these programs count by CLOCK_MONOTONIC. */
int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *end) {
    int64_t until = (int64_t)end->tv_sec * 1000000000 + end->tv_nsec;
    if (waits) {
        int64_t now = really(CLOCK_MONOTONIC), ahead_by = (really(CLOCK_BOOTTIME) - since) * (speed - 1);
        until = now + (until - now - ahead_by) / speed;
    }
    struct timespec moment = parts(until < 0 ? 0 : until);
    return pthread_cond_clockwait(condition, mutex, CLOCK_MONOTONIC, &moment);
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    (void)zone;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    time->tv_sec = now.tv_sec;
    time->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *copy) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (copy) *copy = now.tv_sec;
    return now.tv_sec;
}
