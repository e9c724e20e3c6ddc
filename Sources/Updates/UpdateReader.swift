package import Codings
internal import Digest
internal import Glibc
package import System

/// Reads an update file. The file is outside input: each byte of it is either compared with the only value that is allowed
/// there, or covered by a digest.
///
/// `init` reads everything but the frames. The caller then verifies the signature of `listBytes`, calls `verifyFrames`, and
/// only then decompresses frames by `unpack`. It belongs to one thread.
package final class UpdateReader {
    /// The path as the user named it.
    package let path: String
    /// The bytes that the signature signs.
    package let listBytes: [UInt8]
    package let list: UpdateList
    /// The text of the signature of the list; nil if it is not signed.
    package let signature: String?
    /// The manifest of the later release. Its digest is that of the list.
    package let manifest: [UInt8]
    private let file: File
    /// The offsets of the frames in the file, by the index of the file in the list.
    private let offsets: [Int: Int64]

    /// The maximum size of the text of a signature.
    private static let maxSignatureBytes = MinisignSignature.maxBytes

    /// Whether a file begins like an update file, so that it can only be one.
    package static func isUpdateFile(_ path: String) -> Bool {
        guard let block = try? WholeFile.beginning(of: path, TarHeader.blockBytes) else { return false }
        return UpdateArchive.byteCount(in: block, of: UpdateArchive.listName) != nil
    }

    /// - Throws: `UpdateError` of kind `.refused` for a file that is not complete or exceeds a limit.
    package init(_ path: String) throws(UpdateError) {
        self.path = path
        let opened = try UpdateError.wrapping { () throws(SystemError) in
            try File(path, O_RDONLY | O_NONBLOCK, doing: "read")
        }
        var input = EntryReader(path)
        listBytes = try input.entry(UpdateArchive.listName, atMost: UpdateLimits.maxListBytes, opened)
        var next = try input.block(opened)
        if UpdateArchive.byteCount(in: next, of: UpdateArchive.signatureName) != nil {
            let bytes = try input.entry(
                UpdateArchive.signatureName, atMost: Self.maxSignatureBytes, opened, header: next)
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw UpdateError.damagedFile(path, "its signature is not text")
            }
            signature = text
            next = try input.block(opened)
        } else {
            signature = nil
        }
        let sums = try input.entry(UpdateArchive.sumsName, atMost: 1024, opened, header: next)
        guard sums == UpdateArchive.sums(listBytes, signature: signature) else {
            throw UpdateError.damagedFile(path, "the digests in \(UpdateArchive.sumsName) do not match")
        }
        do throws(UpdateList.Malformation) {
            list = try UpdateList(listBytes)
        } catch {
            throw UpdateError(
                .refused,
                "the update file \(path) is refused: \(error.detail); ask its publisher for another one")
        }
        manifest = try input.entry(UpdateArchive.manifestName, atMost: UpdateLimits.maxListBytes, opened)
        guard UpdateList.Blob(manifest) == list.manifest else {
            throw UpdateError.damagedFile(path, "the digest of \(UpdateArchive.manifestName) does not match")
        }
        var offsets: [Int: Int64] = [:]
        for (index, entry) in list.files.enumerated() {
            guard let frame = entry.frame else { continue }
            let name = UpdateList.frameName(ofFile: index)
            guard try input.block(opened) == UpdateArchive.header(name, frame.byteCount) else {
                throw UpdateError.damagedFile(path, "the header of \(name) does not match")
            }
            offsets[index] = input.offset
            try input.skip(frame.byteCount, opened)
        }
        self.offsets = offsets
        try input.requireEnd(opened)
        try Self.checkExpansion(of: list, path, fileByteCount: input.offset)
        file = opened
    }

    /// Refuses a list whose bodies would fill the disk.
    private static func checkExpansion(
        of list: UpdateList, _ path: String, fileByteCount: Int64
    ) throws(UpdateError) {
        // No sum overflows: at most 500,000 files have at most 4 GiB each.
        let bodies = list.files.reduce(0) { $0 + ($1.body?.byteCount ?? 0) }
        let bases = Set(list.files.compactMap(\.base?.blob)).reduce(0) { $0 + $1.byteCount }
        let maxBytes =
            UpdateLimits.expansionFactor * Int(fileByteCount) + 2 * bases
            + UpdateLimits.expansionAllowanceBytes
        guard bodies > maxBytes else { return }
        throw UpdateError.excessive(
            path, "its files have \(bodies) bytes, and \(maxBytes) are allowed for its size")
    }

    // MARK: Frames

    /// Compares all frames with their digests.
    package func verifyFrames(_ interruption: Interruption) throws(UpdateError) {
        for (index, entry) in list.files.enumerated() {
            guard let frame = entry.frame, let offset = offsets[index] else { continue }
            guard !interruption.isRequested else { throw .interrupted }
            var sha256 = DigestStream(.sha256)
            var pieces = FramePieces(offset, frame.byteCount)
            while let piece = try pieces.next(file) { sha256.update(piece.span) }
            guard sha256.finish() == frame.sha256 else {
                throw UpdateError.damagedFile(
                    path, "the digest of \(UpdateList.frameName(ofFile: index)) does not match")
            }
        }
    }

    /// Decompresses the frame of a file, compares the result with the digest of the body, and writes it to a new file.
    ///
    /// - Parameters:
    ///   - index: the index of a file with a frame in the list.
    ///   - base: the verified bytes of the file's base; nil if it has none.
    ///   - target: the path of the new file. It may be left incomplete if this throws.
    package func unpack(_ index: Int, base: FrameBase?, to target: String) throws(UpdateError) {
        let entry = list.files[index]
        guard let body = entry.body, let frame = entry.frame, let offset = offsets[index] else {
            preconditionFailure("the file has no frame")
        }
        let output = try UpdateError.wrapping { () throws(SystemError) in
            try File(target, O_WRONLY | O_CREAT | O_EXCL, doing: "write")
        }
        var sha256 = DigestStream(.sha256)
        var byteCount = 0
        var pieces = FramePieces(offset, frame.byteCount)
        let outcome = try PatchFrame.decompress(
            base: base, maxWindowLog: UpdateList.maxWindowLog, maxBytes: body.byteCount
        ) { () throws(UpdateError) in
            try pieces.next(file)
        } _: { (piece) throws(UpdateError) in
            sha256.update(Span(_unsafeBytes: piece))
            byteCount += piece.count
            do throws(SystemError) { try output.write(piece) } catch { throw UpdateError(error) }
        }
        let name = UpdateList.frameName(ofFile: index)
        switch outcome {
        case nil:
            throw UpdateError(
                .machine, "cannot read the update file \(path): libzstd is missing; install libzstd1")
        case .invalid: throw UpdateError.damagedFile(path, "\(name) is not a frame for its base")
        case .incomplete: throw UpdateError.damagedFile(path, "\(name) has another length than its frame")
        case .tooLarge: throw UpdateError.excessive(path, "\(name) contains more bytes than it announces")
        case .complete: break
        }
        guard byteCount == body.byteCount, sha256.finish() == body.sha256 else {
            throw UpdateError.damagedFile(path, "\(entry.url) does not have the digest that it announces")
        }
        do throws(SystemError) { try output.close() } catch { throw UpdateError(error) }
    }
}

