#ifndef LARDER_CSQLITE_CHECKSUMS_H
#define LARDER_CSQLITE_CHECKSUMS_H

#include <sqlite3.h>
#include <stdint.h>
#include <string.h>

// SQLite file systems (VFS) that give each page of a database a checksum. SQLite itself does not notice a flipped bit in a row,
// which can lead a URL to the response of another one.
//
// The checksum is in the last eight bytes of a page, which SQLite leaves to us if the database says so in its header (byte 20).
// A page gets it on its way into the database file, and it is compared when the page is read from there. SQLite itself never sees
// it: in memory, and in the write-ahead log, those bytes are zero. (Pages in the log have checksums by SQLite, which it compares
// when it recovers the log.)
//
// A program without this file system, such as `sqlite3`, may move pages from the log into the database when it closes it. Such
// pages come without a checksum, and are read without a comparison until they are next written. A program that changes rows
// leaves pages with checksums of their earlier content, which count as damaged.

/// Opcode of `sqlite3_file_control`: adds checksums to the pages of this empty database.
#define LARDER_FCNTL_ADD_CHECKSUMS 0x6c726472
/// Opcode of `sqlite3_file_control`: sets whether damaged pages are read, so that their content can be saved, or cause errors.
/// The argument points to an int.
#define LARDER_FCNTL_IGNORE_CHECKSUMS 0x6c726473

#define LARDER_CHECKSUM_SIZE 8

typedef struct larder_file {
    sqlite3_file base;
    /// Whether pages have checksums, as far as is known: a database may get them while it is open.
    int hasChecksums;
    int ignoresChecksums;
    /// A page with its checksum, on its way to the file.
    unsigned char *copy;
    int copySize;
    /// The file as SQLite's own file system has it. It follows this structure.
    sqlite3_file *real;
} larder_file;

/// A file system of Larder, with the file system of SQLite that it wraps.
typedef struct larder_vfs {
    sqlite3_vfs base;
    sqlite3_vfs *real;
} larder_vfs;

static inline sqlite3_file *larder_real(sqlite3_file *file) { return ((larder_file *)file)->real; }

static inline int larder_is_page(sqlite3_int64 offset, int count) {
    return count >= 512 && (count & (count - 1)) == 0 && offset % count == 0;
}

/// Four sums, since a processor can work on them at the same time. Each step is a bijection, so that a change of one word always
/// changes the result.
static inline uint64_t larder_page_checksum(const unsigned char *page, int count, sqlite3_int64 offset) {
    const uint64_t factor = 0x9E3779B97F4A7C15u;
    uint64_t sums[4] = {0xCBF29CE484222325u ^ (uint64_t)(offset / count), 1, 2, 3};
    uint64_t words[4] = {0};
    // The checksum itself, at the end of the last four words, counts as zero.
    for (int index = 0; index < count; index += 32) {
        memcpy(words, page + index, 32);
        if (index + 32 == count) words[3] = 0;
        for (int lane = 0; lane < 4; lane += 1) {
            sums[lane] = (sums[lane] ^ words[lane]) * factor;
            sums[lane] ^= sums[lane] >> 32;
        }
    }
    return ((sums[0] * factor ^ sums[1]) * factor ^ sums[2]) * factor ^ sums[3];
}

static inline int larder_header_has_checksums(const unsigned char *header) {
    return memcmp(header, "SQLite format 3", 16) == 0 && header[20] == LARDER_CHECKSUM_SIZE;
}

static int larder_close(sqlite3_file *file) {
    sqlite3_free(((larder_file *)file)->copy);
    ((larder_file *)file)->copy = 0;
    return larder_real(file)->pMethods->xClose(larder_real(file));
}

static int larder_read(sqlite3_file *file, void *bytes, int count, sqlite3_int64 offset) {
    larder_file *own = (larder_file *)file;
    int code = own->real->pMethods->xRead(own->real, bytes, count, offset);
    if (code != SQLITE_OK) return code;
    // SQLite reads the header before any page.
    if (offset == 0 && count >= 100 && larder_header_has_checksums(bytes)) own->hasChecksums = 1;
    if (!own->hasChecksums || !larder_is_page(offset, count)) return SQLITE_OK;
    unsigned char *place = (unsigned char *)bytes + count - LARDER_CHECKSUM_SIZE;
    uint64_t stored;
    memcpy(&stored, place, 8);
    // A page that was allocated and never written has no checksum either.
    if (stored != 0 && !own->ignoresChecksums && stored != larder_page_checksum(bytes, count, offset)) return SQLITE_IOERR_DATA;
    memset(place, 0, LARDER_CHECKSUM_SIZE);
    return SQLITE_OK;
}

