// The client of systemd's journal. Its functions are used without the place in the source, which its macros would add.
#pragma once
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>