/// The position in an update file, and the checks of the parts that are the same in all of them.
private struct EntryReader {
    private let path: String
    private(set) var offset: Int64 = 0

    init(_ path: String) {
        self.path = path
    }

    /// Reads bytes that must exist.
    private mutating func bytes(_ count: Int, _ file: borrowing File) throws(UpdateError) -> [UInt8] {
        // The size is checked first, so that a wrong one cannot allocate more than the file has.
        guard let size = file.byteCount, Int64(size) - offset >= Int64(count) else {
            throw UpdateError.damagedFile(path, "it is truncated")
        }
        let start = offset
        let bytes: [UInt8]
        do throws(SystemError) { bytes = try file.read(from: start, byteCount: count) } catch {
            throw UpdateError(error)
        }
        guard bytes.count == count else { throw UpdateError.damagedFile(path, "it is truncated") }
        offset += Int64(count)
        return bytes
    }

    /// Reads a block, such as a header.
    mutating func block(_ file: borrowing File) throws(UpdateError) -> [UInt8] {
        try bytes(TarHeader.blockBytes, file)
    }

    /// Reads the next entry, which must have this name.
    ///
    /// - Parameter header: its header, if that was read already.
    mutating func entry(
        _ name: String, atMost limit: Int, _ file: borrowing File, header: [UInt8]? = nil
    ) throws(UpdateError) -> [UInt8] {
        let header = if let header { header } else { try block(file) }
        guard let count = UpdateArchive.byteCount(in: header, of: name) else {
            throw UpdateError.damagedFile(path, "it does not contain \(name) in its place")
        }
        guard count <= limit else {
            throw UpdateError.excessive(path, "\(name) has \(count) bytes, and \(limit) are allowed")
        }
        let content = try bytes(count, file)
        try requirePadding(after: count, file)
        return content
    }

    mutating func skip(_ count: Int, _ file: borrowing File) throws(UpdateError) {
        guard let size = file.byteCount, Int64(size) - offset >= Int64(count) else {
            throw UpdateError.damagedFile(path, "it is truncated")
        }
        offset += Int64(count)
        try requirePadding(after: count, file)
    }

    private mutating func requirePadding(after count: Int, _ file: borrowing File) throws(UpdateError) {
        let padding = TarHeader.padding(after: count)
        guard padding > 0 else { return }
        guard try bytes(padding, file).allSatisfy({ $0 == 0 }) else {
            throw UpdateError.damagedFile(path, "it has bytes between its entries")
        }
    }

    mutating func requireEnd(_ file: borrowing File) throws(UpdateError) {
        guard try bytes(UpdateArchive.endBytes, file).allSatisfy({ $0 == 0 }), file.byteCount == Int(offset)
        else {
            throw UpdateError.damagedFile(path, "it has further bytes at its end")
        }
    }
}

/// The pieces of a frame in the file.
private struct FramePieces {
    private var offset: Int64
    private var remaining: Int

    private static let pieceBytes = 256 * 1024

    init(_ offset: Int64, _ byteCount: Int) {
        (self.offset, remaining) = (offset, byteCount)
    }

    /// Returns the next piece; nil at the end.
    mutating func next(_ file: borrowing File) throws(UpdateError) -> [UInt8]? {
        guard remaining > 0 else { return nil }
        let (start, count) = (offset, min(remaining, Self.pieceBytes))
        let piece: [UInt8]
        do throws(SystemError) { piece = try file.read(from: start, byteCount: count) } catch {
            throw UpdateError(error)
        }
        // The file was truncated after it was opened.
        guard !piece.isEmpty else {
            throw UpdateError(.refused, "the update file was changed while it was read; try again")
        }
        offset += Int64(piece.count)
        remaining -= piece.count
        return piece
    }
}
