/* A slow disk and a jumping clock for one process, by LD_PRELOAD.

   SOAK_SLOW    paths that begin so are opened, renamed, made and removed after SOAK_SLOW_MS milliseconds
   SOAK_CLOCK   a file of eight bytes: seconds (a signed integer) by which the wall clock is wrong */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const char *slow;
static useconds_t slow_us;
static volatile long long *wrong;

__attribute__((constructor)) static void begin(void)
{
    const char *ms = getenv("SOAK_SLOW_MS"), *clock = getenv("SOAK_CLOCK");
    slow = getenv("SOAK_SLOW");
    slow_us = ms ? (useconds_t)atoi(ms) * 1000 : 0;
    if (clock) {
        int file = open(clock, O_RDONLY);
        void *found = file < 0 ? MAP_FAILED : mmap(NULL, 8, PROT_READ, MAP_SHARED, file, 0);
        if (found != MAP_FAILED) wrong = found;
    }
}

static void wait_for(const char *path)
{
    if (slow && slow_us && path && strncmp(path, slow, strlen(slow)) == 0) usleep(slow_us);
}

#define REAL(type, name, ...) type (*real)(__VA_ARGS__) = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

static int open_as(const char *name, const char *path, int flags, mode_t mode)
{
    REAL(int, name, const char *, int, ...);
    wait_for(path);
    return real(path, flags, mode);
}

#define OPEN(name) \
    int name(const char *path, int flags, ...) \
    { \
        va_list more; \
        va_start(more, flags); \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0; \
        va_end(more); \
        return open_as(#name, path, flags, mode); \
    }
OPEN(open)
OPEN(open64)

int rename(const char *from, const char *to)
{
    REAL(int, "rename", const char *, const char *);
    wait_for(from);
    return real(from, to);
}

int mkdir(const char *path, mode_t mode)
{
    REAL(int, "mkdir", const char *, mode_t);
    wait_for(path);
    return real(path, mode);
}

int unlink(const char *path)
{
    REAL(int, "unlink", const char *);
    wait_for(path);
    return real(path);
}

int clock_gettime(clockid_t which, struct timespec *found)
{
    REAL(int, "clock_gettime", clockid_t, struct timespec *);
    int status = real(which, found);
    if (wrong && which == CLOCK_REALTIME) found->tv_sec += *wrong;
    return status;
}
