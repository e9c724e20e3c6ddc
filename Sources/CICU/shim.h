#ifndef LARDER_CICU_SHIM_H
#define LARDER_CICU_SHIM_H

#include <unicode/ubrk.h>
#include <unicode/uchar.h>
#include <unicode/uidna.h>
#include <unicode/unorm2.h>

// Macros add the version of ICU to the names of its functions. The shims have names without a version.

static inline UIDNA *larder_idna_open(uint32_t options, UErrorCode *status) {
    return uidna_openUTS46(options, status);
}

static inline void larder_idna_close(UIDNA *idna) {
    uidna_close(idna);
}

/// Converts a host name to ASCII and returns the length. Errors in the name itself are in `errors`, not in `status`.
static inline int32_t larder_idna_name_to_ascii(const UIDNA *idna, const char *name, int32_t length, char *ascii,
                                                int32_t capacity, uint32_t *errors, UErrorCode *status) {
    UIDNAInfo info = UIDNA_INFO_INITIALIZER;
    int32_t written = uidna_nameToASCII_UTF8(idna, name, length, ascii, capacity, &info, status);
    *errors = info.errors;
    return written;
}

/// Folds a character: NFKC_Casefold removes differences of case, width and compatibility forms, and NFD then separates accents.
/// Returns the length in UTF-16 code units. Sets `status` to an error if it exceeds `capacity`.
static inline int32_t larder_fold(UChar32 character, UChar *folded, int32_t capacity, UErrorCode *status) {
    UChar source[2], composed[64];
    int32_t length = 0;
    U16_APPEND_UNSAFE(source, length, character);
    const UNormalizer2 *casefold = unorm2_getNFKCCasefoldInstance(status);
    length = unorm2_normalize(casefold, source, length, composed, 64, status);
    const UNormalizer2 *apart = unorm2_getNFDInstance(status);
    return unorm2_normalize(apart, composed, length, folded, capacity, status);
}

static inline int8_t larder_character_type(UChar32 character) {
    return u_charType(character);
}

static inline UBreakIterator *larder_words_open(const UChar *text, int32_t length, UErrorCode *status) {
    return ubrk_open(UBRK_WORD, "", text, length, status);
}

static inline int32_t larder_words_next(UBreakIterator *words) {
    return ubrk_next(words);
}

static inline int32_t larder_words_status(UBreakIterator *words) {
    return ubrk_getRuleStatus(words);
}

static inline void larder_words_close(UBreakIterator *words) {
    ubrk_close(words);
}

#endif
