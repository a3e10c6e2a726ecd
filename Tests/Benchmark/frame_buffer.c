// What a server's nghttp2 session costs with a frame buffer of its own, and with one that all sessions share.
//
// usage: frame_buffer {own|shared} SESSIONS REQUESTS
//
// Each session takes a preface, SETTINGS and REQUESTS requests, answers them, and stays open. Prints the bytes of memory
// (resident) that each session has added.
#include <nghttp2/nghttp2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const size_t frame_buffer_bytes = 16384 + 9 + 1;
static void *shared;
static int hand_out;

static void *take(size_t n, void *u) { return malloc(n); }
static void drop(void *p, void *u) { if (p != shared) free(p); }
static void *zeroed(size_t n, size_t m, void *u) { return calloc(n, m); }
static void *resize(void *p, size_t n, void *u) {
    if (hand_out && p == NULL && n == frame_buffer_bytes) { hand_out = 0; return shared; }
    return realloc(p, n);
}

static int frame_received(nghttp2_session *session, const nghttp2_frame *frame, void *u) {
    if (frame->hd.type != NGHTTP2_HEADERS) return 0;
    nghttp2_nv fields[] = {{(uint8_t *)":status", (uint8_t *)"200", 7, 3, 0}};
    return nghttp2_submit_response(session, frame->hd.stream_id, fields, 1, NULL) ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static long resident(void) {
    long pages = 0, ignored;
    FILE *file = fopen("/proc/self/statm", "r");
    if (fscanf(file, "%ld %ld", &ignored, &pages) != 2) abort();
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

int main(int count, char **words) {
    if (count != 4) return 2;
    int shares = !strcmp(words[1], "shared"), sessions = atoi(words[2]), requests = atoi(words[3]);
    shared = malloc(frame_buffer_bytes);
    nghttp2_mem memory = {NULL, take, drop, zeroed, resize};
    nghttp2_session_callbacks *callbacks;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, frame_received);
    nghttp2_option *options;
    nghttp2_option_new(&options);
    nghttp2_option_set_no_closed_streams(options, 1);
    nghttp2_session **all = calloc(sessions, sizeof *all);
    long before = resident();
    for (int i = 0; i < sessions; i++) {
        hand_out = shares;
        if (nghttp2_session_server_new3(&all[i], callbacks, NULL, options, &memory)) return 1;
        if (shares && hand_out) return 3;
        hand_out = 0;
        nghttp2_submit_settings(all[i], 0, NULL, 0);
        uint8_t opening[24 + 9], request[] = {0, 0, 6, 1, 5, 0, 0, 0, 0, 0x83, 0x84, 0x87, 0x01, 0x01, 0x78};
        memcpy(opening, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", sizeof opening);
        if (nghttp2_session_mem_recv(all[i], opening, sizeof opening) < 0) return 1;
        for (int j = 0; j < requests; j++) {
            int stream = 2 * j + 1;
            request[7] = stream >> 8;
            request[8] = stream;
            if (nghttp2_session_mem_recv(all[i], request, sizeof request) < 0) return 1;
            const uint8_t *frame;
            while (nghttp2_session_mem_send(all[i], &frame) > 0) {}
        }
    }
    printf("%ld\n", (resident() - before) / sessions);
}
