// Tells ThreadSanitizer of the locks that Swift's Mutex takes through the kernel.
//
// A contended Mutex on Linux is handed over by FUTEX_LOCK_PI: the kernel writes the lock word, which the sanitizer does
// not see, so that every section behind it looks like a race. This library is preloaded by `make test-tsan`, stands in
// for syscall(2) and says to the sanitizer who has acquired and released what. Races that are races are found as before.
#include <dlfcn.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <sys/syscall.h>

extern void __tsan_acquire(void *address) __attribute__((weak));
extern void __tsan_release(void *address) __attribute__((weak));

static long (*next)(long, ...);

__attribute__((constructor)) static void find_next(void) { *(void **)&next = dlsym(RTLD_NEXT, "syscall"); }

long syscall(long number, ...) {
    if (next == 0) find_next();
    long arguments[6];
    va_list list;
    va_start(list, number);
    for (int index = 0; index < 6; index++) arguments[index] = va_arg(list, long);
    va_end(list);

    void *word = (void *)arguments[0];
    int command = number == SYS_futex ? (int)arguments[1] & FUTEX_CMD_MASK : -1;
    if (command == FUTEX_UNLOCK_PI && __tsan_release) __tsan_release(word);
    long result = next(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
    int takes = command == FUTEX_LOCK_PI || command == FUTEX_TRYLOCK_PI;
    if (takes && result == 0 && __tsan_acquire) __tsan_acquire(word);
    return result;
}
