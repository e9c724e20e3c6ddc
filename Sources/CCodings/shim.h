#ifndef LARDER_CCODINGS_SHIM_H
#define LARDER_CCODINGS_SHIM_H

#include <stddef.h>
#include <stdint.h>

// The compression and decompression functions of zlib, libdeflate, brotli, zstd and liblzma, declared by their stable ABIs. The libraries
// are loaded by name at run time, because installations of libcurl include those that it was built with. The build does not need their
// headers, and codings whose library is missing are not used.

typedef struct {
    const uint8_t *next_in;
    unsigned avail_in;
    unsigned long total_in;
    uint8_t *next_out;
    unsigned avail_out;
    unsigned long total_out;
    const char *message;
    void *state, *allocate, *release, *context;
    int data_type;
    unsigned long checksum, reserved;
} larder_zlib_stream;

/// `inflateInit2_`. The version is that of the zlib header that the caller uses, and the size that of its stream structure.
typedef int (*larder_zlib_init)(larder_zlib_stream *stream, int window_bits, const char *version, int size);
/// `larder_zlib_run` is `inflate` or `deflate`, with a flush mode; `larder_zlib_step` is a function without one, such as `inflateEnd`.
typedef int (*larder_zlib_run)(larder_zlib_stream *stream, int flush);
typedef int (*larder_zlib_step)(larder_zlib_stream *stream);

/// `deflateInit2_`.
typedef int (*larder_zlib_start_deflating)(
    larder_zlib_stream *stream, int level, int method, int window_bits, int memory, int strategy, const char *version,
    int size);
/// `crc32`.
typedef unsigned long (*larder_zlib_checksum)(unsigned long checksum, const uint8_t *bytes, unsigned count);

/// libdeflate, which is faster but compresses only whole buffers.
typedef void *(*larder_libdeflate_create)(int level);
typedef size_t (*larder_libdeflate_bound)(void *compressor, size_t size);
typedef size_t (*larder_libdeflate_pack)(void *compressor, const void *from, size_t size, void *to, size_t room);
typedef void (*larder_libdeflate_free)(void *compressor);

typedef void *(*larder_brotli_create)(void *allocate, void *release, void *context);
typedef int (*larder_brotli_run)(
    void *state, size_t *avail_in, const uint8_t **next_in, size_t *avail_out, uint8_t **next_out, size_t *total_out);
typedef void (*larder_brotli_destroy)(void *state);
/// `BrotliDecoderAttachDictionary`, since brotli 1.1. `type` is 0 for a dictionary of raw bytes, which brotli does not copy.
typedef int (*larder_brotli_attach)(void *state, int type, size_t size, const uint8_t *bytes);

typedef struct {
    const void *bytes;
    size_t size, place;
} larder_zstd_input;

typedef struct {
    void *bytes;
    size_t size, place;
} larder_zstd_output;

/// `lzma_stream` of liblzma.
typedef struct {
    const uint8_t *next_in;
    size_t avail_in;
    uint64_t total_in;
    uint8_t *next_out;
    size_t avail_out;
    uint64_t total_out;
    const void *allocator;
    void *state, *reserved_pointers[4];
    uint64_t seek_place, reserved_number;
    size_t reserved_sizes[2];
    unsigned reserved_enums[2];
} larder_xz_stream;

/// `lzma_stream_decoder`, `lzma_code` and `lzma_end`.
typedef int (*larder_xz_start)(larder_xz_stream *stream, uint64_t memory, uint32_t flags);
typedef int (*larder_xz_run)(larder_xz_stream *stream, int action);
typedef void (*larder_xz_end)(larder_xz_stream *stream);

typedef void *(*larder_zstd_create)(void);
typedef size_t (*larder_zstd_set)(void *context, int parameter, int value);
typedef size_t (*larder_zstd_run)(void *context, larder_zstd_output *output, larder_zstd_input *input);
/// `ZSTD_compressStream2`. `end` is the `ZSTD_EndDirective`: continue, flush or end.
typedef size_t (*larder_zstd_pack)(void *context, larder_zstd_output *output, larder_zstd_input *input, int end);
/// `ZSTD_compressCCtx`, `ZSTD_decompressDCtx` and `ZSTD_compressBound`, for whole frames.
typedef size_t (*larder_zstd_pack_whole)(
    void *context, void *to, size_t room, const void *from, size_t size, int level);
typedef size_t (*larder_zstd_unpack_whole)(void *context, void *to, size_t room, const void *from, size_t size);
typedef size_t (*larder_zstd_bound)(size_t size);
/// `ZSTD_compress2`, which uses the parameters and the prefix of the context.
typedef size_t (*larder_zstd_compress)(void *context, void *to, size_t room, const void *from, size_t size);
typedef unsigned (*larder_zstd_is_error)(size_t code);
typedef size_t (*larder_zstd_free)(void *context);
/// `ZSTD_CCtx_refPrefix` and `ZSTD_DCtx_refPrefix`: the next frame refers to these bytes, which are not copied.
typedef size_t (*larder_zstd_prefix)(void *context, const void *bytes, size_t size);

#endif
