#ifndef LARDER_CSQLITE_SHIM_H
#define LARDER_CSQLITE_SHIM_H

#include <sqlite3.h>

#include "checksums.h"

// SQLITE_TRANSIENT is an integer cast to a function pointer, which Swift does not import. Both functions copy the bytes.

static inline int larder_sqlite_bind_text(sqlite3_stmt *statement, int index, const char *bytes, sqlite3_uint64 count) {
    return sqlite3_bind_text64(statement, index, bytes ? bytes : "", count, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static inline int larder_sqlite_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 count) {
    return sqlite3_bind_blob64(statement, index, bytes ? bytes : "", count, SQLITE_TRANSIENT);
}

// sqlite3_config is variadic. Memory statistics would take a global lock for each allocation.

static inline int larder_sqlite_count_no_memory(void) {
    return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

/// Makes closing the connection leave the write-ahead log as it is. sqlite3_db_config is variadic.

static inline int larder_sqlite_keep_log(sqlite3 *connection) {
    return sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}

// SQLite resolves symbolic links and rejects results longer than 512 bytes, and so also short paths through `/proc` to an open
// folder. Two of the file systems use a path unchanged.

static int larder_sqlite_same_name(sqlite3_vfs *vfs, const char *name, int byteCount, char *result) {
    (void)vfs;
    sqlite3_snprintf(byteCount, result, "%s", name);
    return SQLITE_OK;
}

static inline int larder_sqlite_register(const char *base, const char *name, int isLiteral, larder_vfs *vfs) {
    vfs->real = sqlite3_vfs_find(base);
    if (!vfs->real) return SQLITE_ERROR;
    vfs->base = *vfs->real;
    vfs->base.zName = name;
    vfs->base.pNext = 0;
    vfs->base.szOsFile += (int)sizeof(larder_file);
    vfs->base.xOpen = larder_open;
    if (isLiteral) vfs->base.xFullPathname = larder_sqlite_same_name;
    return sqlite3_vfs_register(&vfs->base, 0);
}

/// Registers the file systems: `larder` with locks, `larder-none` without, and both again for unchanged paths. Call it once, before
/// a database is opened with one of them.

static inline int larder_sqlite_add_file_systems(void) {
    static larder_vfs systems[4];
    int code = larder_sqlite_register("unix", "larder", 0, &systems[0]);
    if (code == SQLITE_OK) code = larder_sqlite_register("unix-none", "larder-none", 0, &systems[1]);
    if (code == SQLITE_OK) code = larder_sqlite_register("unix", "larder-literal", 1, &systems[2]);
    if (code == SQLITE_OK) code = larder_sqlite_register("unix-none", "larder-literal-none", 1, &systems[3]);
    return code;
}

/// The code of an error that a page with a wrong checksum causes. Swift does not import the macro.

static inline int larder_sqlite_wrong_checksum(void) { return SQLITE_IOERR_DATA; }

/// Sets whether damaged pages are read instead of causing an error.

static inline int larder_sqlite_ignore_checksums(sqlite3 *connection, int ignores) {
    return sqlite3_file_control(connection, "main", LARDER_FCNTL_IGNORE_CHECKSUMS, &ignores);
}

/// Reserves space for checksums in each page: at once in an empty database, else at the next VACUUM.

static inline int larder_sqlite_reserve_checksums(sqlite3 *connection) {
    int byteCount = LARDER_CHECKSUM_SIZE;
    return sqlite3_file_control(connection, "main", SQLITE_FCNTL_RESERVE_BYTES, &byteCount);
}

/// Adds checksums to the pages of an empty database, also to pages that are written before the first one.

static inline int larder_sqlite_add_checksums(sqlite3 *connection) {
    int code = larder_sqlite_reserve_checksums(connection);
    return code != SQLITE_OK ? code : sqlite3_file_control(connection, "main", LARDER_FCNTL_ADD_CHECKSUMS, 0);
}

/// The interface for registering tokenizers; null if SQLite was built without FTS5.

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
