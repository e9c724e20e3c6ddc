internal import Digest

/// A tree of files that are written once, and a digest of their bytes, to verify them on the disk.
final class TalliedTree {
    private let tree: any FileTree
    private var tally = TreeTally()

    init(_ tree: any FileTree) { self.tree = tree }

    /// Writes a file.
    ///
    /// - Parameter writeContent: Passes the content in pieces to its argument.
    func add(
        _ name: String,
        _ writeContent: ((UnsafeRawBufferPointer) throws(ArchiveError) -> Void) throws(ArchiveError) -> Void
    ) throws(ArchiveError) {
        try tree.begin(name)
        var digest = DigestStream(.sha256)
        try writeContent { (bytes) throws(ArchiveError) in
            digest.update(Span(_unsafeElements: bytes.assumingMemoryBound(to: UInt8.self)))
            try tree.write(bytes)
        }
        try tree.end()
        tally.add(name, digest.finish())
    }

    func finish() throws(ArchiveError) -> [ArchiveFile] { try tree.finish() }

    /// Whether the files on the disk are those that were written.
    func verify() throws(ArchiveError) -> Bool {
        var readTally = TreeTally()
        try tree.eachFile { readTally.add($0, $1) }
        return readTally == tally
    }
}

/// A digest of the names and contents of files: their number and the sum of their digests. It does not depend on the
/// order of the files.
private struct TreeTally: Equatable {
    private var count = 0
    private var sum: UInt64 = 0

    mutating func add(_ name: String, _ content: Digest) {
        count += 1
        let digest = DigestStream.digest(.sha256, of: Array("\(name)\n\(content.hex)".utf8).span)
        sum = sum &+ digest.bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }
}
