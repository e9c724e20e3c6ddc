internal import CCodings

/// Compresses bytes into deflate streams, one after the other. Reuses its memory. It belongs to one thread.
package final class Deflater {
    /// The format of the output.
    package enum Format: Sendable {
        /// A gzip member (RFC 1952) without name and time, so that the same input gives the same output.
        case gzip
        /// A raw deflate stream (RFC 1951), as in zip files.
        case raw
    }

    private let zlib: CodingLibrary.Zlib
    /// Allocated, since zlib requires that the stream keeps its address.
    private let stream: UnsafeMutablePointer<larder_zlib_stream>
    private let piece: UnsafeMutableRawBufferPointer

    private static let pieceBytes = 64 * 1024
    // Constants of zlib.h: Z_DEFLATED, Z_NO_FLUSH, Z_FINISH, Z_OK, Z_STREAM_END and Z_BUF_ERROR.
    private static let deflateMethod: Int32 = 8
    private static let noFlush: Int32 = 0
    private static let finishFlush: Int32 = 4
    private static let ok: Int32 = 0
    private static let streamEnd: Int32 = 1
    private static let bufferError: Int32 = -5

    /// Returns nil if zlib is not available or there is not enough memory.
    ///
    /// - Parameter level: from 0 (no compression) to 9 (the slowest).
    package init?(_ format: Format, level: Int32) {
        guard let zlib = CodingLibrary.zlib else { return nil }
        self.zlib = zlib
        stream = .allocate(capacity: 1)
        stream.initialize(to: larder_zlib_stream())
        let size = Int32(MemoryLayout<larder_zlib_stream>.size)
        let windowBits: Int32 = format == .gzip ? 15 + 16 : -15
        guard zlib.deflateInit(stream, level, Self.deflateMethod, windowBits, 8, 0, "1", size) == Self.ok
        else {
            stream.deallocate()
            return nil
        }
        piece = .allocate(byteCount: Self.pieceBytes, alignment: 16)
    }

    deinit {
        _ = zlib.deflateEnd(stream)
        stream.deallocate()
        piece.deallocate()
    }

    /// Compresses bytes into the current stream, or begins one. Passes the output to `write` in pieces, whose bytes
    /// are valid only during the call.
    package func compress<Failure: Error>(
        _ bytes: UnsafeRawBufferPointer, _ write: (UnsafeRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        var rest = bytes
        while !rest.isEmpty {
            let count = min(rest.count, 1 << 30)
            try run(UnsafeRawBufferPointer(rebasing: rest[..<count]), Self.noFlush, write)
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
    }

    /// Ends the stream. Further bytes begin another one.
    package func finish<Failure: Error>(
        _ write: (UnsafeRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        try run(UnsafeRawBufferPointer(start: nil, count: 0), Self.finishFlush, write)
        _ = zlib.deflateReset(stream)
    }

    /// Passes the bytes to zlib until it has taken them all and written its output.
    ///
    /// - Parameter flush: `noFlush`, or `finishFlush` to end the stream.
    private func run<Failure: Error>(
        _ bytes: UnsafeRawBufferPointer, _ flush: Int32,
        _ write: (UnsafeRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        stream.pointee.next_in = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        stream.pointee.avail_in = UInt32(bytes.count)
        while true {
            stream.pointee.next_out = piece.baseAddress?.assumingMemoryBound(to: UInt8.self)
            stream.pointee.avail_out = UInt32(piece.count)
            let code = zlib.deflate(stream, flush)
            // The stream is initialized and has its memory, so zlib has no reason to fail. Z_BUF_ERROR only means
            // that there was nothing to do.
            precondition(
                code == Self.ok || code == Self.streamEnd || code == Self.bufferError,
                "zlib stopped deflating")
            let produced = piece.count - Int(stream.pointee.avail_out)
            if produced > 0 { try write(UnsafeRawBufferPointer(rebasing: piece[..<produced])) }
            if code == Self.streamEnd || produced < piece.count { return }
        }
    }
}

/// A CRC-32 checksum, as used by gzip and zip, updated piece by piece. It stays 0 if zlib is not available.
package struct Checksum: Sendable {
    package private(set) var value: UInt32 = 0

    package init() {}

    /// Adds bytes to the checksum.
    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        guard let zlib = CodingLibrary.zlib else { return }
        var sum = UInt(value)
        var rest = bytes
        while let start = rest.baseAddress, !rest.isEmpty {
            let count = min(rest.count, 1 << 30)
            sum = zlib.crc32(sum, start.assumingMemoryBound(to: UInt8.self), UInt32(count))
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
        value = UInt32(truncatingIfNeeded: sum)
    }
}

/// Compresses inputs that are completely in memory with libdeflate, which is twice as fast as zlib and compresses
/// better. The same input gives the same output. It belongs to one thread.
package final class OneShotDeflater {
    private let library: CodingLibrary.LibDeflate
    private let compressor: UnsafeMutableRawPointer
    private let format: Deflater.Format

    /// Returns nil if libdeflate is not available or there is not enough memory.
    ///
    /// - Parameter level: from 0 (no compression) to 12 (the slowest).
    package init?(_ format: Deflater.Format = .gzip, level: Int32) {
        guard let library = CodingLibrary.libdeflate, let compressor = library.allocCompressor(level) else {
            return nil
        }
        (self.library, self.compressor, self.format) = (library, compressor, format)
    }

    deinit { library.freeCompressor(compressor) }

    /// Compresses the bytes and appends the result, a gzip member or a raw stream, to `output`.
    package func add(_ bytes: [UInt8], to output: inout [UInt8]) {
        let isRaw = format == .raw
        let bound = (isRaw ? library.deflateCompressBound : library.gzipCompressBound)(
            compressor, bytes.count)
        let compress = isRaw ? library.deflateCompress : library.gzipCompress
        output += [UInt8](unsafeUninitializedCapacity: bound) { to, count in
            bytes.withUnsafeBytes { from in
                count = compress(compressor, from.baseAddress, from.count, to.baseAddress, bound)
            }
            // The buffer has the size that libdeflate requires, so it cannot fail.
            precondition(count > 0, "libdeflate stopped")
        }
    }
}
