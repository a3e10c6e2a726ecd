// A disk that fails when it is told to, for a program under test that is started with this library preloaded.
//
// It stands between the program and the files below POSTRIDER_FAULT_DIRECTORY (shared memory, lock files and the audit left out),
// counts the write boundaries (write, pwrite, ftruncate, fsync, fdatasync, unlink, rename) and does at some of them what the
// control file POSTRIDER_FAULT_CONTROL says. That file is mapped: whoever runs the test writes into it while the program
// runs, and reads the counters after its end. Its words, of 64 bits each:
//
//   0  boundaries so far        1  seed        2  faults injected        3  what must not be is counted here
//   8 + 4n  plan n: kind, its first boundary, how many faults it injects, how many it has injected
//
// A power cut forgets what was not synced: of every page that is written the content before it is kept until a sync of its
// file succeeds, and put back when the power goes. By the seed all pages are put back, some of them, or some sectors of
// some (the kernel may have written any of them before its time). A sync that fails leaves its pages as Linux does: what
// they hold is read as before, it is not on the disk, and the next sync, which succeeds, does not write it; only another
// write to the page does. Names are durable at once, as they are where a directory is synced after each. What the disk has
// outlives the process that is killed: it leaves the pages in the file POSTRIDER_FAULT_MEMORY, where that is set, and the
// next process with this library takes them over.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum kind { NONE, KILL, TEAR, FULL, WRITE_ERROR, SYNC_ERROR, CUT };
enum { PLANS = 6, WORDS = 512, PAGE = 4096, SECTOR = 512, FILES = 64, DESCRIPTORS = 4096 };

struct page {
    off_t offset;
    // What the disk holds, of a page that was written since.
    unsigned char image[PAGE];
    // A sync failed after the last write to it.
    int forgotten;
    struct page *next;
};

struct file {
    char path[512];
    dev_t device;
    ino_t inode;
    // The size on the disk.
    off_t size;
    struct page *pages;
};

static const char *directory;
static const char *memory;
static volatile uint64_t *control;
static struct file files[FILES];
static int file_count;
static struct file *descriptors[DESCRIPTORS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t chance;

static int (*real_open)(const char *, int, ...);
static int (*real_close)(int);
static ssize_t (*real_write)(int, const void *, size_t);
static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static int (*real_truncate)(int, off_t);
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);
static int (*real_unlink)(const char *);
static int (*real_rename)(const char *, const char *);

// What the disk has, from one process to the next: each file, the number of its pages, and these.

