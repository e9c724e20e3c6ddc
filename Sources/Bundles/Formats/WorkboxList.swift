internal import Digest
internal import Web

/// Workbox's precache list: `["/app.3f2a9c81.js", {"url", "revision", "integrity"}]`, alone or inside a built
/// service worker.
struct WorkboxList {
    private let source: ManifestText

    init(_ source: ManifestText) {
        self.source = source
    }

    func manifest() throws(ManifestError) -> Manifest {
        var manifest = Manifest(.workbox)
        var list = BundleList()
        let lists = try findLists()
        guard !lists.isEmpty else { throw noListError }
        for literal in lists {
            guard case .list(let entries) = literal.content else { continue }
            for entry in entries { try add(entry, to: &list) }
        }
        manifest.bundles = list.bundles
        return manifest
    }

    /// Whether a script contains a name that only service workers with a precache list have.
    static func isRecognised(_ bytes: [UInt8]) -> Bool {
        markers.contains { marker in !ManifestText.offsets(of: marker, in: bytes, atMost: 1).isEmpty }
    }

    private static let markers = [
        "precacheAndRoute", "addToCacheList", "__WB_MANIFEST", "__precacheManifest",
    ]

    // MARK: Finding

    private func findLists() throws(ManifestError) -> [ScriptLiteral] {
        var parser = ScriptLiteralParser(source, at: source.bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0)
        parser.skipSpace()
        if parser.offset < source.bytes.count, source.bytes[parser.offset] == 0x5B {
            let list = try parser.parseLiteral()
            parser.skipSpace()
            guard parser.offset == source.bytes.count else {
                throw parser.syntaxError(expected: "the end of the text")
            }
            return [list]
        }
        var lists: [ScriptLiteral] = []
        var scannedEnd = 0
        let offsets = Self.markers.flatMap { ManifestText.offsets(of: $0, in: source.bytes, atMost: .max) }
            .sorted()
        for offset in offsets where offset >= scannedEnd {
            scannedEnd = offset
            repeat {
                guard let start = listStart(after: scannedEnd) else { break }
                var parser = ScriptLiteralParser(source, at: start)
                lists.append(try parser.parseLiteral())
                scannedEnd = parser.offset
                // Other lists in the same statement are options, such as URL parameters to ignore.
            } while isConcatenated(at: scannedEnd)
        }
        return lists
    }

    /// Returns the next `[` in the same statement that starts a list of files, as in `precacheAndRoute([{…`
    /// and `= (self.__precacheManifest || []).concat([{…`; nil if there is none nearby.
    private func listStart(after offset: Int) -> Int? {
        let bytes = source.bytes
        let end = min(bytes.count, offset + ManifestLimits.maxLookaheadBytes)
        for at in offset..<max(offset, end) {
            if bytes[at] == 0x3B { return nil }
            guard bytes[at] == 0x5B else { continue }
            switch bytes[(at + 1)..<max(at + 1, end)].first(where: { $0 > 0x20 }) {
            case 0x7B, 0x22, 0x27, 0x60, 0x5D, nil: return at
            // A comment may be as long as the script, so the parser skips it, once. Other slashes start
            // regular expressions.
            case 0x2F where at + 2 < end && (bytes[at + 2] == 0x2A || bytes[at + 2] == 0x2F): return at
            default: continue
            }
        }
        return nil
    }

    /// Whether `.concat(` follows, as in `(self.__precacheManifest || []).concat([{…`.
    private func isConcatenated(at offset: Int) -> Bool {
        let near = source.bytes[offset..<min(source.bytes.count, offset + ManifestLimits.maxLookaheadBytes)]
        return near.drop { $0 <= 0x20 || $0 == 0x29 }.starts(with: ".concat(".utf8)
    }

    private var noListError: ManifestError {
        guard let offset = ManifestText.offsets(of: "__WB_MANIFEST", in: source.bytes, atMost: 1).first else {
            return source.error(at: 0, "expected precacheAndRoute([…]) or a list of URLs, found neither")
        }
        return source.error(
            at: offset - 13,
            "expected a list of URLs, found __WB_MANIFEST itself: this is the source of a service worker; "
                + "name the built file")
    }

    // MARK: Entries

    private func add(_ entry: ScriptLiteral, to list: inout BundleList) throws(ManifestError) {
        guard let url = entry.text ?? entry["url"]?.text else {
            throw source.error(at: entry.offset, "expected a URL or an object with \"url\"")
        }
        var claims: [Claim] = []
        if let revision = entry["revision"], !revision.isNothing {
            guard let text = revision.text else {
                throw source.error(at: revision.offset, key: "revision", "expected a string or null")
            }
            // Other tools use a version or the hash of a chunk as revision.
            if let md5 = Digest(.md5, hex: text) {
                let strength: Claim.Strength = Self.isFile(url) ? .strong : .weak
                claims.append(Claim(.digest(md5), strength, source: "revision"))
            }
        }
        if let integrity = entry["integrity"]?.text, !integrity.isEmpty {
            claims.append(Claim(Integrity(integrity)))
        }
        if let refusal = list.merge(Bundle(reference: url, claims: claims)) {
            throw source.error(at: entry.offset, refusal.detail)
        }
    }

    /// Whether the URL is one of a file. Else the revision is the digest of a page's sources, and not of the
    /// response.
    private static func isFile(_ url: String) -> Bool {
        let path = url.utf8.prefix { $0 != 0x3F && $0 != 0x23 }
        return path.suffix(while: { $0 != 0x2F }).contains(0x2E)
    }
}

extension Collection where Self: BidirectionalCollection, Element == UInt8 {
    /// Returns the longest suffix whose elements all satisfy the predicate.
    fileprivate func suffix(while predicate: (UInt8) -> Bool) -> SubSequence {
        var start = endIndex
        while start > startIndex, predicate(self[index(before: start)]) { start = index(before: start) }
        return self[start...]
    }
}
