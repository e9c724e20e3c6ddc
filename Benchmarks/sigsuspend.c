// Preloaded into programs that run in Valgrind 3.19. Valgrind writes into the mask that a program passes to sigsuspend, but the
// mask of Swift's main thread is in read-only memory. This version passes a copy.
#define _GNU_SOURCE
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

int sigsuspend(const sigset_t *mask) {
    sigset_t copy = *mask;
    return (int)syscall(SYS_rt_sigsuspend, &copy, 8);
}
