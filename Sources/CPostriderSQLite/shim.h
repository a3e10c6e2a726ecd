// SQLite, and one-line shims for its variadic calls and pointer-valued macros.
#pragma once
#include <sqlite3.h>
#include <sys/file.h>

// The value is copied before the call returns.
static inline int csqlite_bind_blob_copied(sqlite3_stmt *statement, int index, const void *bytes,
                                           sqlite3_uint64 count) {
    return sqlite3_bind_blob64(statement, index, bytes, count, SQLITE_TRANSIENT);
}

// The value is copied before the call returns.
static inline int csqlite_bind_text_copied(sqlite3_stmt *statement, int index, const char *text,
                                           sqlite3_uint64 count) {
    return sqlite3_bind_text64(statement, index, text, count, SQLITE_TRANSIENT, SQLITE_UTF8);
}

// Closing leaves the write-ahead log as it is.
static inline int csqlite_keep_log_on_close(sqlite3 *connection) {
    return sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}
