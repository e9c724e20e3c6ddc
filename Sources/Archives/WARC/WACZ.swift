package import Digest
internal import Glibc
internal import Markup
package import Store
internal import System
internal import Web

/// Writes WACZ 1.1.1: a zip file with the WARC, its index (CDXJ), the list of pages, and the digests of all
/// entries. The WARC is not compressed again, so that readers can seek to a response.
final class WACZWriter: ArchiveWriter {
    private let info: ArchiveInfo
    /// The URL of the start page; nil if none is known. After a redirect, that of its target.
    private var start: String?
    /// The key that signs the digest of `datapackage.json`.
    private let key: SigningKey?
    private let output: ArchiveOutput
    private let zip: ZipWriter
    /// The folder with temporary files of `index` and `pages`.
    private let folder: ScratchFolder
    /// Sorts the lines of the index, which must be in the order of their keys.
    private let index: LineSorter
    /// The lines of `pages.jsonl`, which is written after the WARC, because one entry of a zip file is open at a time.
    private let pages: BodySpool
    /// The WARC; nil when it is complete.
    private var stream: WARCStream?
    /// The start page, or else the first page.
    private var mainPage: (url: String, date: String)?
    /// The title of the start page.
    private var title: String?

    private static let warc = "data.warc.gz"
    /// The maximum length of a page's text, which is for searching in the archive. Longer texts are cut.
    private static let maxTextCharacters = 100_000

    init(_ path: String, _ info: ArchiveInfo, start: String?, key: SigningKey? = nil) throws(ArchiveError) {
        (self.info, self.start, self.key) = (info, start, key)
        output = try ArchiveOutput(path)
        folder = try ArchiveError.wrapping { () throws(SystemError) in
            try ScratchFolder(named: "larder-export")
        }
        zip = ZipWriter(output, date: info.date)
        index = LineSorter(in: folder.path)
        pages = BodySpool(.inFiles(folder: folder.path))
        let header: JSONMembers = [
            "format": "json-pages-1.0", "id": "pages", "title": "Pages", "hasText": true,
        ]
        try Array((header.text(.compact) + "\n").utf8).withBytes { (bytes) throws(ArchiveError) in
            try pages.append(bytes)
        }
        let (zip, index) = (zip, index)
        try zip.begin("archive/\(Self.warc)", isDeflated: false)
        stream = try WARCStream(info, filename: Self.warc) { (bytes) throws(ArchiveError) in
            try zip.write(bytes)
        } didWriteResponse: { (position) throws(ArchiveError) in
            try index.add(Array(CDXLine.text(of: position, in: Self.warc).utf8))
        }
    }

    func write(_ response: ArchivedResponse) throws(ArchiveError) -> Bool {
        try stream?.add(response)
        if response.url == start, (300..<400).contains(response.status),
            let target = response.fields["Location"].flatMap({ WebURL($0, base: WebURL(response.url)) })
        {
            // Responses are sorted by URL, so most targets come later.
            start = target.key.href
        }
        guard response.status == 200, response.notes?.role == 0, response.request == .get,
            response.body != nil
        else {
            return true
        }
        let date = HTTPDate(secondsSinceEpoch: response.fetched).iso8601
        if mainPage == nil || response.url == start { mainPage = (response.url, date) }
        if response.url == start { title = response.title }
        let id = DigestStream.digest(.md5, of: Array("\(response.url) \(date)".utf8).span).hex
        let page: JSONMembers = [
            "id": id, "url": response.url, "ts": date, "title": IfAny(response.title),
            "text": IfAny(try Self.text(of: response)),
        ]
        try Array((page.text(.compact) + "\n").utf8).withBytes { (bytes) throws(ArchiveError) in
            try pages.append(bytes)
        }
        return true
    }

    /// Returns the text of an HTML page, for the search in readers. Returns nil for other pages, for large ones, and for those
    /// without text.
    private static func text(of response: ArchivedResponse) throws(ArchiveError) -> String? {
        guard let body = response.body, let content = body.content,
            body.byteCount <= Limits.maxPackedBodyBytes * 4,
            response.fields.contentType?.essence == "text/html"
        else { return nil }
        let bytes = try ArchiveError.storing { () throws(StoreError) in try content.load() }
        let text = DocumentText(html: bytes.span, charset: response.fields.contentType?.charset)
            .beginning(atMost: maxTextCharacters)
        return text.isEmpty ? nil : text
    }

