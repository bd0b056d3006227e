// A machine whose clock, disk and flushes misbehave on command (Linux): preloaded into a node, which
// then sees what a test writes into a file of six 64-bit numbers:
//     0  milliseconds that are added to the wall clock
//     1  how many flushes fail with EIO, counted down
//     2  bytes that are free on every file system; below 0: what the system says
//     3  milliseconds that every flush takes longer
//     4  parts per million by which the wall clock is too fast, from the start of the process on
//     5  milliseconds since 1970 at which the wall clock stands still; 0: it goes
//
// Used by the fault tests. The file is mapped, so that the test changes it while the node runs.
// Build it with
//     cc -shared -fPIC -O2 -Wall -Wextra -Werror -o faults.so faults.c
// and start the node with LD_PRELOAD and CUMULUS_FAULTS, the path of the file. Without that file
// the process ends: no test passes by accident.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { clock_offset, failing_flushes, free_bytes, flush_delay, clock_drift, clock_stop, count };

static _Atomic int64_t *faults;
static int64_t started;
static int (*real_clock_gettime)(clockid_t, struct timespec *);
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);
static int (*real_statvfs)(const char *, struct statvfs *);
static int (*real_fstatvfs)(int, struct statvfs *);

__attribute__((constructor)) static void begin(void) {
    real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
    real_fsync = dlsym(RTLD_NEXT, "fsync");
    real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
    real_statvfs = dlsym(RTLD_NEXT, "statvfs");
    real_fstatvfs = dlsym(RTLD_NEXT, "fstatvfs");
    const char *path = getenv("CUMULUS_FAULTS");
    int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *map = file < 0 ? MAP_FAILED
                         : mmap(NULL, count * sizeof(int64_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (map == MAP_FAILED) {
        fprintf(stderr, "faults: CUMULUS_FAULTS names no file of faults\n");
        abort();
    }
    struct timespec now;
    real_clock_gettime(CLOCK_MONOTONIC, &now);
    started = now.tv_sec * 1000000000 + now.tv_nsec;
    faults = map;
}

// What a clock that is wrong shows instead of the time, in nanoseconds.
static int64_t wrong(int64_t time) {
    int64_t stop = atomic_load(&faults[clock_stop]);
    if (stop > 0) return stop * 1000000;
    struct timespec now;
    real_clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t passed = now.tv_sec * 1000000000 + now.tv_nsec - started;
    return time + atomic_load(&faults[clock_offset]) * 1000000
        + passed / 1000000 * atomic_load(&faults[clock_drift]);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    if (!real_clock_gettime) real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real_clock_gettime(clock, time);
    if (result == 0 && faults && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        int64_t shown = wrong(time->tv_sec * 1000000000 + time->tv_nsec);
        time->tv_sec = shown / 1000000000;
        time->tv_nsec = shown % 1000000000;
    }
    return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    (void)zone;
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) < 0) return -1;
    time->tv_sec = now.tv_sec;
    time->tv_usec = now.tv_nsec / 1000;
    return 0;
}

// Whether the flush that is about to be made fails.
static int flush(void) {
    int64_t delay = atomic_load(&faults[flush_delay]);
    if (delay > 0) usleep((useconds_t)delay * 1000);
    int64_t failing = atomic_load(&faults[failing_flushes]);
    while (failing > 0)
        if (atomic_compare_exchange_weak(&faults[failing_flushes], &failing, failing - 1)) return 1;
    return 0;
}

int fsync(int file) {
    if (!flush()) return real_fsync(file);
    errno = EIO;
    return -1;
}

int fdatasync(int file) {
    if (!flush()) return real_fdatasync(file);
    errno = EIO;
    return -1;
}

static void tell_free_bytes(struct statvfs *status) {
    int64_t bytes = atomic_load(&faults[free_bytes]);
    if (bytes >= 0) status->f_bavail = status->f_bfree = (fsblkcnt_t)bytes / status->f_frsize;
}

int statvfs(const char *restrict path, struct statvfs *restrict status) {
    int result = real_statvfs(path, status);
    if (result == 0) tell_free_bytes(status);
    return result;
}

int fstatvfs(int file, struct statvfs *status) {
    int result = real_fstatvfs(file, status);
    if (result == 0) tell_free_bytes(status);
    return result;
}