static void take_over(void) {
    int descriptor = real_open(memory, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return;
    uint64_t count;
    while (file_count < FILES && read(descriptor, &files[file_count], sizeof *files) == sizeof *files &&
           read(descriptor, &count, sizeof count) == sizeof count) {
        struct file *file = &files[file_count++];
        file->pages = NULL;
        for (; count > 0; count--) {
            struct page *page = malloc(sizeof *page);
            if (!page || read(descriptor, page, sizeof *page) != sizeof *page) abort();
            page->next = file->pages;
            file->pages = page;
        }
    }
    real_close(descriptor);
    real_unlink(memory);
}

// The file has its name when it is whole: whoever runs the test may kill the process meanwhile.
static void hand_over(void) {
    char unfinished[512];
    if (snprintf(unfinished, sizeof unfinished, "%s.new", memory) >= (int)sizeof unfinished) abort();
    int descriptor = real_open(unfinished, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (descriptor < 0) abort();
    for (int index = 0; index < file_count; index++) {
        uint64_t count = 0;
        for (struct page *page = files[index].pages; page; page = page->next) count++;
        if (real_write(descriptor, &files[index], sizeof *files) < 0) abort();
        if (real_write(descriptor, &count, sizeof count) < 0) abort();
        for (struct page *page = files[index].pages; page; page = page->next) {
            if (real_write(descriptor, page, sizeof *page) < 0) abort();
        }
    }
    real_close(descriptor);
    if (real_rename(unfinished, memory) < 0) abort();
}

__attribute__((constructor)) static void begin(void) {
    real_open = dlsym(RTLD_NEXT, "open64");
    real_close = dlsym(RTLD_NEXT, "close");
    real_write = dlsym(RTLD_NEXT, "write");
    real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
    real_truncate = dlsym(RTLD_NEXT, "ftruncate64");
    real_fsync = dlsym(RTLD_NEXT, "fsync");
    real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
    real_unlink = dlsym(RTLD_NEXT, "unlink");
    real_rename = dlsym(RTLD_NEXT, "rename");
    const char *place = getenv("POSTRIDER_FAULT_CONTROL");
    directory = getenv("POSTRIDER_FAULT_DIRECTORY");
    if (!place || !directory) return;
    memory = getenv("POSTRIDER_FAULT_MEMORY");
    int descriptor = real_open(place, O_RDWR | O_CLOEXEC);
    void *map = descriptor < 0 ? MAP_FAILED
                               : mmap(NULL, WORDS * 8, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (map == MAP_FAILED) {
        fprintf(stderr, "fault.c: %s is no control file\n", place);
        _exit(99);
    }
    real_close(descriptor);
    control = map;
    chance = control[1] * 0x9E3779B97F4A7C15u + 1;
    if (memory) take_over();
}

static uint64_t draw(void) {
    chance ^= chance << 13;
    chance ^= chance >> 7;
    chance ^= chance << 17;
    return chance;
}

// Whether a path is one of the files that the disk is under.
static int is_watched(const char *path) {
    if (!control || !path) return 0;
    size_t length = strlen(directory), all = strlen(path);
    if (strncmp(path, directory, length) != 0 || path[length] != '/') return 0;
    // The audit is written on a thread of its own at any time, so that counts of boundaries would differ from run to run.
    if (strstr(path + length, "/audit.jsonl")) return 0;
    return !(all > 4 && !strcmp(path + all - 4, "-shm")) && !(all > 5 && !strcmp(path + all - 5, "/lock"));
}

static struct file *file_of(int descriptor) {
    return descriptor >= 0 && descriptor < DESCRIPTORS && control ? descriptors[descriptor] : NULL;
}

// Pages and the power cut.

static void keep_page(struct file *file, int descriptor, off_t offset) {
    for (struct page *page = file->pages; page; page = page->next) {
        if (page->offset != offset) continue;
        page->forgotten = 0;
        return;
    }
    struct page *page = calloc(1, sizeof *page);
    if (!page) abort();
    page->offset = offset;
    if (offset < file->size && pread(descriptor, page->image, PAGE, offset) < 0) abort();
    page->next = file->pages;
    file->pages = page;
}

static void keep_pages(struct file *file, int descriptor, off_t from, off_t until) {
    for (off_t offset = from / PAGE * PAGE; offset < until; offset += PAGE) keep_page(file, descriptor, offset);
}

static void synced(struct file *file, int descriptor) {
    struct stat status;
    if (fstat(descriptor, &status) == 0) file->size = status.st_size;
    struct page **place = &file->pages;
    while (*place) {
        struct page *page = *place;
        if (page->forgotten) {
            place = &page->next;
            continue;
        }
        *place = page->next;
        free(page);
    }
}

static void sync_failed(struct file *file) {
    for (struct page *page = file->pages; page; page = page->next) page->forgotten = 1;
}

static __attribute__((noreturn)) void end(void) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

// The process is killed; the disk goes on.
static __attribute__((noreturn)) void die(void) {
    if (memory) hand_over();
    end();
}

// Puts back what was never synced, and ends the process.
static __attribute__((noreturn)) void cut_power(void) {
    int mode = control[1] % 3;
    for (int index = 0; index < file_count; index++) {
        struct file *file = &files[index];
        int descriptor = real_open(file->path, O_RDWR);
        if (descriptor < 0) continue;
        int shrinks = mode == 0 || draw() % 2;
        for (struct page *page = file->pages; page; page = page->next) {
            int returns = page->forgotten || mode == 0 || draw() % 2;
            if (!returns && mode == 1) continue;
            for (int sector = 0; sector < PAGE / SECTOR; sector++) {
                // Of a page that the kernel was writing, any sectors may be new.
                if (!page->forgotten && mode == 2 && draw() % 2) continue;
                off_t offset = page->offset + sector * SECTOR;
                if (shrinks && offset >= file->size) continue;
                if (real_pwrite(descriptor, page->image + sector * SECTOR, SECTOR, offset) < 0) abort();
            }
        }
        struct stat status;
        if (fstat(descriptor, &status) == 0 && (shrinks || status.st_size < file->size)) {
            if (real_truncate(descriptor, file->size) < 0) abort();
        }
        real_close(descriptor);
    }
    end();
}

// Boundaries.

enum operation { WRITE, SYNC, NAME };

// Counts a boundary and answers what is to happen at it.
static enum kind boundary(enum operation operation) {
    uint64_t number = control[0]++;
    for (int index = 0; index < PLANS; index++) {
        volatile uint64_t *plan = control + 8 + 4 * index;
        if (plan[0] == NONE || number < plan[1] || plan[3] >= plan[2]) continue;
        int fits = plan[0] == SYNC_ERROR ? operation == SYNC
            : plan[0] == FULL || plan[0] == WRITE_ERROR ? operation == WRITE : 1;
        if (!fits) continue;
        plan[3]++;
        control[2]++;
        return plan[0];
    }
    return NONE;
}

// A write that is to fail; answers whether it has, with what is to be returned.
static int fails(enum kind kind, struct file *file, int descriptor, const void *bytes, size_t count, off_t offset,
                 ssize_t *result) {
    switch (kind) {
    case KILL: die();
    case CUT: cut_power();
    case TEAR:
        if (bytes && count > 1) real_pwrite(descriptor, bytes, count / 2, offset);
        die();
    case FULL:
        // The last room takes a part of it.
        if (bytes && count > SECTOR && draw() % 2) {
            keep_pages(file, descriptor, offset, offset + SECTOR);
            *result = real_pwrite(descriptor, bytes, SECTOR, offset);
            return 1;
        }
        errno = ENOSPC;
        break;
    case WRITE_ERROR: errno = EIO; break;
    default: return 0;
    }
    *result = -1;
    return 1;
}

static ssize_t write_at(struct file *file, int descriptor, const void *bytes, size_t count, off_t offset) {
    pthread_mutex_lock(&lock);
    ssize_t result;
    if (!fails(boundary(WRITE), file, descriptor, bytes, count, offset, &result)) {
        keep_pages(file, descriptor, offset, offset + count);
        result = real_pwrite(descriptor, bytes, count, offset);
    }
    int code = errno;
    pthread_mutex_unlock(&lock);
    errno = code;
    return result;
}

static int sync_file(struct file *file, int descriptor) {
    pthread_mutex_lock(&lock);
    ssize_t result = 0;
    enum kind kind = boundary(SYNC);
    if (kind == SYNC_ERROR) {
        sync_failed(file);
        errno = EIO;
        result = -1;
    } else if (!fails(kind, file, descriptor, NULL, 0, 0, &result)) {
        // The disk below is a real one, and need not be waited for: what this one has is in the page cache.
        synced(file, descriptor);
    }
    int code = errno;
    pthread_mutex_unlock(&lock);
    errno = code;
    return result;
}

static int truncate_file(struct file *file, int descriptor, off_t length) {
    pthread_mutex_lock(&lock);
    ssize_t result;
    if (!fails(boundary(WRITE), file, descriptor, NULL, 0, 0, &result)) {
        struct stat status;
        if (fstat(descriptor, &status) == 0) keep_pages(file, descriptor, length, status.st_size);
        result = real_truncate(descriptor, length);
    }
    int code = errno;
    pthread_mutex_unlock(&lock);
    errno = code;
    return result;
}

static void watch(int descriptor, const char *path) {
    struct stat status;
    if (descriptor < 0 || descriptor >= DESCRIPTORS || !is_watched(path)) return;
    if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return;
    pthread_mutex_lock(&lock);
    struct file *file = NULL;
    for (int index = 0; index < file_count; index++) {
        if (files[index].inode == status.st_ino && files[index].device == status.st_dev) file = &files[index];
    }
    if (!file) {
        if (file_count == FILES) abort();
        file = &files[file_count++];
        snprintf(file->path, sizeof file->path, "%s", path);
        file->device = status.st_dev;
        file->inode = status.st_ino;
        file->size = status.st_size;
    }
    descriptors[descriptor] = file;
    pthread_mutex_unlock(&lock);
}

// What the program calls.

static int opened(const char *path, int flags, mode_t mode) {
    int descriptor = real_open(path, flags, mode);
    int code = errno;
    watch(descriptor, path);
    errno = code;
    return descriptor;
}

#define MODE(flags)                                                                                                    \
    mode_t mode = 0;                                                                                                   \
    if ((flags) & (O_CREAT | O_TMPFILE)) {                                                                             \
        va_list rest;                                                                                                  \
        va_start(rest, flags);                                                                                         \
        mode = va_arg(rest, mode_t);                                                                                   \
        va_end(rest);                                                                                                  \
    }

int open(const char *path, int flags, ...) {
    MODE(flags)
    return opened(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    MODE(flags)
    return opened(path, flags, mode);
}

int close(int descriptor) {
    if (file_of(descriptor)) descriptors[descriptor] = NULL;
    return real_close(descriptor);
}

ssize_t write(int descriptor, const void *bytes, size_t count) {
    struct file *file = file_of(descriptor);
    if (!file) return real_write(descriptor, bytes, count);
    off_t offset = lseek(descriptor, 0, SEEK_CUR);
    ssize_t result = write_at(file, descriptor, bytes, count, offset);
    if (result > 0) lseek(descriptor, offset + result, SEEK_SET);
    return result;
}

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
    struct file *file = file_of(descriptor);
    return file ? write_at(file, descriptor, bytes, count, offset) : real_pwrite(descriptor, bytes, count, offset);
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset) {
    struct file *file = file_of(descriptor);
    return file ? write_at(file, descriptor, bytes, count, offset) : real_pwrite(descriptor, bytes, count, offset);
}

int ftruncate(int descriptor, off_t length) {
    struct file *file = file_of(descriptor);
    return file ? truncate_file(file, descriptor, length) : real_truncate(descriptor, length);
}

int ftruncate64(int descriptor, off64_t length) {
    struct file *file = file_of(descriptor);
    return file ? truncate_file(file, descriptor, length) : real_truncate(descriptor, length);
}

int fsync(int descriptor) {
    struct file *file = file_of(descriptor);
    return file ? sync_file(file, descriptor) : real_fsync(descriptor);
}

int fdatasync(int descriptor) {
    struct file *file = file_of(descriptor);
    return file ? sync_file(file, descriptor) : real_fdatasync(descriptor);
}

// What has this name is no file of the disk any more; the next of this name is another.
static void forget_file(const char *path) {
    struct stat status;
    if (stat(path, &status) != 0) return;
    for (int index = 0; index < file_count; index++) {
        struct file *file = &files[index];
        if (file->inode != status.st_ino || file->device != status.st_dev) continue;
        file->path[0] = 0;
        file->inode = 0;
    }
}

// A name that goes, or comes, is a boundary.
static void meet_name(void) {
    enum kind kind = boundary(NAME);
    if (kind == CUT) cut_power();
    if (kind == KILL || kind == TEAR) die();
}

int unlink(const char *path) {
    if (!is_watched(path)) return real_unlink(path);
    pthread_mutex_lock(&lock);
    meet_name();
    forget_file(path);
    int result = real_unlink(path);
    int code = errno;
    pthread_mutex_unlock(&lock);
    errno = code;
    return result;
}

int rename(const char *from, const char *to) {
    if (!is_watched(from)) return real_rename(from, to);
    pthread_mutex_lock(&lock);
    meet_name();
    forget_file(to);
    int result = real_rename(from, to);
    int code = errno;
    for (int index = 0; result == 0 && index < file_count; index++) {
        if (!strcmp(files[index].path, from)) snprintf(files[index].path, sizeof files[index].path, "%s", to);
    }
    pthread_mutex_unlock(&lock);
    errno = code;
    return result;
}
