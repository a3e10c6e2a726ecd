// Declarations that Swift's Glibc module lacks: Linux-only headers, and calls that exist only under _GNU_SOURCE. That
// macro cannot be defined here: structures would then differ from those in Swift's own Glibc module.
#pragma once
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

int accept4(int descriptor, struct sockaddr *address, socklen_t *length, int flags);

// The result of SO_PEERCRED: struct ucred.
struct clinux_credentials {
    pid_t process;
    uid_t user;
    gid_t group;
};
