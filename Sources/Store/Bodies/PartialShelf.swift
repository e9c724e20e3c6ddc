internal import Digest
internal import Glibc
internal import System

/// The beginnings of bodies whose transfers broke off, to be gone on with, by this run or a later one. It
/// belongs to one thread, and its site's lock keeps other runs from the same URLs.
///
/// Each is a file with another one beside it that says of what it is. Nothing but time is lost when they are.
package struct PartialShelf {
    private let folder: String
    /// The names of what may be there, so that most URLs need no look at the disk.
    private var names: Set<String>

    private static let headEnding = ".head"
    /// Older ones are thrown away.
    private static let secondsToLive: Int64 = 7 * 24 * 60 * 60

    package init(_ folder: StoreFolder) throws(StoreError) {
        self.folder = folder.partials
        let now = SystemClock.secondsSinceEpoch()
        var names: Set<String> = []
        for name in folder.partialNames where name.hasSuffix(Self.headEnding) {
            let body = String(name.dropLast(Self.headEnding.utf8.count))
            var status = stat()
            if stat(folder.partials + "/" + body, &status) == 0,
                now - Int64(status.st_mtim.tv_sec) < Self.secondsToLive
            {
                names.insert(body)
            }
        }
        for name in folder.partialNames
        where !names.contains(name) && !name.hasSuffix(Self.headEnding)
            || name.hasSuffix(Self.headEnding)
                && !names.contains(String(name.dropLast(Self.headEnding.utf8.count)))
        {
            unlink(folder.partials + "/" + name)
        }
        self.names = names
    }

    /// Takes the file over.
    package mutating func keep(_ part: HeldPart) throws(StoreError) {
        if names.isEmpty { try StoreFolder.makeFolders(folder) }
        let name = Self.name(of: part.href)
        let path = folder + "/" + name
        guard rename(part.path, path) == 0 else {
            throw StoreError(errno, doing: "move a part of a body to", path: path)
        }
        let head = try BodyFiles.write(Array("\(part.href)\n\(part.fields)".utf8), in: folder)
        guard rename(head, path + Self.headEnding) == 0 else {
            throw StoreError(errno, doing: "move the head of a part to", path: path)
        }
        names.insert(name)
    }

    /// What is there of an URL's body; the file is the caller's from here on.
    package mutating func take(_ href: String) -> HeldPart? {
        guard !names.isEmpty, names.remove(Self.name(of: href)) != nil else { return nil }
        let path = folder + "/" + Self.name(of: href)
        defer { unlink(path + Self.headEnding) }
        var status = stat()
        guard let text = try? BodyContent.file(path: path + Self.headEnding).load(), stat(path, &status) == 0,
            let end = text.firstIndex(of: UInt8(ascii: "\n")),
            String(decoding: text[..<end], as: UTF8.self) == href
        else { return nil }
        return HeldPart(
            href: href, path: path, byteCount: Int(clamping: status.st_size),
            fields: String(decoding: text[(end + 1)...], as: UTF8.self))
    }

    private static func name(of href: String) -> String {
        DigestStream.digest(.sha256, of: href.utf8.span).hex
    }
}

/// The beginning of a body, in a file, and the header block that it came with.
package struct HeldPart: Sendable, Equatable {
    package let href: String
    package let path: String
    package let byteCount: Int
    package let fields: String

    package init(href: String, path: String, byteCount: Int, fields: String) {
        self.href = href
        self.path = path
        self.byteCount = byteCount
        self.fields = fields
    }
}
