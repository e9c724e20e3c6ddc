internal import Glibc
internal import Markup
internal import Store
internal import System
internal import Web

/// Reads the files of a ZIM file, which openZIM's `zimdump` unpacks into a temporary folder. No tool reports
/// the original URLs, so the files get URLs of a host that is named after the ZIM file. A reader is used by
/// one thread.
final class ZIMReader: ArchiveReader {
    private let name: String
    private let folder: String
    private let storage: BodyStorage
    private let limits: ArchiveLimits
    /// The origin of all URLs, with a slash at the end: `http://NAME.zim.invalid/`.
    private let origin: String
    /// The time of all responses: the modification time of the ZIM file.
    private let date: Int64
    private var entries: ArraySlice<ZIMListing.Entry>
    /// The last error message of `zimdump`, until it is returned as a fault.
    private var dumpError: String?
    private(set) var start: String?
    private let scanner = LinkScanner()
    /// The URLs of all files by their percent-decoded form.
    private var urlsByDecodedURL: [String: String] = [:]
    /// Other spellings of URLs in links, with the URLs of the files. Programs that write ZIM files escape
    /// URLs differently. Each spelling becomes a redirect.
    private var redirects: [String: String] = [:]

    /// The maximum size of `redirects`. Links with further spellings do not work.
    private static let maxRedirects = 200_000

    /// The maximum size of zimdump's output, which is more than any ZIM file needs. zimdump is stopped beyond it.
    private static let maxOutputBytes = 1 << 30

    init(
        _ path: String, _ storage: BodyStorage, _ limits: ArchiveLimits, _ interruption: Interruption
    ) throws(ArchiveError) {
        (name, self.storage, self.limits) = (path, storage, limits)
        let program = try ZIMWriter.tool("zimdump", writes: false)
        var status = Glibc.stat()
        guard stat(path, &status) == 0 else { throw ArchiveError(SystemError(errno, doing: "read", path)) }
        date = Int64(status.st_mtim.tv_sec)
        // The files are unpacked beside the bodies of the import, on a disk that has space for them.
        let parent: String? = if case .inFiles(let folder) = storage { folder } else { nil }
        let folder = try ArchiveError.wrapping { () throws(SystemError) in
            try Self.makeTemporaryFolder(in: parent)
        }
        self.folder = folder
        origin = Self.origin(of: path)
        (entries, start, dumpError) = ([], nil, nil)
        do throws(ArchiveError) {
            let list = try Self.run(program, ["list", "--details", "--", path], in: folder, interruption)
            guard list.status == 0, let listed = ZIMListing(list.output) else {
                let reason = list.status == 0 ? "it has names that point outside a folder" : list.errorSummary
                throw ArchiveError(.input, "\(path) is not a readable ZIM: \(reason); name another one")
            }
            guard !limits.isExceeded(listed.byteCount, outOf: Int64(status.st_size)),
                Self.hasFreeSpace(listed.byteCount, folder)
            else {
                throw ArchiveError(
                    .input,
                    "\(path) would need \(listed.byteCount) bytes, more than there is space for; "
                        + "set TMPDIR to a folder with more space, or name another one")
            }
            let dump = try Self.run(
                program, ["dump", "--dir=\(folder)/site", "--", path], in: folder, interruption)
            // The files that were extracted are imported all the same.
            if dump.status != 0 { dumpError = dump.errorSummary }
            entries = listed.entries[...]
            let info = try Self.run(program, ["info", "--", path], in: folder, interruption)
            start = Self.mainPage(info.output).flatMap { url(of: $0)?.href }
            for entry in entries {
                if let url = url(of: entry.path) {
                    urlsByDecodedURL[FolderReader.percentDecoded(url)] = url.href
                }
            }
        } catch {
            Folder.remove(folder)
            throw error
        }
    }

    deinit { Folder.remove(folder) }

    private static func makeTemporaryFolder(in parent: String?) throws(SystemError) -> String {
        guard let parent else { return try Folder.makeTemporary(named: "larder-zim") }
        let folder = "\(parent)/zim-\(getpid())-\(UInt32.random(in: 0...UInt32.max))"
        try Folder.make(folder)
        return folder
    }

    private static func hasFreeSpace(_ byteCount: Int, _ folder: String) -> Bool {
        Folder.freeBytes(in: folder).map { Int64(byteCount) < $0 } ?? true
    }

    private static func run(
        _ program: String, _ arguments: [String], in folder: String, _ interruption: Interruption
    ) throws(ArchiveError) -> ExternalProgram.Outcome {
        let outcome = try ArchiveError.wrapping { () throws(SystemError) in
            try ExternalProgram.run(program, arguments, in: folder, outputLimit: maxOutputBytes) {
                interruption.isRequested
            }
        }
        guard let outcome else {
            throw ArchiveError(.interrupted, "interrupted; run the same command again")
        }
        return outcome
    }

    /// Returns the origin for a ZIM file, from the letters and digits of its name.
    private static func origin(of path: String) -> String {
        let file = path.split(separator: "/").last.map(String.init) ?? path
        let stem = file.lowercased().hasSuffix(".zim") ? file.dropLast(4) : file[...]
        let letters = stem.lowercased().map {
            ("a"..."z").contains($0) || ("0"..."9").contains($0) ? $0 : "-"
        }
        let trimmed = String(letters.prefix(60)).split(separator: "-").joined(separator: "-")
        return "http://\(trimmed.isEmpty ? "zim" : trimmed).zim.invalid/"
    }

    /// Returns the path of the main page in the output of `zimdump info`.
    private static func mainPage(_ info: [UInt8]) -> String? {
        let text = String(decoding: info, as: UTF8.self)
        let line = text.split(separator: "\n").first { $0.hasPrefix("main page: ") }
        return line.map { String($0.dropFirst("main page: ".count)) }
    }

