#ifndef LARDER_CICU_SHIM_H
#define LARDER_CICU_SHIM_H

#include <unicode/uidna.h>

// ICU's functions carry its version in their names behind macros; the shims give them names that stay.

static inline UIDNA *larder_idna_open(uint32_t options, UErrorCode *status) {
    return uidna_openUTS46(options, status);
}

static inline void larder_idna_close(UIDNA *idna) {
    uidna_close(idna);
}

/// The length of the ASCII form; what went wrong with the name itself is in `errors`, not in `status`.
static inline int32_t larder_idna_name_to_ascii(const UIDNA *idna, const char *name, int32_t length, char *ascii,
                                                int32_t capacity, uint32_t *errors, UErrorCode *status) {
    UIDNAInfo info = UIDNA_INFO_INITIALIZER;
    int32_t written = uidna_nameToASCII_UTF8(idna, name, length, ascii, capacity, &info, status);
    *errors = info.errors;
    return written;
}

#endif
