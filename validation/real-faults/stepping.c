/* A wall clock that jumps forward or back by a day each time that it is read. The monotonic clock is the system's. Prints to the standard error at
   the end how often each clock was read. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>

static long walls, others;

static long jump(void) {
    return ++walls % 2 ? 86400L : -86400L;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*system_s)(clockid_t, struct timespec *);
    if (!system_s)
        system_s = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = system_s(clock, now);
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI)
        now->tv_sec += jump();
    else
        ++others;
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec time;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &time);
    now->tv_sec = time.tv_sec;
    now->tv_usec = time.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *now) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    if (now)
        *now = time.tv_sec;
    return time.tv_sec;
}

__attribute__((constructor)) static void begins(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    others = 0;
}

__attribute__((destructor)) static void ends(void) {
    fprintf(stderr, "clocks: %ld wall, %ld other\n", walls, others);
}
