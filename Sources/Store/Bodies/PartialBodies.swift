package import Database
internal import Digest
internal import Glibc
internal import System
internal import Web

/// The first parts of bodies whose transfers were interrupted. This run or a later one can resume them with a
/// range request.
///
/// Each part is a file named by the SHA-256 of its URL, with a second file beside it that has the URL and the
/// headers. If one of the two is lost, the transfer starts from the beginning.
///
/// It belongs to one thread; the lock of its site keeps other runs from the same URLs.
package struct PartialBodies {
    private let folder: String
    private let incoming: String
    /// The names of the files that may exist, so that most URLs need no access to the disk.
    private var names: Set<String>

    /// Older parts are removed by `init`.
    private static let maxAgeSeconds: Int64 = 7 * 24 * 60 * 60

    /// Lists the stored parts, and removes old and incomplete ones.
    package init(_ folder: StoreFolder) throws(StoreError) {
        self.folder = folder.partials
        incoming = folder.incoming
        let now = SystemClock.secondsSinceEpoch()
        var names: Set<String> = []
        for name in folder.partialNames where name.hasSuffix(PartialDownloadHead.pathSuffix) {
            let body = String(name.dropLast(PartialDownloadHead.pathSuffix.utf8.count))
            var status = stat()
            if stat(folder.partials + "/" + body, &status) == 0,
                now - Int64(status.st_mtim.tv_sec) < Self.maxAgeSeconds
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

    /// Stores the parts that killed runs left in `incoming`. The caller must be the only process that
    /// uses that folder.
    static func recoverInterrupted(in folder: StoreFolder) {
        for name in StoreFolder.names(in: folder.incoming)
        where name.hasSuffix(PartialDownloadHead.pathSuffix) {
            let path = folder.incoming + "/" + name.dropLast(PartialDownloadHead.pathSuffix.utf8.count)
            guard let text = try? BodyContent.file(path: path + PartialDownloadHead.pathSuffix).load(),
                let head = PartialDownloadHead(text: String(decoding: text, as: UTF8.self)),
                head.boot == SystemClock.bootID, var partials = try? PartialBodies(folder)
            else { continue }
            // If it cannot be moved, the body is loaded from its beginning.
            try? partials.store(
                StoredPartialBody(href: head.href, path: path, byteCount: 0, fields: head.fields))
        }
    }

    /// Moves the file into the folder of parts, and stores its URL and headers beside it.
    package mutating func store(_ part: StoredPartialBody) throws(StoreError) {
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

    /// Removes and returns the part of a URL's body; nil if there is none. The file then belongs to the caller.
    package mutating func remove(_ href: String) -> StoredPartialBody? {
        guard !names.isEmpty, names.remove(Self.name(of: href)) != nil else { return nil }
        let path = folder + "/" + Self.name(of: href)
        let destination = incoming + "/fetch-" + Self.name(of: href)
        defer { unlink(path + PartialDownloadHead.pathSuffix) }
        var status = stat()
        guard let text = try? BodyContent.file(path: path + PartialDownloadHead.pathSuffix).load(),
            let end = text.firstIndex(of: UInt8(ascii: "\n")),
            String(decoding: text[..<end], as: UTF8.self) == href,
            // The file moves to the folder of all bodies that are being fetched.
            rename(path, destination) == 0, stat(destination, &status) == 0
        else { return nil }
        return StoredPartialBody(
            href: href, path: destination, byteCount: Int(clamping: status.st_size),
            fields: String(decoding: text[(end + 1)...], as: UTF8.self))
    }

    private static func name(of href: String) -> String {
        DigestStream.digest(.sha256, of: href.utf8.span).hex
    }
}

/// The first part of a body, in a file, and the header block of its response.
package struct StoredPartialBody: Sendable, Equatable {
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
