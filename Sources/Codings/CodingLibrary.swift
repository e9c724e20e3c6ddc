internal import CCodings
internal import Glibc

/// The compression libraries, resolved at run time: mostly those that libcurl has loaded. A property is nil
/// if its library is not available.
enum CodingLibrary {
    static let zlib = Zlib()
    static let libdeflate = LibDeflate()
    static let brotli = Brotli()
    static let zstd = Zstd()
    static let xz = XZ()

    /// Functions of zlib.
    struct Zlib: Sendable {
        let start: larder_zlib_init
        let run: larder_zlib_run
        let reset: larder_zlib_step
        let end: larder_zlib_step
        let startDeflating: larder_zlib_start_deflating
        let deflate: larder_zlib_run
        let resetDeflating: larder_zlib_step
        let endDeflating: larder_zlib_step
        let checksum: larder_zlib_checksum

        init?() {
            guard let start = CodingLibrary.find("inflateInit2_", larder_zlib_init.self),
                let run = CodingLibrary.find("inflate", larder_zlib_run.self),
                let reset = CodingLibrary.find("inflateReset", larder_zlib_step.self),
                let end = CodingLibrary.find("inflateEnd", larder_zlib_step.self),
                let startDeflating = CodingLibrary.find("deflateInit2_", larder_zlib_start_deflating.self),
                let deflate = CodingLibrary.find("deflate", larder_zlib_run.self),
                let resetDeflating = CodingLibrary.find("deflateReset", larder_zlib_step.self),
                let endDeflating = CodingLibrary.find("deflateEnd", larder_zlib_step.self),
                let checksum = CodingLibrary.find("crc32", larder_zlib_checksum.self)
            else { return nil }
            (self.start, self.run, self.reset, self.end) = (start, run, reset, end)
            (self.startDeflating, self.deflate) = (startDeflating, deflate)
            (self.resetDeflating, self.endDeflating) = (resetDeflating, endDeflating)
            self.checksum = checksum
        }
    }

    /// Functions of libdeflate. No other library loads it: it is used if it is installed.
    struct LibDeflate: Sendable {
        let create: larder_libdeflate_create
        let bound: larder_libdeflate_bound
        let pack: larder_libdeflate_pack
        /// The same functions for raw deflate streams.
        let boundOfBare: larder_libdeflate_bound
        let packBare: larder_libdeflate_pack
        let free: larder_libdeflate_free

        init?() {
            guard let library = dlopen("libdeflate.so.0", RTLD_NOW),
                let create = dlsym(library, "libdeflate_alloc_compressor"),
                let bound = dlsym(library, "libdeflate_gzip_compress_bound"),
                let pack = dlsym(library, "libdeflate_gzip_compress"),
                let boundOfBare = dlsym(library, "libdeflate_deflate_compress_bound"),
                let packBare = dlsym(library, "libdeflate_deflate_compress"),
                let free = dlsym(library, "libdeflate_free_compressor")
            else { return nil }
            self.create = unsafeBitCast(create, to: larder_libdeflate_create.self)
            self.bound = unsafeBitCast(bound, to: larder_libdeflate_bound.self)
            self.pack = unsafeBitCast(pack, to: larder_libdeflate_pack.self)
            self.boundOfBare = unsafeBitCast(boundOfBare, to: larder_libdeflate_bound.self)
            self.packBare = unsafeBitCast(packBare, to: larder_libdeflate_pack.self)
            self.free = unsafeBitCast(free, to: larder_libdeflate_free.self)
        }
    }

    /// Functions of libbrotlidec.
    struct Brotli: Sendable {
        let create: larder_brotli_create
        let run: larder_brotli_run
        let destroy: larder_brotli_destroy

        init?() {
            guard let create = CodingLibrary.find("BrotliDecoderCreateInstance", larder_brotli_create.self),
                let run = CodingLibrary.find("BrotliDecoderDecompressStream", larder_brotli_run.self),
                let destroy = CodingLibrary.find("BrotliDecoderDestroyInstance", larder_brotli_destroy.self)
            else { return nil }
            (self.create, self.run, self.destroy) = (create, run, destroy)
        }
    }

    /// Functions of libzstd.
    struct Zstd: Sendable {
        let create: larder_zstd_create
        let set: larder_zstd_set
        let run: larder_zstd_run
        let isError: larder_zstd_is_error
        let free: larder_zstd_free
        let createPacker: larder_zstd_create
        let setPacker: larder_zstd_set
        let pack: larder_zstd_pack
        let freePacker: larder_zstd_free
        let packWhole: larder_zstd_pack_whole
        let unpackWhole: larder_zstd_unpack_whole
        let bound: larder_zstd_bound

        init?() {
            guard let create = CodingLibrary.find("ZSTD_createDStream", larder_zstd_create.self),
                let set = CodingLibrary.find("ZSTD_DCtx_setParameter", larder_zstd_set.self),
                let run = CodingLibrary.find("ZSTD_decompressStream", larder_zstd_run.self),
                let isError = CodingLibrary.find("ZSTD_isError", larder_zstd_is_error.self),
                let free = CodingLibrary.find("ZSTD_freeDStream", larder_zstd_free.self),
                let createPacker = CodingLibrary.find("ZSTD_createCCtx", larder_zstd_create.self),
                let setPacker = CodingLibrary.find("ZSTD_CCtx_setParameter", larder_zstd_set.self),
                let pack = CodingLibrary.find("ZSTD_compressStream2", larder_zstd_pack.self),
                let freePacker = CodingLibrary.find("ZSTD_freeCCtx", larder_zstd_free.self),
                let packWhole = CodingLibrary.find("ZSTD_compressCCtx", larder_zstd_pack_whole.self),
                let unpackWhole = CodingLibrary.find("ZSTD_decompressDCtx", larder_zstd_unpack_whole.self),
                let bound = CodingLibrary.find("ZSTD_compressBound", larder_zstd_bound.self)
            else { return nil }
            (self.create, self.set, self.run, self.isError, self.free) = (create, set, run, isError, free)
            (self.createPacker, self.setPacker) = (createPacker, setPacker)
            (self.pack, self.freePacker) = (pack, freePacker)
            (self.packWhole, self.unpackWhole, self.bound) = (packWhole, unpackWhole, bound)
        }
    }

    /// Functions of liblzma. No other library loads it: it is used if it is installed.
    struct XZ: Sendable {
        let start: larder_xz_start
        let run: larder_xz_run
        let end: larder_xz_end

        init?() {
            guard let library = dlopen("liblzma.so.5", RTLD_NOW),
                let start = dlsym(library, "lzma_stream_decoder"), let run = dlsym(library, "lzma_code"),
                let end = dlsym(library, "lzma_end")
            else { return nil }
            self.start = unsafeBitCast(start, to: larder_xz_start.self)
            self.run = unsafeBitCast(run, to: larder_xz_run.self)
            self.end = unsafeBitCast(end, to: larder_xz_end.self)
        }
    }

    /// Returns a function of a loaded library. Loads zlib and zstd if necessary, since a program without
    /// libcurl may not have loaded them.
    ///
    /// The caller must pass the type that `shim.h` declares for the name.
    private static func find<Function>(_ name: String, _: Function.Type) -> Function? {
        let library = name.hasPrefix("ZSTD_") ? "libzstd.so.1" : "libz.so.1"
        let found = dlsym(nil, name) ?? dlopen(library, RTLD_NOW).flatMap { dlsym($0, name) }
        return found.map { unsafeBitCast($0, to: Function.self) }
    }
}
