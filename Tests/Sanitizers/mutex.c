// Tells ThreadSanitizer what Swift's Mutex does under contention.
//
// The fast path of Mutex is compiled into our code and seen by the sanitizer; the slow path, which spins and then waits in
// the kernel, is compiled into libswiftSynchronization and is not, so that every contended section looks like a race. What is
// here `make test-tsan` links into every program, where it stands in for the two functions of the slow path and says who
// has acquired and released what. Races that are races are found as before.
#include <dlfcn.h>
#include <stdint.h>

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context))
#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

extern void __tsan_acquire(void *address);
extern void __tsan_release(void *address);

SWIFT void lock_slow(uint32_t thread, SELF void *handle) __asm__(LOCK);
SWIFT void unlock_slow(SELF void *handle) __asm__(UNLOCK);

static SWIFT void (*next_lock)(uint32_t thread, SELF void *handle);
static SWIFT void (*next_unlock)(SELF void *handle);

__attribute__((constructor)) static void find_next(void) {
    *(void **)&next_lock = dlsym(RTLD_NEXT, LOCK);
    *(void **)&next_unlock = dlsym(RTLD_NEXT, UNLOCK);
}

SWIFT void lock_slow(uint32_t thread, SELF void *handle) {
    next_lock(thread, handle);
    __tsan_acquire(handle);
}

SWIFT void unlock_slow(SELF void *handle) {
    __tsan_release(handle);
    next_unlock(handle);
}
