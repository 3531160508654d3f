/* LD_PRELOAD: the wall clock of a process is ahead by as many microseconds as the file says that STORM_CLOCK names.
   What counts since the start of the machine goes on as it is, and files keep their times.

   libfaketime would do the same, but it changes the environment before main, where Swift's runtime looks for the arguments,
   and leaves shared memory behind of each process that is killed. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *ahead;
static int (*real)(clockid_t, struct timespec *);

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("STORM_CLOCK");
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
    if (code != 0 || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE) || !ahead) return code;
    int64_t whole = (int64_t)time->tv_sec * 1000000000 + time->tv_nsec + *ahead * 1000;
    time->tv_sec = whole / 1000000000;
    time->tv_nsec = whole % 1000000000;
    return 0;
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
