internal import Digest
internal import Glibc
internal import System
internal import Web

/// The beginnings of bodies whose transfers broke off, to be gone on with, by this run or a later one. It
/// belongs to one thread, and its site's lock keeps other runs from the same URLs.
///
/// Each is a file with another one beside it that says of what it is. Nothing but time is lost when they are.
package struct PartialShelf {
    private let folder: String
    private let incoming: String
    /// The names of what may be there, so that most URLs need no look at the disk.
    private var names: Set<String>

    /// Older ones are thrown away.
    private static let secondsToLive: Int64 = 7 * 24 * 60 * 60

    package init(_ folder: StoreFolder) throws(StoreError) {
        self.folder = folder.partials
        incoming = folder.incoming
        let now = SystemClock.secondsSinceEpoch()
        var names: Set<String> = []
        for name in folder.partialNames where name.hasSuffix(PartHead.ending) {
            let body = String(name.dropLast(PartHead.ending.utf8.count))
            var status = stat()
            if stat(folder.partials + "/" + body, &status) == 0,
                now - Int64(status.st_mtim.tv_sec) < Self.secondsToLive
            {
                names.insert(body)
            }
        }
        for name in folder.partialNames
        where !names.contains(name) && !name.hasSuffix(PartHead.ending)
            || name.hasSuffix(PartHead.ending)
                && !names.contains(String(name.dropLast(PartHead.ending.utf8.count)))
        {
            unlink(folder.partials + "/" + name)
        }
        self.names = names
    }

    /// Takes over what runs that were killed left in `incoming`. Whoever calls this is the only one at work there.
    static func adopt(in folder: StoreFolder) {
        for name in StoreFolder.names(in: folder.incoming) where name.hasSuffix(PartHead.ending) {
            let path = folder.incoming + "/" + name.dropLast(PartHead.ending.utf8.count)
            guard let text = try? BodyContent.file(path: path + PartHead.ending).load(),
                let head = PartHead(text: String(decoding: text, as: UTF8.self)),
                head.boot == SystemClock.boot, var shelf = try? PartialShelf(folder)
            else { continue }
            // What cannot be kept is loaded once more.
            try? shelf.keep(HeldPart(href: head.href, path: path, byteCount: 0, fields: head.fields))
        }
    }

    /// Takes the file over.
    package mutating func keep(_ part: HeldPart) throws(StoreError) {
        if names.isEmpty { try StoreFolder.makeFolders(folder) }
        let name = Self.name(of: part.href)
        let path = folder + "/" + name
        guard rename(part.path, path) == 0 else {
            throw StoreError(errno, doing: "move a partial download to", path: path)
        }
        let head = try BodyFiles.write(Array("\(part.href)\n\(part.fields)".utf8), in: folder)
        guard rename(head, path + PartHead.ending) == 0 else {
            throw StoreError(errno, doing: "move the headers of a partial download to", path: path)
        }
        names.insert(name)
    }

    /// What is there of an URL's body; the file is the caller's from here on.
    package mutating func take(_ href: String) -> HeldPart? {
        guard !names.isEmpty, names.remove(Self.name(of: href)) != nil else { return nil }
        let path = folder + "/" + Self.name(of: href)
        let taken = incoming + "/fetch-" + Self.name(of: href)
        defer { unlink(path + PartHead.ending) }
        var status = stat()
        guard let text = try? BodyContent.file(path: path + PartHead.ending).load(),
            let end = text.firstIndex(of: UInt8(ascii: "\n")),
            String(decoding: text[..<end], as: UTF8.self) == href,
            // Where all bodies on their way are.
            rename(path, taken) == 0, stat(taken, &status) == 0
        else { return nil }
        return HeldPart(
            href: href, path: taken, byteCount: Int(clamping: status.st_size),
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
