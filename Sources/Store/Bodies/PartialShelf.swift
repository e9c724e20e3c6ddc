package import Database
internal import Digest
internal import Glibc
internal import System
internal import Web

/// The beginnings of bodies whose transfers broke off. This run or a later one can resume them.
///
/// It belongs to one thread; the lock of its site keeps other runs from the same URLs. Each beginning is a
/// file, with a second file beside it that has the URL and the headers. If they are lost, the transfer starts
/// from the beginning.
package struct PartialShelf {
    private let folder: String
    private let incoming: String
    /// The names of the files that may exist, so that most URLs need no access to the disk.
    private var names: Set<String>

    /// Older beginnings are removed when a shelf is opened.
    private static let secondsToLive: Int64 = 7 * 24 * 60 * 60

    package init(_ folder: StoreFolder) throws(StoreError) {
        self.folder = folder.partials
        incoming = folder.incoming
        let now = SystemClock.secondsSinceEpoch()
        var names: Set<String> = []
        for name in folder.partialNames where name.hasSuffix(PartialDownloadHead.pathSuffix) {
            let body = String(name.dropLast(PartialDownloadHead.pathSuffix.utf8.count))
            var status = stat()
            if stat(folder.partials + "/" + body, &status) == 0,
                now - Int64(status.st_mtim.tv_sec) < Self.secondsToLive
            {
                names.insert(body)
            }
        }
        for name in folder.partialNames
        where !names.contains(name) && !name.hasSuffix(PartialDownloadHead.pathSuffix)
            || name.hasSuffix(PartialDownloadHead.pathSuffix)
                && !names.contains(String(name.dropLast(PartialDownloadHead.pathSuffix.utf8.count)))
        {
            unlink(folder.partials + "/" + name)
        }
        self.names = names
    }

    /// Adopts the beginnings that killed runs left in `incoming`. The caller must be the only process that
    /// uses that folder.
    static func adopt(in folder: StoreFolder) {
        for name in StoreFolder.names(in: folder.incoming)
        where name.hasSuffix(PartialDownloadHead.pathSuffix) {
            let path = folder.incoming + "/" + name.dropLast(PartialDownloadHead.pathSuffix.utf8.count)
            guard let text = try? BodyContent.file(path: path + PartialDownloadHead.pathSuffix).load(),
                let head = PartialDownloadHead(text: String(decoding: text, as: UTF8.self)),
                head.boot == SystemClock.bootID, var shelf = try? PartialShelf(folder)
            else { continue }
            // If it cannot be moved, the body is loaded from its beginning.
            try? shelf.keep(HeldPart(href: head.href, path: path, byteCount: 0, fields: head.fields))
        }
    }

    /// Moves the file to the shelf, with its URL and headers.
    package mutating func keep(_ part: HeldPart) throws(StoreError) {
        if names.isEmpty { try StoreFolder.makeFolders(folder) }
        let name = Self.name(of: part.href)
        let path = folder + "/" + name
        guard rename(part.path, path) == 0 else {
            throw StoreError(errno, doing: "move a partial download to", path: path)
        }
        let head = try BodyFiles.write(Array("\(part.href)\n\(part.fields)".utf8), in: folder)
        guard rename(head, path + PartialDownloadHead.pathSuffix) == 0 else {
            throw StoreError(errno, doing: "move the headers of a partial download to", path: path)
        }
        names.insert(name)
    }

    /// Takes the beginning of a URL's body from the shelf, or returns nil. The file then belongs to the
    /// caller.
    package mutating func take(_ href: String) -> HeldPart? {
        guard !names.isEmpty, names.remove(Self.name(of: href)) != nil else { return nil }
        let path = folder + "/" + Self.name(of: href)
        let taken = incoming + "/fetch-" + Self.name(of: href)
        defer { unlink(path + PartialDownloadHead.pathSuffix) }
        var status = stat()
        guard let text = try? BodyContent.file(path: path + PartialDownloadHead.pathSuffix).load(),
            let end = text.firstIndex(of: UInt8(ascii: "\n")),
            String(decoding: text[..<end], as: UTF8.self) == href,
            // The file moves to the folder of all bodies that are being fetched.
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

/// The beginning of a body, in a file, and the header block of its response.
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
