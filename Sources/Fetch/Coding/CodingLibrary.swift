internal import CCodings
internal import Glibc

/// What libcurl brings along to undo content codings; nil for what it does not.
enum CodingLibrary {
    static let zlib = Zlib()
    static let brotli = Brotli()
    static let zstd = Zstd()

    struct Zlib: Sendable {
        let start: larder_zlib_init
        let run: larder_zlib_run
        let reset: larder_zlib_step
        let end: larder_zlib_step

        init?() {
            guard let start = CodingLibrary.find("inflateInit2_", larder_zlib_init.self),
                let run = CodingLibrary.find("inflate", larder_zlib_run.self),
                let reset = CodingLibrary.find("inflateReset", larder_zlib_step.self),
                let end = CodingLibrary.find("inflateEnd", larder_zlib_step.self)
            else { return nil }
            (self.start, self.run, self.reset, self.end) = (start, run, reset, end)
        }
    }

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

    struct Zstd: Sendable {
        let create: larder_zstd_create
        let set: larder_zstd_set
        let run: larder_zstd_run
        let isError: larder_zstd_is_error
        let free: larder_zstd_free

        init?() {
            guard let create = CodingLibrary.find("ZSTD_createDStream", larder_zstd_create.self),
                let set = CodingLibrary.find("ZSTD_DCtx_setParameter", larder_zstd_set.self),
                let run = CodingLibrary.find("ZSTD_decompressStream", larder_zstd_run.self),
                let isError = CodingLibrary.find("ZSTD_isError", larder_zstd_is_error.self),
                let free = CodingLibrary.find("ZSTD_freeDStream", larder_zstd_free.self)
            else { return nil }
            (self.create, self.set, self.run, self.isError, self.free) = (create, set, run, isError, free)
        }
    }

    /// The type is the one that `shim.h` gives for the name.
    private static func find<Function>(_ name: String, _: Function.Type) -> Function? {
        dlsym(nil, name).map { unsafeBitCast($0, to: Function.self) }
    }
}