static int larder_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
    larder_file *own = (larder_file *)file;
    const sqlite3_io_methods *methods = own->real->pMethods;
    if (!larder_is_page(offset, count)) return methods->xWrite(own->real, bytes, count, offset);
    if (!own->hasChecksums) {
        // Another connection may have added them.
        unsigned char header[100];
        own->hasChecksums = offset == 0 ? larder_header_has_checksums(bytes)
            : methods->xRead(own->real, header, 100, 0) == SQLITE_OK && larder_header_has_checksums(header);
        if (!own->hasChecksums) return methods->xWrite(own->real, bytes, count, offset);
    }
    if (own->copySize != count) {
        sqlite3_free(own->copy);
        own->copy = sqlite3_malloc(count);
        own->copySize = own->copy ? count : 0;
        if (!own->copy) return SQLITE_IOERR_NOMEM;
    }
    memcpy(own->copy, bytes, (size_t)count);
    uint64_t sum = larder_page_checksum(own->copy, count, offset);
    memcpy(own->copy + count - LARDER_CHECKSUM_SIZE, &sum, 8);
    return methods->xWrite(own->real, own->copy, count, offset);
}

static int larder_truncate(sqlite3_file *file, sqlite3_int64 size) {
    return larder_real(file)->pMethods->xTruncate(larder_real(file), size);
}

static int larder_sync(sqlite3_file *file, int flags) {
    return larder_real(file)->pMethods->xSync(larder_real(file), flags);
}

static int larder_file_size(sqlite3_file *file, sqlite3_int64 *size) {
    return larder_real(file)->pMethods->xFileSize(larder_real(file), size);
}

static int larder_lock(sqlite3_file *file, int level) {
    return larder_real(file)->pMethods->xLock(larder_real(file), level);
}

static int larder_unlock(sqlite3_file *file, int level) {
    return larder_real(file)->pMethods->xUnlock(larder_real(file), level);
}

static int larder_check_reserved_lock(sqlite3_file *file, int *result) {
    return larder_real(file)->pMethods->xCheckReservedLock(larder_real(file), result);
}

static int larder_file_control(sqlite3_file *file, int operation, void *argument) {
    if (operation == LARDER_FCNTL_ADD_CHECKSUMS) {
        ((larder_file *)file)->hasChecksums = 1;
        return SQLITE_OK;
    }
    if (operation == LARDER_FCNTL_IGNORE_CHECKSUMS) {
        ((larder_file *)file)->ignoresChecksums = *(int *)argument;
        return SQLITE_OK;
    }
    return larder_real(file)->pMethods->xFileControl(larder_real(file), operation, argument);
}

static int larder_sector_size(sqlite3_file *file) {
    return larder_real(file)->pMethods->xSectorSize(larder_real(file));
}

static int larder_device_characteristics(sqlite3_file *file) {
    return larder_real(file)->pMethods->xDeviceCharacteristics(larder_real(file));
}

static int larder_shm_map(sqlite3_file *file, int page, int size, int extends, void volatile **result) {
    return larder_real(file)->pMethods->xShmMap(larder_real(file), page, size, extends, result);
}

static int larder_shm_lock(sqlite3_file *file, int offset, int count, int flags) {
    return larder_real(file)->pMethods->xShmLock(larder_real(file), offset, count, flags);
}

static void larder_shm_barrier(sqlite3_file *file) {
    larder_real(file)->pMethods->xShmBarrier(larder_real(file));
}

static int larder_shm_unmap(sqlite3_file *file, int deletes) {
    return larder_real(file)->pMethods->xShmUnmap(larder_real(file), deletes);
}

/// Pages with checksums are read, never mapped.
static int larder_fetch(sqlite3_file *file, sqlite3_int64 offset, int count, void **result) {
    *result = 0;
    if (((larder_file *)file)->hasChecksums) return SQLITE_OK;
    return larder_real(file)->pMethods->xFetch(larder_real(file), offset, count, result);
}

static int larder_unfetch(sqlite3_file *file, sqlite3_int64 offset, void *page) {
    return larder_real(file)->pMethods->xUnfetch(larder_real(file), offset, page);
}

static int larder_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *outFlags) {
    static const sqlite3_io_methods methods = {
        3, larder_close, larder_read, larder_write, larder_truncate, larder_sync, larder_file_size,
        larder_lock, larder_unlock, larder_check_reserved_lock, larder_file_control, larder_sector_size,
        larder_device_characteristics, larder_shm_map, larder_shm_lock, larder_shm_barrier, larder_shm_unmap,
        larder_fetch, larder_unfetch,
    };
    sqlite3_vfs *real = ((larder_vfs *)vfs)->real;
    // Logs, journals and temporary files are SQLite's alone.
    if (!(flags & SQLITE_OPEN_MAIN_DB)) return real->xOpen(real, name, file, flags, outFlags);
    larder_file *own = (larder_file *)file;
    memset(own, 0, sizeof *own);
    own->real = (sqlite3_file *)(own + 1);
    int code = real->xOpen(real, name, own->real, flags, outFlags);
    // SQLite closes whatever has methods.
    if (own->real->pMethods) own->base.pMethods = own->real->pMethods->iVersion >= 3 ? &methods : 0;
    if (code == SQLITE_OK && !own->base.pMethods) {
        own->real->pMethods->xClose(own->real);
        return SQLITE_CANTOPEN;
    }
    return code;
}

#endif