    func finish() throws(ArchiveError) -> [ArchiveFile] {
        try stream?.drain()
        stream = nil
        var entries = [try zip.end()]
        // The index is stored, so that readers can search it without decompressing it.
        try zip.begin("indexes/index.cdx", isDeflated: false)
        try index.each { (line) throws(ArchiveError) in
            try zip.write(line)
            try zip.write([0x0A])
        }
        entries.append(try zip.end())
        try zip.begin("pages/pages.jsonl", isDeflated: true)
        try write(try pages.finish())
        entries.append(try zip.end())
        let package = Array(self.package(entries).utf8)
        let entry = try zip.add("datapackage.json", package)
        // datapackage.json has the digests of all other entries, so signing its digest covers all of them.
        let hash = "sha256:\(entry.sha256.hex)"
        let digest: JSONMembers = [
            "path": entry.name, "hash": hash, "signedData": IfAny(try signature(of: hash)),
        ]
        _ = try zip.add("datapackage-digest.json", Array(digest.text().utf8))
        try zip.finish()
        return [try output.finish()]
    }

    /// Returns the signature of the digest in the anonymous form of WACZ Signing and Verification 0.1.0, which has only a
    /// public key.
    private func signature(of hash: String) throws(ArchiveError) -> JSONMembers? {
        guard let key else { return nil }
        guard let signature = key.sign(Array(hash.utf8)) else {
            throw ArchiveError(
                .machine, "the archive cannot be signed: OpenSSL cannot sign with the store's key")
        }
        return [
            "hash": hash, "signature": Base64.encode(signature), "publicKey": Base64.encode(key.publicKey),
            "created": HTTPDate(secondsSinceEpoch: info.date).iso8601, "software": info.software,
        ]
    }

    private func write(_ body: ArchivedBody) throws(ArchiveError) {
        try body.content?.writePieces { (bytes) throws(ArchiveError) in try zip.write(bytes) }
    }

    /// Returns the text of `datapackage.json`, a Frictionless data package.
    private func package(_ entries: [ZipWriter.Entry]) -> String {
        let resources = entries.map { entry in
            let name = entry.name.split(separator: "/").last.map(String.init) ?? entry.name
            return [
                "name": name, "path": entry.name, "hash": "sha256:\(entry.sha256.hex)",
                "bytes": entry.byteCount,
            ] as JSONMembers
        }
        let members: JSONMembers = [
            "profile": "data-package", "wacz_version": "1.1.1", "title": title ?? info.site,
            "created": HTTPDate(secondsSinceEpoch: info.date).iso8601, "software": info.software,
            "mainPageURL": IfAny(mainPage?.url), "mainPageDate": IfAny(mainPage?.date),
            "resources": resources,
        ]
        return members.text()
    }
}

/// A line of the CDXJ index: the sortable form of a URL, the time, and the position of the response as JSON.
enum CDXLine {
    static func text(of position: WARCPosition, in file: String) -> String {
        let digits = HTTPDate(secondsSinceEpoch: position.date).iso8601.filter { $0.isASCII && $0.isNumber }
        let members: JSONMembers = [
            "url": position.url, "mime": position.type, "status": String(position.status),
            "digest": IfAny(position.digest.map(ArchiveDigest.text)), "length": String(position.byteCount),
            "offset": String(position.offset), "filename": file,
            "method": IfAny(position.method == "GET" ? nil : position.method),
        ]
        return "\(key(position.url)) \(digits) \(members.text(.compact))"
    }

    /// Returns the search key of a URL as pywb computes it: `https://www.example.com/A/?c=2&b=1` becomes
    /// `com,example)/a?b=1&c=2`. Differences that rarely matter are removed.
    static func key(_ address: String) -> String {
        guard let url = WebURL(address.lowercased()), url.isHTTP else { return address }
        var labels = url.host.filter { $0 != "[" && $0 != "]" }.split(
            separator: ".", omittingEmptySubsequences: false)
        if labels.count > 1, labels[0].hasPrefix("www"), labels[0].dropFirst(3).allSatisfy(\.isNumber) {
            labels.removeFirst()
        }
        let port = url.port.map { ":\($0)" } ?? ""
        let path = "/" + url.path.split(separator: "/").joined(separator: "/")
        let key = labels.reversed().joined(separator: ",") + port + ")" + decoded(path)
        guard let query = url.query, !query.isEmpty else { return key }
        let parts = query.split(separator: "&", omittingEmptySubsequences: false).map { part in
            let end = part.firstIndex(of: "=") ?? part.endIndex
            return (name: Array(part[..<end].utf8), value: Array(part[end...].utf8))
        }
        let sorted = parts.sorted { left, right in
            left.name == right.name
                ? left.value.lexicographicallyPrecedes(right.value)
                : left.name.lexicographicallyPrecedes(right.name)
        }
        let text = sorted.map { String(decoding: $0.name + $0.value, as: UTF8.self) }.joined(separator: "&")
        return key + "?" + decoded(text)
    }

