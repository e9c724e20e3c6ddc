internal import CCodings

/// Compresses bytes into deflate streams, one after the other. Reuses its memory. It belongs to one thread.
package final class Deflater {
    /// The format of the output.
    package enum Form: Sendable {
        /// A gzip member (RFC 1952) without name and time, so that the same input gives the same output.
        case gzip
        /// A raw deflate stream (RFC 1951), as in zip files.
        case bare
    }

    private let zlib: CodingLibrary.Zlib
    /// Allocated, since zlib requires that the stream keeps its address.
    private let stream: UnsafeMutablePointer<larder_zlib_stream>
    private let piece: UnsafeMutableRawBufferPointer
    private var hasBegun = false

    private static let pieceSize = 64 * 1024
    private static let deflated: Int32 = 8
    private static let noFlush: Int32 = 0
    private static let finish: Int32 = 4
    private static let ok: Int32 = 0
    private static let end: Int32 = 1

    /// Returns nil if zlib is not available or there is not enough memory.
    ///
    /// - Parameter level: from 0 (no compression) to 9 (the slowest).
    package init?(_ form: Form, level: Int32) {
        guard let zlib = CodingLibrary.zlib else { return nil }
        self.zlib = zlib
        stream = .allocate(capacity: 1)
        stream.initialize(to: larder_zlib_stream())
        let size = Int32(MemoryLayout<larder_zlib_stream>.size)
        let windowBits: Int32 = form == .gzip ? 15 + 16 : -15
        guard zlib.startDeflating(stream, level, Self.deflated, windowBits, 8, 0, "1", size) == Self.ok else {
            stream.deallocate()
            return nil
        }
        piece = .allocate(byteCount: Self.pieceSize, alignment: 16)
    }

    deinit {
        _ = zlib.endDeflating(stream)
        stream.deallocate()
        piece.deallocate()
    }

    /// Compresses bytes into the current stream, or begins one. Calls `give` with the output, whose bytes are
    /// valid only during the call.
    package func take<Failure: Error>(
        _ bytes: UnsafeRawBufferPointer, _ give: (UnsafeRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        var rest = bytes
        while !rest.isEmpty {
            let count = min(rest.count, 1 << 30)
            try run(UnsafeRawBufferPointer(rebasing: rest[..<count]), Self.noFlush, give)
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
    }

    /// Ends the stream. Further bytes begin another one.
    package func finish<Failure: Error>(
        _ give: (UnsafeRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        try run(UnsafeRawBufferPointer(start: nil, count: 0), Self.finish, give)
        _ = zlib.resetDeflating(stream)
    }

    private func run<Failure: Error>(
        _ bytes: UnsafeRawBufferPointer, _ flush: Int32,
        _ give: (UnsafeRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        stream.pointee.next_in = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        stream.pointee.avail_in = UInt32(bytes.count)
        while true {
            stream.pointee.next_out = piece.baseAddress?.assumingMemoryBound(to: UInt8.self)
            stream.pointee.avail_out = UInt32(piece.count)
            let code = zlib.deflate(stream, flush)
            // The stream is initialized and has its memory, so zlib has no reason to fail; -5 means that
            // there is nothing to do.
            precondition(code == Self.ok || code == Self.end || code == -5, "zlib stopped deflating")
            let made = piece.count - Int(stream.pointee.avail_out)
            if made > 0 { try give(UnsafeRawBufferPointer(rebasing: piece[..<made])) }
            if code == Self.end || made < piece.count { return }
        }
    }
}

/// A CRC-32 checksum, as used by gzip and zip, updated piece by piece. It stays 0 if zlib is not available.
package struct Checksum: Sendable {
    package private(set) var value: UInt32 = 0

    package init() {}

    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        guard let zlib = CodingLibrary.zlib else { return }
        var sum = UInt(value)
        var rest = bytes
        while let start = rest.baseAddress, !rest.isEmpty {
            let count = min(rest.count, 1 << 30)
            sum = zlib.checksum(sum, start.assumingMemoryBound(to: UInt8.self), UInt32(count))
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
        value = UInt32(truncatingIfNeeded: sum)
    }
}

/// Compresses complete inputs with libdeflate, which is twice as fast as zlib and compresses better. The same
/// input gives the same output. It belongs to one thread.
package final class WholeDeflater {
    private let library: CodingLibrary.LibDeflate
    private let compressor: UnsafeMutableRawPointer
    private let form: Deflater.Form

    /// Returns nil if libdeflate is not available or there is not enough memory.
    ///
    /// - Parameter level: from 0 (no compression) to 12 (the slowest).
    package init?(_ form: Deflater.Form = .gzip, level: Int32) {
        guard let library = CodingLibrary.libdeflate, let compressor = library.create(level) else {
            return nil
        }
        (self.library, self.compressor, self.form) = (library, compressor, form)
    }

    deinit { library.free(compressor) }

    /// Compresses the bytes and appends the result, a gzip member or a raw stream, to `made`.
    package func add(_ bytes: [UInt8], to made: inout [UInt8]) {
        let isBare = form == .bare
        let room = (isBare ? library.boundOfBare : library.bound)(compressor, bytes.count)
        let pack = isBare ? library.packBare : library.pack
        made += [UInt8](unsafeUninitializedCapacity: room) { to, count in
            bytes.withUnsafeBytes { from in
                count = pack(compressor, from.baseAddress, from.count, to.baseAddress, room)
            }
            // The buffer has the size that libdeflate requires, so it cannot fail.
            precondition(count > 0, "libdeflate stopped")
        }
    }
}
