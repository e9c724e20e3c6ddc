internal import CCodings

/// The bytes of a file that a frame refers to. They are stored once, and not copied by the encoder and decoder.
/// It belongs to one thread.
package final class FrameBase {
    fileprivate let bytes: UnsafeMutableRawBufferPointer
    private var byteCount = 0

    /// - Precondition: the size is at most `PatchFrame.maxBaseBytes`.
    package init(byteCount: Int) {
        precondition((0...PatchFrame.maxBaseBytes).contains(byteCount), "the base of a frame is too large")
        bytes = .allocate(byteCount: byteCount, alignment: 16)
        bytes.initializeMemory(as: UInt8.self, repeating: 0)
    }

    deinit { bytes.deallocate() }

    /// Adds the next piece of the file. Bytes beyond the size are left out.
    package func append(_ piece: Span<UInt8>) {
        piece.withUnsafeBytes { piece in
            let count = min(piece.count, bytes.count - byteCount)
            guard count > 0 else { return }
            bytes[byteCount...].copyBytes(from: piece[..<count])
            byteCount += count
        }
    }

    /// Whether as many bytes were added as the file has.
    package var isFull: Bool { byteCount == bytes.count }
}

/// A zstd frame (RFC 8878) that contains a file as its differences from another one, the base: what
/// `zstd --patch-from BASE` writes and reads. Without a base, it is a frame like any other.
///
/// A match in the base may be as far away as the base and the file are large. Both have a size limit, so that neither the
/// encoder nor the decoder needs more than a few times that much memory.
package enum PatchFrame {
    /// The binary logarithm of the maximum window, which is the default limit of the `zstd` command. Frames with a larger one
    /// are rejected before memory is allocated for it.
    package static let maxWindowLog = 27
    /// The maximum size of a base, and of a file with a base: the maximum window.
    package static let maxBaseBytes = 1 << maxWindowLog

    /// Whether libzstd is available, and has the functions for bases.
    package static var isAvailable: Bool { CodingLibrary.zstd != nil && prefixes != nil }

    /// The functions of libzstd that set the base of the next frame.
    private struct Prefixes: Sendable {
        let ofCCtx: larder_zstd_prefix
        let ofDCtx: larder_zstd_prefix
    }

    private static let prefixes: Prefixes? = {
        guard let ofCCtx = CodingLibrary.find("ZSTD_CCtx_refPrefix", larder_zstd_prefix.self),
            let ofDCtx = CodingLibrary.find("ZSTD_DCtx_refPrefix", larder_zstd_prefix.self)
        else { return nil }
        return Prefixes(ofCCtx: ofCCtx, ofDCtx: ofDCtx)
    }()

    private static let pieceBytes = 128 * 1024

    // MARK: Compressing

    /// Compresses a file that is in memory, and passes the frame to `give` in pieces, whose bytes are valid only during the
    /// call. The same bytes give the same frame with the same libzstd. Returns false if libzstd is not available or memory has
    /// run out.
    ///
    /// - Precondition: the file is at most `maxBaseBytes` long.
    package static func compress<Failure: Error>(
        _ file: FrameBase, base: FrameBase?,
        _ give: (UnsafeRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) -> Bool {
        guard let zstd = CodingLibrary.zstd, let prefixes, let context = zstd.createCCtx() else {
            return false
        }
        defer { _ = zstd.freeCCtx(context) }
        let baseCount = base?.bytes.count ?? 0
        let parameters = Parameters(byteCount: max(file.bytes.count, baseCount), hasBase: baseCount > 0)
        for (parameter, value) in parameters.list {
            guard zstd.isError(zstd.setCParameter(context, parameter, value)) == 0 else { return false }
        }
        if let base, baseCount > 0 {
            guard zstd.isError(prefixes.ofCCtx(context, base.bytes.baseAddress, baseCount)) == 0 else {
                return false
            }
        }
        let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceBytes, alignment: 16)
        defer { piece.deallocate() }
        var from = larder_zstd_input(bytes: file.bytes.baseAddress, size: file.bytes.count, place: 0)
        while true {
            var to = larder_zstd_output(bytes: piece.baseAddress, size: piece.count, place: 0)
            let pending = zstd.compressStream(context, &to, &from, end)
            // It allocates the memory for the parameters at the first call.
            guard zstd.isError(pending) == 0 else { return false }
            if to.place > 0 { try give(UnsafeRawBufferPointer(rebasing: piece[..<to.place])) }
            if pending == 0 { return true }
        }
    }

    /// The parameters of the encoder for files of a size.
    private struct Parameters {
        let list: [(Int32, Int32)]

        init(byteCount: Int, hasBase: Bool) {
            // A second a megabyte is acceptable for the files of most builds. For large files, the high levels would also
            // need a gigabyte of memory.
            let level: Int32 = byteCount <= 8 << 20 ? 19 : byteCount <= 32 << 20 ? 12 : 6
            var list: [(Int32, Int32)] = [(PatchFrame.compressionLevel, level)]
            if hasBase {
                let bits = Int.bitWidth - max(byteCount, 1).leadingZeroBitCount
                list.append((PatchFrame.windowLog, Int32(min(max(bits, 10), PatchFrame.maxWindowLog))))
                // The tables of the level reach back some megabytes. Farther matches need the table of this mode.
                if byteCount > 4 << 20 { list.append((PatchFrame.longDistanceMatching, 1)) }
            }
            self.list = list
        }
    }

    // MARK: Decompressing

    /// The result of decompressing a frame.
    package enum Outcome: Sendable, Equatable {
        case complete
        /// The bytes are not a frame with this base, or the frame needs a larger window.
        case invalid
        /// The frame is cut off, or bytes follow it.
        case incomplete
        /// The frame contains more bytes than allowed. At most a piece more than these have been passed on.
        case tooLarge
    }

    /// Decompresses a frame in pieces.
    ///
    /// - Parameters:
    ///   - maxWindowLog: a frame with a larger window is invalid.
    ///   - maxBytes: the maximum size of the file.
    ///   - next: returns the next piece of the frame; nil at its end.
    ///   - give: receives the pieces of the file, whose bytes are valid only during the call.
    /// - Returns: the outcome; nil if libzstd is not available.
    package static func decompress<Failure: Error>(
        base: FrameBase?, maxWindowLog: Int, maxBytes: Int, _ next: () throws(Failure) -> [UInt8]?,
        _ give: (UnsafeRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) -> Outcome? {
        guard let zstd = CodingLibrary.zstd, let prefixes, let context = zstd.createDStream() else {
            return nil
        }
        defer { _ = zstd.freeDStream(context) }
        let window = Int32(min(max(maxWindowLog, 10), Self.maxWindowLog))
        guard zstd.isError(zstd.setDParameter(context, windowLogMax, window)) == 0 else { return .invalid }
        if let base, base.bytes.count > 0 {
            guard zstd.isError(prefixes.ofDCtx(context, base.bytes.baseAddress, base.bytes.count)) == 0 else {
                return .invalid
            }
        }
        let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceBytes, alignment: 16)
        defer { piece.deallocate() }
        var byteCount = 0
        var isComplete = false
        while let input = try next() {
            var place = 0
            while true {
                guard !isComplete else {
                    if place < input.count { return .incomplete }
                    break
                }
                var to = larder_zstd_output(bytes: piece.baseAddress, size: piece.count, place: 0)
                let start = place
                let hint = input.withUnsafeBytes { input in
                    var from = larder_zstd_input(bytes: input.baseAddress, size: input.count, place: start)
                    defer { place = from.place }
                    return zstd.decompressStream(context, &to, &from)
                }
                guard zstd.isError(hint) == 0 else { return .invalid }
                byteCount += to.place
                guard byteCount <= maxBytes else { return .tooLarge }
                if to.place > 0 { try give(UnsafeRawBufferPointer(rebasing: piece[..<to.place])) }
                isComplete = hint == 0
                // More output may follow if the buffer is full.
                if !isComplete, place == input.count, to.place < piece.count { break }
                // No progress is possible only for a frame that libzstd should have rejected.
                if !isComplete, place == start, to.place == 0 { return .invalid }
            }
        }
        return isComplete ? .complete : .incomplete
    }

    // ZSTD_c_compressionLevel, ZSTD_c_windowLog, ZSTD_c_enableLongDistanceMatching, ZSTD_d_windowLogMax and ZSTD_e_end.
    private static let compressionLevel: Int32 = 100
    private static let windowLog: Int32 = 101
    private static let longDistanceMatching: Int32 = 160
    private static let windowLogMax: Int32 = 100
    private static let end: Int32 = 2
}
