// libmicrohttpd, and a shim for its variadic function, which Swift cannot call.
#pragma once
#include <sys/socket.h>
#include <sys/types.h>
#include <stdint.h>
#include <microhttpd.h>

static inline struct MHD_Daemon *cmicrohttpd_start(
    unsigned int flags, MHD_AccessHandlerCallback handler, void *context, const struct MHD_OptionItem *options) {
    return MHD_start_daemon(flags, 0, NULL, NULL, handler, context, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
}