    /// Decodes the percent escapes of letters, digits and a few punctuation marks. Decoded letters are in lower case.
    private static func decoded(_ text: String) -> String {
        let bytes = Array(text.utf8)
        var decoded: [UInt8] = []
        var index = 0
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.count,
                let byte = UInt8(String(decoding: bytes[index + 1...index + 2], as: UTF8.self), radix: 16),
                (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20)
                    || [0x2D, 0x2E, 0x5F, 0x7E].contains(byte)
            {
                decoded.append((0x41...0x5A).contains(byte) ? byte | 0x20 : byte)
                index += 3
            } else {
                decoded.append(bytes[index])
                index += 1
            }
        }
        return String(decoding: decoded, as: UTF8.self)
    }
}

/// Reads the WARC files in a WACZ one after the other, and the start page from its metadata.
///
/// `init` reads `datapackage.json` and verifies the signature. All faults that it finds are returned before the first
/// record.
final class WACZReader: ArchiveReader {
    private let zip: ZipFile
    private let storage: BodyStorage
    private let limits: ArchiveLimits
    private let growth: ArchiveGrowth
    /// The WARC files that are not read yet.
    private var entries: [ZipFile.Entry]
    private var faults: [ArchiveFault] = []
    private var reader: WARCReader?
    private(set) var start: String?
    /// The SHA-256 of the public key, in hexadecimal, if the signature is valid and covers all other entries; else nil.
    private(set) var signer: String?

    /// The maximum size of an entry that is loaded as a whole. A larger `datapackage.json` is not read.
    private static let maxMetadataBytes = 16 << 20

    init(_ zip: ZipFile, _ storage: BodyStorage, _ limits: ArchiveLimits) throws(ArchiveError) {
        (self.zip, self.storage, self.limits) = (zip, storage, limits)
        growth = ArchiveGrowth(limits)
        guard !zip.isOverlapping else {
            throw ArchiveError(.input, "\(zip.path) cannot be imported: its entries overlap")
        }
        entries = zip.entries.filter(Self.isWARC)
        faults = zip.faults
        try readPackage()
    }

    /// Whether a zip file is a WACZ: it has a WARC file in its folder `archive`.
    static func isWACZ(_ zip: ZipFile) -> Bool { zip.entries.contains(where: isWARC) }

    private static func isWARC(_ entry: ZipFile.Entry) -> Bool {
        entry.name.hasPrefix("archive/")
            && [".warc", ".warc.gz", ".warc.zst", ".arc", ".arc.gz"].contains { entry.name.hasSuffix($0) }
    }

    /// Verifies the signature and the digest of `datapackage.json`. Reports those that are not valid.
    private func readSignature(_ package: [UInt8]) throws(ArchiveError) {
        guard let entry = zip.entries.first(where: { $0.name == "datapackage-digest.json" }),
            let bytes = try zip.bytes(entry, atMost: Self.maxMetadataBytes),
            let json = try? JSONValue.parse(bytes.span)
        else { return }
        let hash = "sha256:\(DigestStream.digest(.sha256, of: package.span).hex)"
        if let stated = json["hash"]?.string, stated.hasPrefix("sha256:"), stated.lowercased() != hash {
            faults.append(ArchiveFault("datapackage.json does not match its digest", at: zip.path, .doubtful))
        }
        guard let signed = json["signedData"] else { return }
        guard let key = signed["publicKey"]?.string.flatMap({ Base64.decodeForgiving($0) }),
            let signature = signed["signature"]?.string.flatMap({ Base64.decodeForgiving($0) })
        else {
            return faults.append(
                ArchiveFault("its signature has a format that cannot be verified", at: zip.path, .doubtful))
        }
        guard signed["hash"]?.string?.lowercased() == hash,
            SigningKey.verify(signature, of: Array(hash.utf8), by: key)
        else {
            return faults.append(ArchiveFault("its signature is not valid", at: zip.path, .doubtful))
        }
        signer = DigestStream.digest(.sha256, of: key.span).hex
    }

