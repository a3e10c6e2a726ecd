// What Glibc's own module leaves out: Linux-only headers, and calls that exist only under _GNU_SOURCE. That macro
// cannot be defined here: structures would then differ from those in Swift's own Glibc module.
#pragma once
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>

int accept4(int descriptor, struct sockaddr *address, socklen_t *length, int flags);
int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *actions, const char *path);
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int descriptor);
int pthread_setname_np(pthread_t thread, const char *name);
int pthread_setaffinity_np(pthread_t thread, size_t size, const unsigned long *mask);

// What SO_PEERCRED answers: struct ucred.
struct clinux_credentials {
    pid_t process;
    uid_t user;
    gid_t group;
};
