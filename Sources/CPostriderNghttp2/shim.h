// nghttp2 imports whole; no shim is needed.
#pragma once
#include <nghttp2/nghttp2.h>
