internal import CCodings
internal import Glibc

/// The functions of the compression libraries, found at run time. A property is nil if its library is not
/// available.
///
/// libcurl has usually loaded these libraries already, so the build neither links to them nor needs their headers.
/// Each property has the name of its C function without the prefix of the library. `CCodings/shim.h` declares the
/// function types.
enum CodingLibrary {
    static let zlib = Zlib()
    static let libdeflate = LibDeflate()
    static let brotli = Brotli()
    static let zstd = Zstd()
    static let xz = XZ()

    /// Functions of zlib.
    struct Zlib: Sendable {
        let inflateInit: larder_zlib_init
        let inflate: larder_zlib_run
        let inflateReset: larder_zlib_step
        let inflateEnd: larder_zlib_step
        let deflateInit: larder_zlib_start_deflating
        let deflate: larder_zlib_run
        let deflateReset: larder_zlib_step
        let deflateEnd: larder_zlib_step
        let crc32: larder_zlib_checksum

        init?() {
            guard let inflateInit = CodingLibrary.find("inflateInit2_", larder_zlib_init.self),
                let inflate = CodingLibrary.find("inflate", larder_zlib_run.self),
                let inflateReset = CodingLibrary.find("inflateReset", larder_zlib_step.self),
                let inflateEnd = CodingLibrary.find("inflateEnd", larder_zlib_step.self),
                let deflateInit = CodingLibrary.find("deflateInit2_", larder_zlib_start_deflating.self),
                let deflate = CodingLibrary.find("deflate", larder_zlib_run.self),
                let deflateReset = CodingLibrary.find("deflateReset", larder_zlib_step.self),
                let deflateEnd = CodingLibrary.find("deflateEnd", larder_zlib_step.self),
                let crc32 = CodingLibrary.find("crc32", larder_zlib_checksum.self)
            else { return nil }
            (self.inflateInit, self.inflate) = (inflateInit, inflate)
            (self.inflateReset, self.inflateEnd) = (inflateReset, inflateEnd)
            (self.deflateInit, self.deflate) = (deflateInit, deflate)
            (self.deflateReset, self.deflateEnd) = (deflateReset, deflateEnd)
            self.crc32 = crc32
        }
    }

    /// Functions of libdeflate. No other library loads it: it is used if it is installed.
    struct LibDeflate: Sendable {
        let allocCompressor: larder_libdeflate_create
        let gzipCompressBound: larder_libdeflate_bound
        let gzipCompress: larder_libdeflate_pack
        let deflateCompressBound: larder_libdeflate_bound
        let deflateCompress: larder_libdeflate_pack
        let freeCompressor: larder_libdeflate_free

        init?() {
            guard let library = dlopen("libdeflate.so.0", RTLD_NOW),
                let allocCompressor = dlsym(library, "libdeflate_alloc_compressor"),
                let gzipCompressBound = dlsym(library, "libdeflate_gzip_compress_bound"),
                let gzipCompress = dlsym(library, "libdeflate_gzip_compress"),
                let deflateCompressBound = dlsym(library, "libdeflate_deflate_compress_bound"),
                let deflateCompress = dlsym(library, "libdeflate_deflate_compress"),
                let freeCompressor = dlsym(library, "libdeflate_free_compressor")
            else { return nil }
            self.allocCompressor = unsafeBitCast(allocCompressor, to: larder_libdeflate_create.self)
            self.gzipCompressBound = unsafeBitCast(gzipCompressBound, to: larder_libdeflate_bound.self)
            self.gzipCompress = unsafeBitCast(gzipCompress, to: larder_libdeflate_pack.self)
            self.deflateCompressBound = unsafeBitCast(deflateCompressBound, to: larder_libdeflate_bound.self)
            self.deflateCompress = unsafeBitCast(deflateCompress, to: larder_libdeflate_pack.self)
            self.freeCompressor = unsafeBitCast(freeCompressor, to: larder_libdeflate_free.self)
        }
    }

    /// Functions of libbrotlidec.
    struct Brotli: Sendable {
        let createInstance: larder_brotli_create
        let decompressStream: larder_brotli_run
        let destroyInstance: larder_brotli_destroy
        /// Nil before brotli 1.1.
        let attachDictionary: larder_brotli_attach?

        init?() {
            guard
                let createInstance = CodingLibrary.find(
                    "BrotliDecoderCreateInstance", larder_brotli_create.self),
                let decompressStream = CodingLibrary.find(
                    "BrotliDecoderDecompressStream", larder_brotli_run.self),
                let destroyInstance = CodingLibrary.find(
                    "BrotliDecoderDestroyInstance", larder_brotli_destroy.self)
            else { return nil }
            (self.createInstance, self.destroyInstance) = (createInstance, destroyInstance)
            self.decompressStream = decompressStream
            attachDictionary = CodingLibrary.find(
                "BrotliDecoderAttachDictionary", larder_brotli_attach.self)
        }
    }

