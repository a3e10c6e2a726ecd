// SQLite, and one-line shims for its variadic calls and pointer-valued macros.
#pragma once
#include <sqlite3.h>
