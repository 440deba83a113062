/* SPDX-License-Identifier: Apache-2.0 */
/* What programs compiled with the headers of glibc 2.36 call and glibc 2.28 does not have. Linked into each of
   them by scripts/release. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* 2.32: whether std::shared_ptr may count without atomics. It may not. */
char __libc_single_threaded = 0;

/* 2.30 */
pid_t gettid(void) { return (pid_t)syscall(SYS_gettid); }

static long long nanoseconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* 2.30: the system's where it has it. Else it waits by the clock of the day, and again where that clock was set. */
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const struct timespec* until) {
  int (*systems)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const struct timespec*) =
      dlsym(RTLD_DEFAULT, "pthread_cond_clockwait");
  if (systems != NULL) return systems(condition, mutex, clock, until);
  const long long end = until->tv_sec * 1000000000LL + until->tv_nsec;
  for (;;) {
    const long long day = nanoseconds(CLOCK_REALTIME) + end - nanoseconds(clock);
    const struct timespec day_end = {day / 1000000000LL, day % 1000000000LL};
    const int result = pthread_cond_timedwait(condition, mutex, &day_end);
    if (result != ETIMEDOUT || nanoseconds(clock) >= end) return result;
  }
}
