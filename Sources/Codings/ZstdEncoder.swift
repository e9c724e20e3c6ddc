internal import CCodings

/// Compresses bytes into zstd frames with a content checksum (RFC 8878). It belongs to one thread.
package final class ZstdEncoder {
    private let zstd: CodingLibrary.Zstd
    private let context: UnsafeMutableRawPointer
    private let piece: UnsafeMutableRawBufferPointer

    private static let pieceSize = 128 * 1024
    private static let level: Int32 = 100
    private static let hasChecksum: Int32 = 201
    private static let goOn: Int32 = 0
    private static let end: Int32 = 2

    /// Returns nil if libzstd is not available or there is not enough memory.
    ///
    /// - Parameter level: the compression level of zstd.
    package init?(level: Int32) {
        guard let zstd = CodingLibrary.zstd, let context = zstd.createPacker() else { return nil }
        (self.zstd, self.context) = (zstd, context)
        _ = zstd.setPacker(context, Self.level, level)
        _ = zstd.setPacker(context, Self.hasChecksum, 1)
        piece = .allocate(byteCount: Self.pieceSize, alignment: 16)
    }

    deinit {
        _ = zstd.freePacker(context)
        piece.deallocate()
    }

    /// Compresses bytes into the current frame, or begins one. Calls `give` with the output, whose bytes are
    /// valid only during the call.
    package func take<Failure: Error>(
        _ bytes: UnsafeRawBufferPointer, _ give: (UnsafeRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        try run(bytes, Self.goOn, give)
    }

    /// Ends the frame. Further bytes begin another one.
    package func finish<Failure: Error>(
        _ give: (UnsafeRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        try run(UnsafeRawBufferPointer(start: nil, count: 0), Self.end, give)
    }

    private func run<Failure: Error>(
        _ bytes: UnsafeRawBufferPointer, _ end: Int32,
        _ give: (UnsafeRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        var from = larder_zstd_input(bytes: bytes.baseAddress, size: bytes.count, place: 0)
        while true {
            var to = larder_zstd_output(bytes: piece.baseAddress, size: piece.count, place: 0)
            let left = zstd.pack(context, &to, &from, end)
            // The parameters are valid and the context has its memory, so zstd has no reason to fail.
            precondition(zstd.isError(left) == 0, "zstd stopped packing")
            if to.place > 0 { try give(UnsafeRawBufferPointer(rebasing: piece[..<to.place])) }
            if end == Self.end ? left == 0 : from.place == from.size { return }
        }
    }
}
