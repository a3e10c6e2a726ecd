// Counts what a program asks the C library for: memory, and the kernel through its functions. The program is started with
// this library preloaded and with POSTRIDER_TALLY naming a file of zeros, which is mapped: whoever runs the test reads it
// while the program runs. Its words, of 64 bits each, are those of `word` below; tally.py knows them by the same names.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum word { ALLOCATIONS, BYTES, READS, WRITES, WAITS, SYNCS, WORDS };

static uint64_t before[WORDS];
static uint64_t *words = before;

__attribute__((constructor)) static void begin(void) {
    const char *place = getenv("POSTRIDER_TALLY");
    int file = place ? open(place, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *map = mmap(NULL, sizeof before, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (map != MAP_FAILED) words = map;
    close(file);
}

static void count(enum word word, uint64_t number) { __atomic_fetch_add(&words[word], number, __ATOMIC_RELAXED); }

static void allocation(size_t size) {
    count(ALLOCATIONS, 1);
    count(BYTES, size);
}

// Memory: glibc's functions have these names besides.

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

void *malloc(size_t size) {
    allocation(size);
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    allocation(number * size);
    return __libc_calloc(number, size);
}

void *realloc(void *block, size_t size) {
    allocation(size);
    return __libc_realloc(block, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    allocation(size);
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size) {
    allocation(size);
    *block = __libc_memalign(alignment, size);
    return *block ? 0 : 12;
}

// The kernel: what connections, loops and files use.

#define COUNTED(word, result, name, parameters, ...)        \
    result name parameters {                                \
        static result(*real) parameters;                    \
        if (!real) real = dlsym(RTLD_NEXT, #name);          \
        count(word, 1);                                     \
        return real(__VA_ARGS__);                           \
    }

COUNTED(READS, ssize_t, read, (int file, void *bytes, size_t size), file, bytes, size)
COUNTED(READS, ssize_t, pread64, (int file, void *bytes, size_t size, off64_t place), file, bytes, size, place)
COUNTED(READS, ssize_t, recv, (int file, void *bytes, size_t size, int flags), file, bytes, size, flags)
COUNTED(WRITES, ssize_t, write, (int file, const void *bytes, size_t size), file, bytes, size)
COUNTED(WRITES, ssize_t, send, (int file, const void *bytes, size_t size, int flags), file, bytes, size, flags)
COUNTED(WRITES, ssize_t, writev, (int file, const struct iovec *parts, int number), file, parts, number)
COUNTED(WRITES, ssize_t, pwrite64, (int file, const void *bytes, size_t size, off64_t place), file, bytes, size, place)
COUNTED(WAITS, int, epoll_wait, (int file, struct epoll_event *events, int most, int time), file, events, most, time)
COUNTED(SYNCS, int, fsync, (int file), file)
COUNTED(SYNCS, int, fdatasync, (int file), file)
