// sd-bus, systemd's D-Bus client. It imports whole; no shim is needed.
#pragma once
#include <systemd/sd-bus.h>
