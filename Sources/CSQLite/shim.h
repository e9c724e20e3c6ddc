#ifndef LARDER_CSQLITE_SHIM_H
#define LARDER_CSQLITE_SHIM_H

#include <sqlite3.h>

// SQLITE_TRANSIENT is an integer cast to a function pointer, which Swift does not import. Both copy what they are given.

static inline int larder_sqlite_bind_text(sqlite3_stmt *statement, int index, const char *bytes, sqlite3_uint64 count) {
    return sqlite3_bind_text64(statement, index, bytes ? bytes : "", count, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static inline int larder_sqlite_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 count) {
    return sqlite3_bind_blob64(statement, index, bytes ? bytes : "", count, SQLITE_TRANSIENT);
}

// Variadic. Counting the memory that is in use takes a lock that all threads share, for each allocation.

static inline int larder_sqlite_count_no_memory(void) {
    return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

/// Variadic. Closing the connection leaves the log beside the database as it is.

static inline int larder_sqlite_keep_log(sqlite3 *connection) {
    return sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}

// SQLite takes no path that is longer than 512 bytes once its links are followed, and follows the one in `/proc` by which a folder
// that is open has a short name. These take a path as it is.

static int larder_sqlite_same_name(sqlite3_vfs *vfs, const char *name, int byteCount, char *result) {
    (void)vfs;
    sqlite3_snprintf(byteCount, result, "%s", name);
    return SQLITE_OK;
}

static inline int larder_sqlite_register(const char *base, const char *name, sqlite3_vfs *copy) {
    sqlite3_vfs *original = sqlite3_vfs_find(base);
    if (!original) return SQLITE_ERROR;
    *copy = *original;
    copy->zName = name;
    copy->pNext = 0;
    copy->xFullPathname = larder_sqlite_same_name;
    return sqlite3_vfs_register(copy, 0);
}

/// To be called once, before a database is opened by one of the two.

static inline int larder_sqlite_add_literal_names(void) {
    static sqlite3_vfs shared, alone;
    int code = larder_sqlite_register("unix", "larder-literal", &shared);
    return code != SQLITE_OK ? code : larder_sqlite_register("unix-none", "larder-literal-none", &alone);
}

/// Where a tokenizer of full-text search is made known; null where SQLite has no FTS5.

static inline fts5_api *larder_fts5_api(sqlite3 *connection) {
    fts5_api *api = 0;
    sqlite3_stmt *statement = 0;
    if (sqlite3_prepare_v2(connection, "SELECT fts5(?1)", -1, &statement, 0) == SQLITE_OK) {
        sqlite3_bind_pointer(statement, 1, (void *)&api, "fts5_api_ptr", 0);
        sqlite3_step(statement);
    }
    sqlite3_finalize(statement);
    return api;
}

#endif
