// libpq, PostgreSQL's client library, and one-line shims for its character-valued macros.
#pragma once
// Debian has the headers in a folder of their own; other systems have them beside those of C.
#if __has_include(<postgresql/libpq-fe.h>)
#include <postgresql/libpq-fe.h>
#else
#include <libpq-fe.h>
#endif
#include <poll.h>

// Connects with defaults before the address, which may say something else, and what it may not change after it.
static inline PGconn *cpq_connect(const char *address, const char *application, const char *seconds) {
    const char *const names[] = {"connect_timeout", "application_name", "target_session_attrs",
                                 "dbname", "client_encoding", (const char *)0};
    const char *const values[] = {seconds, application, "read-write", address, "UTF8", (const char *)0};
    return PQconnectdbParams(names, values, 1);
}

// The five characters of the error's code; NULL if the server did not send it.
static inline const char *cpq_state(const PGresult *result) { return PQresultErrorField(result, PG_DIAG_SQLSTATE); }

// The error's or notice's message, without position and context.
static inline const char *cpq_message(const PGresult *result) {
    return PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
}

// The severity of an error or notice, in English.
static inline const char *cpq_severity(const PGresult *result) {
    return PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
}
