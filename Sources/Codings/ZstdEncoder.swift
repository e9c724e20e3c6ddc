internal import CCodings

/// Compresses bytes into zstd frames with a content checksum (RFC 8878). It belongs to one thread.
package final class ZstdEncoder {
    private let zstd: CodingLibrary.Zstd
    private let context: UnsafeMutableRawPointer
    private let piece: UnsafeMutableRawBufferPointer

    private static let pieceBytes = 128 * 1024
    // ZSTD_c_compressionLevel, ZSTD_c_checksumFlag, ZSTD_e_continue and ZSTD_e_end.
    private static let compressionLevel: Int32 = 100
    private static let checksumFlag: Int32 = 201
    private static let proceed: Int32 = 0
    private static let end: Int32 = 2

    /// Returns nil if libzstd is not available or there is not enough memory.
    ///
    /// - Parameter level: the compression level of zstd.
    package init?(level: Int32) {
        guard let zstd = CodingLibrary.zstd, let context = zstd.createCCtx() else { return nil }
        (self.zstd, self.context) = (zstd, context)
        _ = zstd.setCParameter(context, Self.compressionLevel, level)
        _ = zstd.setCParameter(context, Self.checksumFlag, 1)
        piece = .allocate(byteCount: Self.pieceBytes, alignment: 16)
    }

    deinit {
        _ = zstd.freeCCtx(context)
        piece.deallocate()
    }

    /// Compresses bytes into the current frame, or begins one. Calls `give` with the output, whose bytes are
    /// valid only during the call.
    package func compress<Failure: Error>(
        _ bytes: UnsafeRawBufferPointer, _ give: (UnsafeRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        try run(bytes, Self.proceed, give)
    }

    /// Ends the frame. Further bytes begin another one.
    package func finish<Failure: Error>(
        _ give: (UnsafeRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        try run(UnsafeRawBufferPointer(start: nil, count: 0), Self.end, give)
    }

    private func run<Failure: Error>(
        _ bytes: UnsafeRawBufferPointer, _ directive: Int32,
        _ give: (UnsafeRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        var from = larder_zstd_input(bytes: bytes.baseAddress, size: bytes.count, place: 0)
        while true {
            var to = larder_zstd_output(bytes: piece.baseAddress, size: piece.count, place: 0)
            // Returns the number of bytes that zstd still has to write.
            let pending = zstd.compressStream(context, &to, &from, directive)
            // The parameters are valid and the context has its memory, so zstd has no reason to fail.
            precondition(zstd.isError(pending) == 0, "zstd stopped packing")
            if to.place > 0 { try give(UnsafeRawBufferPointer(rebasing: piece[..<to.place])) }
            if directive == Self.end ? pending == 0 : from.place == from.size { return }
        }
    }
}