    /// Functions of libzstd.
    struct Zstd: Sendable {
        let createDStream: larder_zstd_create
        let setDParameter: larder_zstd_set
        let decompressStream: larder_zstd_run
        let isError: larder_zstd_is_error
        let freeDStream: larder_zstd_free
        let createCCtx: larder_zstd_create
        let setCParameter: larder_zstd_set
        let compressStream: larder_zstd_pack
        let freeCCtx: larder_zstd_free
        let compressCCtx: larder_zstd_pack_whole
        let decompressDCtx: larder_zstd_unpack_whole
        let compressBound: larder_zstd_bound
        let referDecoderPrefix: larder_zstd_prefix
        let referEncoderPrefix: larder_zstd_prefix
        let compress: larder_zstd_compress

        init?() {
            guard let createDStream = CodingLibrary.find("ZSTD_createDStream", larder_zstd_create.self),
                let setDParameter = CodingLibrary.find("ZSTD_DCtx_setParameter", larder_zstd_set.self),
                let decompressStream = CodingLibrary.find("ZSTD_decompressStream", larder_zstd_run.self),
                let isError = CodingLibrary.find("ZSTD_isError", larder_zstd_is_error.self),
                let freeDStream = CodingLibrary.find("ZSTD_freeDStream", larder_zstd_free.self),
                let createCCtx = CodingLibrary.find("ZSTD_createCCtx", larder_zstd_create.self),
                let setCParameter = CodingLibrary.find("ZSTD_CCtx_setParameter", larder_zstd_set.self),
                let compressStream = CodingLibrary.find("ZSTD_compressStream2", larder_zstd_pack.self),
                let freeCCtx = CodingLibrary.find("ZSTD_freeCCtx", larder_zstd_free.self),
                let compressCCtx = CodingLibrary.find("ZSTD_compressCCtx", larder_zstd_pack_whole.self),
                let decompressDCtx = CodingLibrary.find("ZSTD_decompressDCtx", larder_zstd_unpack_whole.self),
                let compressBound = CodingLibrary.find("ZSTD_compressBound", larder_zstd_bound.self),
                let referDecoderPrefix = CodingLibrary.find("ZSTD_DCtx_refPrefix", larder_zstd_prefix.self),
                let referEncoderPrefix = CodingLibrary.find("ZSTD_CCtx_refPrefix", larder_zstd_prefix.self),
                let compress = CodingLibrary.find("ZSTD_compress2", larder_zstd_compress.self)
            else { return nil }
            (self.createDStream, self.freeDStream) = (createDStream, freeDStream)
            (self.setDParameter, self.decompressStream) = (setDParameter, decompressStream)
            (self.createCCtx, self.freeCCtx) = (createCCtx, freeCCtx)
            (self.setCParameter, self.compressStream) = (setCParameter, compressStream)
            (self.compressCCtx, self.decompressDCtx) = (compressCCtx, decompressDCtx)
            (self.isError, self.compressBound) = (isError, compressBound)
            (self.referDecoderPrefix, self.referEncoderPrefix) = (referDecoderPrefix, referEncoderPrefix)
            self.compress = compress
        }
    }

    /// Functions of liblzma. No other library loads it: it is used if it is installed.
    struct XZ: Sendable {
        let streamDecoder: larder_xz_start
        let code: larder_xz_run
        let end: larder_xz_end

        init?() {
            guard let library = dlopen("liblzma.so.5", RTLD_NOW),
                let streamDecoder = dlsym(library, "lzma_stream_decoder"),
                let code = dlsym(library, "lzma_code"),
                let end = dlsym(library, "lzma_end")
            else { return nil }
            self.streamDecoder = unsafeBitCast(streamDecoder, to: larder_xz_start.self)
            self.code = unsafeBitCast(code, to: larder_xz_run.self)
            self.end = unsafeBitCast(end, to: larder_xz_end.self)
        }
    }

    /// Returns a function of a loaded library. Loads zlib and zstd if necessary, since a program without
    /// libcurl may not have loaded them.
    ///
    /// The caller must pass the type that `shim.h` declares for the name.
    static func find<Function>(_ name: String, _: Function.Type) -> Function? {
        let library = name.hasPrefix("ZSTD_") ? "libzstd.so.1" : "libz.so.1"
        let symbol = dlsym(nil, name) ?? dlopen(library, RTLD_NOW).flatMap { dlsym($0, name) }
        return symbol.map { unsafeBitCast($0, to: Function.self) }
    }
}
