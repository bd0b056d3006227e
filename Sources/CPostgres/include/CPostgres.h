// libpq, PostgreSQL's client library, as a table of its functions that is filled when the library
// is loaded. So a program that keeps its rows elsewhere needs no libpq.
//
// Only PostgresStorage may import it. The types are those of libpq's own header, which is needed to
// build; what takes them stands in the library since PostgreSQL 14.

#ifndef CUMULUS_CPOSTGRES_H
#define CUMULUS_CPOSTGRES_H

// Where Debian, and Homebrew on either kind of Mac, have the header.
#if __has_include(<libpq-fe.h>)
#include <libpq-fe.h>
#elif __has_include(<postgresql/libpq-fe.h>)
#include <postgresql/libpq-fe.h>
#elif __has_include("/opt/homebrew/opt/libpq/include/libpq-fe.h")
#include "/opt/homebrew/opt/libpq/include/libpq-fe.h"
#elif __has_include("/usr/local/opt/libpq/include/libpq-fe.h")
#include "/usr/local/opt/libpq/include/libpq-fe.h"
#else
#error "libpq-fe.h is missing: apt-get install libpq-dev, or brew install libpq"
#endif

// Macros of characters, which Swift doesn't take over as numbers.
static const int cumulus_diag_sqlstate = PG_DIAG_SQLSTATE;
static const int cumulus_diag_primary = PG_DIAG_MESSAGE_PRIMARY;

#define CUMULUS_LIBPQ(each) \
    each(PQclear) \
    each(PQconnectdbParams) \
    each(PQconnectionNeedsPassword) \
    each(PQconninfoFree) \
    each(PQconninfoParse) \
    each(PQenterPipelineMode) \
    each(PQerrorMessage) \
    each(PQexec) \
    each(PQexitPipelineMode) \
    each(PQfinish) \
    each(PQgetisnull) \
    each(PQgetlength) \
    each(PQgetResult) \
    each(PQgetvalue) \
    each(PQntuples) \
    each(PQpipelineSync) \
    each(PQresultErrorField) \
    each(PQresultStatus) \
    each(PQsendPrepare) \
    each(PQsendQuery) \
    each(PQsendQueryPrepared) \
    each(PQserverVersion) \
    each(PQsetNoticeProcessor) \
    each(PQstatus)

// Each function under its own name.
struct cumulus_libpq {
#define CUMULUS_FIELD(name) __typeof__(&name) _Nonnull name;
    CUMULUS_LIBPQ(CUMULUS_FIELD)
#undef CUMULUS_FIELD
};

// Loads the library, which stays, and fills the table. Returns NULL, or what the system misses, in
// words that the next call of this thread may overwrite.
const char *_Nullable cumulus_libpq_load(struct cumulus_libpq *_Nonnull table);

#endif
