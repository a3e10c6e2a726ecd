// Calls for processes, threads, timers and file watches that Swift's Glibc module lacks: Linux-only headers, and calls
// that exist only under _GNU_SOURCE. That macro cannot be defined here: structures would then differ from those in
// Swift's own Glibc module.
#pragma once
#include <pthread.h>
#include <spawn.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/timex.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

int memfd_create(const char *name, unsigned int flags);
int pipe2(int ends[2], int flags);
int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *actions, const char *path);
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int descriptor);
int pthread_setname_np(pthread_t thread, const char *name);
int pthread_setaffinity_np(pthread_t thread, size_t size, const unsigned long *mask);

// Returns the variables of the environment, ended by a null pointer (environ(7)).
extern char **environ;
static inline char **csystem_environment(void) { return environ; }

// Returns a child that has ended and for which waitpid must still be called; 0 or less if there is none.
static inline pid_t csystem_ended_child(void)
{
    siginfo_t information = {0};
    return waitid(P_ALL, 0, &information, WEXITED | WNOHANG | WNOWAIT) == 0 ? information.si_pid : -1;
}

// The kernel's struct sched_attr in its first version: glibc has it, and the two calls, from 2.41 on.
struct csystem_scheduling {
    uint32_t size;
    uint32_t policy;
    uint64_t flags;
    int32_t niceness;
    uint32_t priority;
    uint64_t runtime;
    uint64_t deadline;
    uint64_t period;
};

static inline long csystem_get_scheduling(struct csystem_scheduling *scheduling)
{
    return syscall(SYS_sched_getattr, 0, scheduling, sizeof *scheduling, 0);
}

static inline long csystem_set_scheduling(const struct csystem_scheduling *scheduling)
{
    return syscall(SYS_sched_setattr, 0, scheduling, 0);
}