    /// Returns the URL of a file. All bytes with a special meaning in URLs are escaped.
    private func url(of path: String) -> WebURL? {
        var escaped = ""
        for byte in path.utf8 {
            let isPlain =
                byte.isASCIIDigit || (0x61...0x7A).contains(byte | 0x20) || "/-._~".utf8.contains(byte)
            escaped += isPlain ? String(UnicodeScalar(byte)) : "%\(Hex.encode([byte]).uppercased())"
        }
        return WebURL(origin + escaped)?.key
    }

    func next() throws(ArchiveError) -> ArchivedItem? {
        guard let entry = entries.popFirst() else {
            if let (href, target) = redirects.popFirst() {
                var redirect = ArchivedResponse(
                    url: href, status: 301, fields: HTTPFields(), body: nil, fetched: date)
                redirect.fields.append("Location", target)
                return .response(redirect)
            }
            defer { dumpError = nil }
            return dumpError.map { .fault(ArchiveFault("zimdump: \($0)", at: name)) }
        }
        let location = "\(name), \(entry.path)"
        guard let url = url(of: entry.path) else {
            return .fault(ArchiveFault("it has no URL", at: location))
        }
        guard entry.byteCount <= limits.maxBodyBytes else {
            return .fault(
                ArchiveFault("it is over \(limits.maxBodyBytes) bytes", url: url.href, at: location))
        }
        let file = "\(folder)/site/\(entry.path)"
        guard WholeFile.exists(file) else {
            if entry.type.isEmpty { return .other }
            return .fault(ArchiveFault("zimdump did not extract it", url: url.href, at: location))
        }
        let spool = BodySpool(storage)
        var failure: ArchiveError?
        try ArchiveError.wrapping { () throws(SystemError) in
            _ = try File(file, O_RDONLY | O_NOFOLLOW, doing: "read").eachPiece { piece in
                do throws(ArchiveError) {
                    try piece.withUnsafeBytes { (bytes) throws(ArchiveError) in try spool.append(bytes) }
                } catch {
                    failure = error
                }
                return failure == nil
            }
        }
        if let failure { throw failure }
        // The body has been copied. Deleting the file now halves the space that the import needs.
        unlink(file)
        var fields = HTTPFields()
        if let type = MediaType(entry.type.isEmpty ? "text/html" : entry.type) {
            fields.append("Content-Type", type.description)
        }
        let body = try spool.finish()
        try addRedirects(forLinksOf: body, url, fields.contentType)
        return .response(
            ArchivedResponse(url: url.href, status: 200, fields: fields, body: body, fetched: date))
    }

    /// Adds redirects from URLs to which the body links to files whose URLs differ from them in percent escapes only.
    private func addRedirects(
        forLinksOf body: ArchivedBody, _ url: WebURL, _ type: MediaType?
    ) throws(ArchiveError) {
        guard let content = body.content, body.byteCount <= BodyReading.maxBytes, !BodyFormat.isOpaque(type)
        else { return }
        let bytes = try ArchiveError.storing { () throws(StoreError) in try content.load() }
        let table = scanner.read(bytes.span, of: url, as: type).table
        let base = table.base.flatMap { WebURL($0, base: url) } ?? url
        let source = table.source(of: bytes.span) ?? bytes
        for occurrence in table.occurrences
        where occurrence.role != .other && redirects.count < Self.maxRedirects {
            let reference = table.reference(occurrence, in: source.span)
            guard let target = WebURL(utf8: reference.span, base: base)?.key, target.href.hasPrefix(origin),
                let fileURL = urlsByDecodedURL[FolderReader.percentDecoded(target)], fileURL != target.href
            else { continue }
            redirects[target.href] = fileURL
        }
    }
}

/// The output of `zimdump list --details`.
package struct ZIMListing {
    package struct Entry: Equatable {
        package var path: String
        /// The media type; empty for a redirect, which is unpacked as a page with a refresh.
        package var type: String
        package var byteCount: Int
    }

    package private(set) var entries: [Entry] = []
    /// The total size of the entries.
    package private(set) var byteCount = 0

    /// Parses the output. Returns nil if a name points outside the folder that the file is unpacked into.
    /// Names may contain line breaks, so unknown lines are checked too.
    package init?(_ list: [UInt8]) {
        var entry: Entry?
        for line in list.split(separator: 0x0A) {
            let text = String(decoding: line, as: UTF8.self)
            if let path = Self.value(text, "path:") {
                if let entry, !add(entry) { return nil }
                entry = Entry(path: path, type: "", byteCount: 0)
            } else if let type = Self.value(text, "* mime-type:") {
                entry?.type = type
            } else if let size = Self.value(text, "* item size:") {
                entry?.byteCount = max(0, Int(size) ?? 0)
            } else if Self.pointsOutside(text) {
                return nil
            }
        }
        if let entry, !add(entry) { return nil }
    }

    /// Adds an entry. Returns false if its path points outside the folder.
    private mutating func add(_ entry: Entry) -> Bool {
        guard !Self.pointsOutside(entry.path), !entry.path.hasPrefix("/") else { return false }
        byteCount =
            byteCount.addingReportingOverflow(entry.byteCount).overflow ? .max : byteCount + entry.byteCount
        entries.append(entry)
        return true
    }

    private static func pointsOutside(_ path: String) -> Bool {
        path.utf8.contains(0) || path.split(separator: "/").contains { $0 == ".." || $0.hasSuffix(" ..") }
    }

    /// Returns the value of a line `name value`, or nil if the line does not begin with the name.
    private static func value(_ line: String, _ name: String) -> String? {
        line.hasPrefix(name) ? String(line.dropFirst(name.count).drop { $0 == " " }) : nil
    }
}
