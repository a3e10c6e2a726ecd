// What the kernel alone takes for a delivery: one write to a TCP connection and one read of what comes back, on each of
// so many connections that as many are under way at once. No TLS, no protocol, nothing looked up. A server that keeps a
// connection for each device and waits for its acknowledgement cannot take less.
//
// usage: floor CONNECTIONS SECONDS SERVER CLIENT, where the last two are processors. Prints how many deliveries a second of
// the server's processor time is good for.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

// Bytes of a push of 200 and of its acknowledgement, with what HTTP/2 and TLS put around them
// (docs/reference/costs.md has both).
enum { DELIVERY = 300, ACKNOWLEDGEMENT = 40, EVENTS = 256 };

static int connections, device_poller, *ready, count;
static char processor[2];

static void demand(int good, const char *what) {
    if (good) return;
    perror(what);
    exit(1);
}

static void pin(int number) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(number, &set);
    demand(pthread_setaffinity_np(pthread_self(), sizeof set, &set) == 0, "the processor");
}

static double seconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

static void watch(int poller, int socket) {
    int yes = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = socket};
    demand(epoll_ctl(poller, EPOLL_CTL_ADD, socket, &event) == 0, "epoll_ctl");
}

// Reads what has come on each connection, and answers how many there were.
static int take(int poller, int *sockets) {
    char bytes[4096];
    struct epoll_event events[EVENTS];
    int found = epoll_wait(poller, events, EVENTS, -1);
    for (int index = 0; index < found; index++) {
        sockets[index] = events[index].data.fd;
        demand(read(sockets[index], bytes, sizeof bytes) > 0, "read");
    }
    return found;
}

static void give(const int *sockets, int number, int size) {
    static const char bytes[DELIVERY];
    for (int index = 0; index < number; index++) demand(write(sockets[index], bytes, size) == size, "write");
}

static void *devices(void *unused) {
    pin(processor[1]);
    int sockets[EVENTS];
    for (;;) give(sockets, take(device_poller, sockets), ACKNOWLEDGEMENT);
    return unused;
}

int main(int words, char **word) {
    if (words != 5) return 2;
    connections = atoi(word[1]);
    processor[0] = atoi(word[3]), processor[1] = atoi(word[4]);
    int listener = socket(AF_INET, SOCK_STREAM, 0), poller = epoll_create1(0);
    device_poller = epoll_create1(0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    demand(bind(listener, (struct sockaddr *)&address, size) == 0 && listen(listener, 64) == 0, "listen");
    getsockname(listener, (struct sockaddr *)&address, &size);
    ready = calloc(connections > EVENTS ? connections : EVENTS, sizeof *ready);
    for (count = 0; count < connections; count++) {
        int device = socket(AF_INET, SOCK_STREAM, 0);
        demand(connect(device, (struct sockaddr *)&address, size) == 0, "connect");
        watch(device_poller, device);
        watch(poller, ready[count] = accept(listener, NULL, NULL));
    }
    pthread_t thread;
    demand(pthread_create(&thread, NULL, devices, NULL) == 0, "pthread_create");
    pin(processor[0]);
    long done = 0;
    double used = seconds(CLOCK_THREAD_CPUTIME_ID), end = seconds(CLOCK_MONOTONIC) + atoi(word[2]);
    while (seconds(CLOCK_MONOTONIC) < end) {
        give(ready, count, DELIVERY);
        count = take(poller, ready);
        done += count;
    }
    printf("%.0f\n", done / (seconds(CLOCK_THREAD_CPUTIME_ID) - used));
    return 0;
}
