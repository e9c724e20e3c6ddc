// Loaded before a program that runs in Valgrind 3.19, which writes into the mask that it is given. That of Swift's main
// thread cannot be written to.
#define _GNU_SOURCE
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

int sigsuspend(const sigset_t *mask) {
    sigset_t copy = *mask;
    return (int)syscall(SYS_rt_sigsuspend, &copy, 8);
}