    /// Compares the entries with the signed list of digests. Reports entries that do not match, and removes
    /// the signer.
    private func verifyDigests(_ resources: [JSONValue]) throws(ArchiveError) {
        var unverified = Set(
            zip.entries.lazy.map(\.name).filter { !$0.hasPrefix("datapackage") && !$0.hasSuffix("/") })
        for resource in resources {
            guard let path = resource["path"]?.string, let hash = resource["hash"]?.string,
                let entry = zip.entries.first(where: { $0.name == path })
            else { continue }
            // A deflated entry is loaded as a whole, so a large one counts as unverified.
            if entry.isDeflated {
                let bytes = try zip.bytes(entry, atMost: Self.maxMetadataBytes)
                let digest = bytes.map { DigestStream.digest(.sha256, of: $0.span).hex }
                if let digest, hash.lowercased() == "sha256:\(digest)" { unverified.remove(path) }
                continue
            }
            guard let input = try zip.input(entry, as: .plain) else { continue }
            var stream = DigestStream(.sha256)
            let byteCount = try input.take(entry.content?.count ?? 0) { (piece) throws(ArchiveError) in
                stream.update(Span(_unsafeElements: piece.assumingMemoryBound(to: UInt8.self)))
                return true
            }
            guard Int64(byteCount) == entry.byteCount else { continue }
            if hash.lowercased() == "sha256:\(stream.finish().hex)" { unverified.remove(path) }
        }
        guard !unverified.isEmpty else { return }
        signer = nil
        let names = unverified.sorted().joined(separator: ", ")
        faults.append(
            ArchiveFault("its signature does not cover the bytes of \(names)", at: zip.path, .doubtful))
    }

    /// Reads `datapackage.json`: the start page, the signature, and the list of entries.
    private func readPackage() throws(ArchiveError) {
        guard let entry = zip.entries.first(where: { $0.name == "datapackage.json" }),
            let bytes = try zip.bytes(entry, atMost: Self.maxMetadataBytes),
            let json = try? JSONValue.parse(bytes.span)
        else {
            faults.append(
                ArchiveFault("it has no readable datapackage.json", at: zip.path, .doubtful))
            return
        }
        // Some tools spell the name differently.
        start = json["mainPageURL"]?.string ?? json["mainPageUrl"]?.string
        try readSignature(bytes)
        if signer != nil { try verifyDigests(json["resources"]?.array ?? []) }
        for resource in json["resources"]?.array ?? [] {
            guard let path = resource["path"]?.string else { continue }
            guard let listed = zip.entries.first(where: { $0.name == path }) else {
                faults.append(ArchiveFault("it lists \(path), which it does not contain", at: zip.path))
                continue
            }
            if let byteCount = resource["bytes"]?.int, Int64(byteCount) != listed.byteCount {
                faults.append(
                    ArchiveFault("\(path) does not have the size that it lists", at: zip.path, .doubtful))
            }
        }
    }

    func next() throws(ArchiveError) -> ArchivedItem? {
        if !faults.isEmpty { return .fault(faults.removeFirst()) }
        while true {
            if let item = try reader?.next() { return item }
            reader = nil
            guard !entries.isEmpty else { return nil }
            let entry = entries.removeFirst()
            guard let input = try zip.input(entry) else { continue }
            reader = WARCReader(input, storage, limits, growth)
        }
    }
}

/// The key that signs the archives of a store. It is in a file in the store's folder that only its owner can
/// read.
package enum ArchiveSigningKey {
    private static let name = "signing.key"

    /// Returns the store's key. Creates the key if there is none.
    package static func open(in folder: StoreFolder) throws(ArchiveError) -> SigningKey {
        let path = "\(folder.path)/\(name)"
        if access(path, F_OK) != 0 {
            guard let newKey = SigningKey() else {
                throw ArchiveError(.machine, "cannot create a signing key: OpenSSL has no curve P-384")
            }
            try ArchiveError.wrapping { () throws(SystemError) in
                let draft = try WholeFile.makeTemporary(in: folder.path, named: "signing", newKey.der)
                defer { unlink(draft) }
                // If two processes create a key at the same time, the second one uses the key of the first.
                guard link(draft, path) == 0 || errno == EEXIST else {
                    throw SystemError(errno, doing: "write", path)
                }
            }
        }
        let bytes = try ArchiveError.wrapping { () throws(SystemError) in
            try WholeFile.read(path, atMost: 64 << 10)
        }
        guard let key = SigningKey(der: bytes) else {
            throw ArchiveError(.input, "\(path) is not a signing key; remove it to have a new one created")
        }
        return key
    }
}
