package import Web

/// The links of one body and the other results of scanning it. The table is stored with the body.
///
/// For the body `<a href="/b">` it has one occurrence: the range 9..<11, the kind `page`, and the context `attribute`,
/// which says how a replacement must be escaped.
package struct LinkTable: Hashable, Sendable {
    /// The value of the document's `<base href>`, with character references decoded but not resolved.
    package var base: String?
    /// The encoding of the body.
    package var encoding: TextEncoding
    /// Whether the body's encoding does not contain ASCII. Then the ranges count in the UTF-8 form of the
    /// body that ``TextEncoding/decode(_:)`` returns.
    package var isTranscoded: Bool
    /// The document's title with its white space collapsed, at most 256 bytes.
    package var title: String?
    /// The contents of the document's `<meta name=robots>` elements, separated by commas.
    package var robots: String?
    /// The links that the body contains, in ascending order. Their ranges do not overlap.
    package var occurrences: [LinkOccurrence]
    /// The links that the body does not contain in one piece, without duplicates.
    package var implied: [ImpliedLink]
    /// Parts of a document that are not links but must change when the document is served under another URL, in
    /// ascending order.
    package var marks: [DocumentMark]
    /// The body's settings for module loaders and its requests to them, in the order of the body.
    package var notes: [LoaderNote]
    /// The reasons why running the body's scripts may find more links than scanning them.
    package var renderReasons: RenderReasons
    /// A hash of the names in the document's inline scripts, which is the same for documents whose scripts differ only in
    /// data; 0 if there are none, or if an earlier version of Larder scanned the body.
    package var inlineScripts: UInt32

    package init(
        encoding: TextEncoding = .utf8, isTranscoded: Bool = false, base: String? = nil, title: String? = nil,
        robots: String? = nil, occurrences: [LinkOccurrence] = [], implied: [ImpliedLink] = [],
        marks: [DocumentMark] = [], notes: [LoaderNote] = [], renderReasons: RenderReasons = [],
        inlineScripts: UInt32 = 0
    ) {
        self.encoding = encoding
        self.isTranscoded = isTranscoded
        self.base = base
        self.title = title
        self.robots = robots
        self.occurrences = occurrences
        self.implied = implied
        self.marks = marks
        self.notes = notes
        self.renderReasons = renderReasons
        self.inlineScripts = inlineScripts
    }

    /// Returns the UTF-8 form of the body that the ranges count in, or nil if they count in the body itself.
    package func source(of body: Span<UInt8>) -> [UInt8]? {
        isTranscoded ? encoding.decode(body) : nil
    }

    /// Returns the reference in UTF-8 as a browser reads it, before any URL parsing.
    ///
    /// `source` is the body, or its UTF-8 form if the table ``isTranscoded``. Returns an empty array if the
    /// range is not inside `source`.
    package func reference(_ occurrence: LinkOccurrence, in source: Span<UInt8>) -> [UInt8] {
        guard occurrence.range.lowerBound >= 0, occurrence.range.upperBound <= source.count else { return [] }
        return source.withUnsafeBufferPointer { bytes in
            var reader = ReferenceReader(encoding: isTranscoded ? .utf8 : encoding)
            return reader.withReference(bytes.part(occurrence.range), occurrence.context) { Array($0) }
        }
    }
}

/// One reference in a body.
package struct LinkOccurrence: Hashable, Sendable {
    /// The bytes of the reference as written, without the quotes and the white space around it. Never empty.
    package var range: Range<Int>
    package var kind: LinkKind
    package var context: LinkContext
    package var flags: LinkFlags

    package init(range: Range<Int>, kind: LinkKind, context: LinkContext, flags: LinkFlags = []) {
        self.range = range
        self.kind = kind
        self.context = context
        self.flags = flags
    }

    /// The role of the link's kind, which determines how a crawl treats it.
    package var role: LinkRole { kind.role }
}

/// A link that a body creates without containing its URL in one piece. For example, a script composes the URL
/// of a chunk from its number, a table of hashes and a suffix. It has no place in the body, so it cannot be
/// rewritten.
package struct ImpliedLink: Hashable, Sendable {
    /// The base of the reference.
    package enum Base: UInt8, Sendable {
        /// The URL of the body, as for any other link.
        case body = 0
        /// The output folder of a bundler, which no file in it names; see ``reference(fromBodyAt:)``.
        case build = 1
        /// The body's own path, which replaces an asterisk in the reference; see ``reference(fromBodyAt:)``.
        case path = 2
        /// A page of a Next.js build. The body is the build's list of pages; see ``reference(fromBodyAt:)``.
        case page = 3
    }

    package var reference: String
    package var kind: LinkKind
    package var flags: LinkFlags
    package var base: Base

    package init(_ reference: String, _ kind: LinkKind, _ flags: LinkFlags = [], from base: Base = .body) {
        self.reference = reference
        self.kind = kind
        self.flags = flags
        self.base = base
    }

    /// Returns the reference relative to the body at `path`.
    ///
    /// ``Base/build``: a bundler writes paths relative to its output folder into the files there. If a script
    /// at `/app/assets/a.js` names `assets/b.js`, then the output folder is `/app/`. If the first folder of
    /// the reference is not in the body's path, then the body is in the output folder itself.
    ///
    /// ``Base/path``: the body's path replaces the asterisk in the reference, without its trailing slash and
    /// without the root, which a number sign ends: `/docs#/data*.json` for `/docs/a/` is `/docs/data/a.json`.
    /// If nothing is left of the path, as for `/docs/`, `index` replaces it: `/docs/data/index.json`.
    ///
    /// ``Base/page``: the list of pages at `/docs/_next/static/12/_ssgManifest.js` implies that the data of a
    /// page `/a` is at `/docs/_next/data/12/a.json`.
    package func reference(fromBodyAt path: String) -> String {
        if base == .page { return nextDataReference(fromPageListAt: path) }
        if base == .path { return referenceReplacingAsterisk(with: path) }
        guard base == .build, !reference.hasPrefix("/"),
            let slash = reference.utf8.firstIndex(of: UInt8(ascii: "/"))
        else { return reference }
        let folder = Array(reference.utf8[...slash])
        let segments = path.utf8.prefix { $0 != UInt8(ascii: "?") }.split(
            separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        // The last segment is the file. The first one is the empty segment before the leading slash.
        guard let place = segments.dropLast().lastIndex(where: { $0.elementsEqual(folder.dropLast()) }) else {
            return reference
        }
        return String(repeating: "../", count: segments.count - 1 - place) + reference
    }

    private func nextDataReference(fromPageListAt path: String) -> String {
        let segments = path.split(separator: "/", omittingEmptySubsequences: false)
        guard segments.count >= 4, segments.suffix(4).starts(with: ["_next", "static"]) else { return "" }
        let (root, build) = (segments.dropLast(4).joined(separator: "/"), segments[segments.count - 2])
        let page = reference.hasSuffix("/") ? reference + "index" : reference
        return "\(root)/_next/data/\(build)\(page).json"
    }

    private func referenceReplacingAsterisk(with path: String) -> String {
        let parts = reference.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        let root = parts.count == 2 ? String(parts[0]) : ""
        let pattern = parts.last.map(String.init) ?? ""
        guard let mark = pattern.utf8.firstIndex(of: UInt8(ascii: "*")) else { return root + pattern }
        var own = path.hasPrefix(root) ? path.dropFirst(root.count) : Substring(path)
        while own.hasSuffix("/") { own.removeLast() }
        let end = pattern[pattern.index(after: mark)...]
        if own.isEmpty, !end.hasPrefix("/") { own = "/index" }
        // SvelteKit names the data of `a.html` `a.html__…`, without a slash.
        let isFile = own.hasSuffix(".html") && end.hasPrefix("/__")
        return root + String(pattern[..<mark]) + own + (isFile ? end.dropFirst() : end)
    }
}

/// A part of a document that is not a link but must change when the document is served under another URL.
package struct DocumentMark: Hashable, Sendable {
    /// The kind of a mark. The raw values are stored.
    package enum Kind: UInt8, Sendable {
        /// The value `content-security-policy` in the `http-equiv` of a `<meta>`.
        case policy = 1
        /// The value `referrer` in the `name` of a `<meta>`.
        case referrer = 2
        /// The name of a `referrerpolicy` attribute.
        case referrerPolicy = 3
        /// The name of an `integrity` attribute.
        case integrity = 4
        /// The offset at which to insert a first script into a document that runs scripts.
        case start = 5
        /// The same offset in a body that may be only a fragment of a document, which a script inserts
        /// somewhere.
        case startOfFragment = 6
    }

    package var kind: Kind
    /// The offset of the marked text, or that at which to insert the script.
    package var offset: Int
    /// For an ``Kind/integrity``: the index of the occurrence that the hash applies to. Otherwise 0.
    package var occurrence: Int

    package init(_ kind: Kind, at offset: Int, occurrence: Int = 0) {
        self.kind = kind
        self.offset = offset
        self.occurrence = occurrence
    }
}

// MARK: - The stored format

// The parts are, in this order: the version, flags, the encoding, a checksum of all other bytes, the base,
// the title and the robots directives; each distinct (kind, context, flags) once, with the flags above the
// eighth in the unused bits of the context; for each occurrence the gap to the one before, its length, and
// the index of its (kind, context, flags), as variable-length integers; then the implied links, the marks,
// the notes, the hash of the inline scripts and the render reasons, if there are any. A link takes about four bytes.
extension LinkTable {
    /// The version of the stored format and of the scanners' results. A body whose table has neither this
    /// version nor ``versionWithoutChecksum`` is scanned again when its links are needed.
    ///
    /// - 2 adds markup that scripts write and URLs that they open, 3 the marks of documents, 4 the notes for
    ///   loaders, 5 the lists of pages of Next.js.
    /// - 6 adds models, loaders with a choice for each chunk, and files below the folders of builds.
    /// - 7 adds files that scripts show or play, 8 refreshes of XHTML with a prefix, 11 the checksum, 13 the
    ///   mark of scripts that can send requests, 14 the files of Pagefind
    ///   and paths in scripts with JSON.
    /// - 9, 10 and 12 are not used: each differs from 8 in one bit, and one flipped bit must not make a table
    ///   with a checksum look like one without. For the same reason 24 and 40 must not be used, nor the number before them.
    /// - 16 and 17 are one version (`versionWithInlineScripts`).
    ///
    /// The next one is 18: the number after each version is taken, too.
    package static let version: UInt8 = 16
    /// The version of a table with a hash of inline scripts. A table without it has the version before, so that the bodies
    /// of earlier stores need no scan.
    private static let versionWithInlineScripts = version + 1
    /// The last version without a checksum. It can still be decoded.
    private static let versionWithoutChecksum: UInt8 = 8

    /// A bit that is set in the version of a table with notes. The links of such a body depend on other
    /// bodies of the page.
    private static let versionWithNotes: UInt8 = 128

    /// The properties of a document that a crawl and a check need without its links.
    package struct Summary {
        /// Whether the table has the current version and no notes.
        package var isCurrent: Bool
        package var renderReasons: RenderReasons = []
        package var inlineScripts: UInt32 = 0
    }

    /// Returns the summary of a stored table, from its first two bytes and its last five. Returns nil if `ends` does not
    /// have seven bytes.
    package static func readSummary(fromEnds ends: [UInt8]) -> Summary? {
        guard ends.count == 7 else { return nil }
        let hasInlineScripts = ends[0] & ~versionWithNotes == versionWithInlineScripts
        var summary = Summary(isCurrent: ends[0] == version || ends[0] == versionWithInlineScripts)
        let hasReasons = ends[1] & Self.hasReasonsBit != 0 && ends[6] <= RenderReasons.allBits
        if hasReasons { summary.renderReasons = RenderReasons(rawValue: ends[6]) }
        if hasInlineScripts {
            for byte in ends[(hasReasons ? 2 : 3)...].prefix(4).reversed() {
                summary.inlineScripts = summary.inlineScripts << 8 | UInt32(byte)
            }
        }
        return summary
    }

    private static let hasReasonsBit: UInt8 = 128

    /// A table with a larger offset is damaged.
    private static let maxOffset = 1 << 40
    /// The number of bits that a context uses in its 16-bit word.
    private static let contextBits: UInt16 = 13

    /// The properties that many occurrences share.
    private struct Shape: Hashable {
        var kind: LinkKind
        var context: LinkContext
        var flags: LinkFlags
    }

    /// Returns the stored format of the table.
    package func encoded() -> [UInt8] {
        var presentParts: UInt8 = (isTranscoded ? 1 : 0) | (base == nil ? 0 : 2) | (title == nil ? 0 : 4)
        presentParts |= (implied.isEmpty ? 0 : 8) | (robots == nil ? 0 : 16) | (marks.isEmpty ? 0 : 32)
        presentParts |= (notes.isEmpty ? 0 : 64) | (renderReasons.isEmpty ? 0 : Self.hasReasonsBit)
        var version = inlineScripts == 0 ? Self.version : Self.versionWithInlineScripts
        if !notes.isEmpty { version |= Self.versionWithNotes }
        var output: [UInt8] = [version, presentParts, encoding.rawValue, 0, 0, 0, 0]
        for text in [base, title, robots] {
            guard let text else { continue }
            Self.append(text.utf8.count, to: &output)
            output.append(contentsOf: text.utf8)
        }
        var shapes: [Shape] = []
        var numbers: [Shape: Int] = [:]
        var body: [UInt8] = []
        body.reserveCapacity(occurrences.count * 5)
        var end = 0
        for occurrence in occurrences {
            let shape = Shape(kind: occurrence.kind, context: occurrence.context, flags: occurrence.flags)
            let number: Int
            if let known = numbers[shape] {
                number = known
            } else {
                number = shapes.count
                numbers[shape] = number
                shapes.append(shape)
            }
            Self.append(occurrence.range.lowerBound - end, to: &body)
            Self.append(occurrence.range.count, to: &body)
            Self.append(number, to: &body)
            end = occurrence.range.upperBound
        }
        Self.append(shapes.count, to: &output)
        for shape in shapes {
            output.append(shape.kind.rawValue)
            let word = shape.context.rawValue | ((shape.flags.rawValue >> 8) << Self.contextBits)
            output.append(UInt8(truncatingIfNeeded: word))
            output.append(UInt8(truncatingIfNeeded: word >> 8))
            output.append(UInt8(truncatingIfNeeded: shape.flags.rawValue))
        }
        Self.append(occurrences.count, to: &output)
        output.append(contentsOf: body)
        if !implied.isEmpty { appendImplied(to: &output) }
        if !marks.isEmpty { appendMarks(to: &output) }
        if !notes.isEmpty { appendNotes(to: &output) }
        if inlineScripts != 0 { Self.append(integer: inlineScripts, to: &output) }
        if !renderReasons.isEmpty { output.append(renderReasons.rawValue) }
        let sum = output.withUnsafeBufferPointer { Self.checksum(of: $0) }
        for place in 0..<4 {
            output[Self.checksumStart + place] = UInt8(truncatingIfNeeded: sum >> (8 * place))
        }
        return output
    }

    private static let checksumStart = 3
    private static let checksumEnd = 7

    /// Returns the FNV-1a hash of all bytes except the checksum itself.
    private static func checksum(of bytes: Bytes) -> UInt32 {
        var sum: UInt32 = 0x811C_9DC5
        for index in 0..<bytes.count where !(checksumStart..<checksumEnd).contains(index) {
            sum = (sum ^ UInt32(bytes[index])) &* 0x0100_0193
        }
        return sum
    }

    /// Whether stored bytes are a table that can be decoded, or one of another version.
    package static func isDecodable(_ bytes: [UInt8]) -> Bool {
        do throws(MarkupError) {
            _ = try LinkTable(decoding: bytes.span)
            return true
        } catch {
            if case .otherVersion = error { return true }
            return false
        }
    }

    private func appendNotes(to output: inout [UInt8]) {
        Self.append(notes.count, to: &output)
        for note in notes {
            output.append(contentsOf: [note.kind.rawValue, note.link.rawValue])
            for text in [note.name, note.value] {
                Self.append(text.utf8.count, to: &output)
                output.append(contentsOf: text.utf8)
            }
        }
    }

    private func appendImplied(to output: inout [UInt8]) {
        Self.append(implied.count, to: &output)
        for link in implied {
            // The flags above the eighth describe elements and properties, which a link without a place does
            // not have.
            let flags = UInt8(truncatingIfNeeded: link.flags.rawValue)
            output.append(contentsOf: [link.kind.rawValue, flags, link.base.rawValue])
            Self.append(link.reference.utf8.count, to: &output)
            output.append(contentsOf: link.reference.utf8)
        }
    }

    private func appendMarks(to output: inout [UInt8]) {
        Self.append(marks.count, to: &output)
        var last = 0
        for mark in marks {
            output.append(mark.kind.rawValue)
            Self.append(mark.offset - last, to: &output)
            if mark.kind == .integrity { Self.append(mark.occurrence, to: &output) }
            last = mark.offset
        }
    }

    /// Appends a 32-bit little-endian integer.
    private static func append(integer: UInt32, to output: inout [UInt8]) {
        for place in 0..<4 { output.append(UInt8(truncatingIfNeeded: integer >> UInt32(8 * place))) }
    }

    private static func append(_ number: Int, to output: inout [UInt8]) {
        var rest = UInt(number)
        while rest >= 0x80 {
            output.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        output.append(UInt8(rest))
    }

    /// Decodes the result of ``encoded()``. For any input, a decoded table is valid: the ranges ascend, are
    /// not empty and do not overlap, and marks refer to existing links. Throws ``MarkupError`` if the bytes
    /// are damaged or have another version.
    package init(decoding bytes: Span<UInt8>) throws(MarkupError) {
        self = try bytes.withUnsafeBufferPointer { (bytes) throws(MarkupError) in try LinkTable(bytes) }
    }

    private init(_ bytes: Bytes) throws(MarkupError) {
        var reader = TableReader(bytes: bytes)
        let version = try reader.byte()
        let format = version & ~Self.versionWithNotes
        let isCurrent = format == Self.version || format == Self.versionWithInlineScripts
        guard isCurrent || format == Self.versionWithoutChecksum else { throw .otherVersion(version) }
        let presentParts = try reader.byte()
        guard (presentParts & 64 != 0) == (version & Self.versionWithNotes != 0),
            let encoding = TextEncoding(rawValue: try reader.byte())
        else { throw reader.damage }
        if isCurrent {
            let sum = try reader.integer()
            guard sum == Self.checksum(of: bytes) else { throw reader.damage }
        }
        self.init(encoding: encoding, isTranscoded: presentParts & 1 != 0)
        if presentParts & 2 != 0 { base = try reader.text() }
        if presentParts & 4 != 0 { title = try reader.text() }
        if presentParts & 16 != 0 { robots = try reader.text() }
        var shapes: [Shape] = []
        for _ in 0..<(try reader.count(bytesEach: 4)) {
            let kind = LinkKind(rawValue: try reader.byte())
            let word = UInt16(try reader.byte()) | UInt16(try reader.byte()) << 8
            let context = LinkContext(rawValue: word & ((1 << Self.contextBits) - 1))
            let flags = LinkFlags(rawValue: UInt16(try reader.byte()) | ((word >> Self.contextBits) << 8))
            guard let kind, let context, flags.rawValue <= LinkFlags.allBits else { throw reader.damage }
            shapes.append(Shape(kind: kind, context: context, flags: flags))
        }
        let count = try reader.count(bytesEach: 3)
        occurrences.reserveCapacity(count)
        var end = 0
        for _ in 0..<count {
            let start = end + (try reader.number())
            let length = try reader.number()
            let shape = try reader.number()
            end = start + length
            guard length > 0, end < Self.maxOffset, shape < shapes.count else { throw reader.damage }
            occurrences.append(
                LinkOccurrence(
                    range: start..<end, kind: shapes[shape].kind, context: shapes[shape].context,
                    flags: shapes[shape].flags))
        }
        if presentParts & 8 != 0 { implied = try reader.readImplied() }
        if presentParts & 32 != 0 { marks = try reader.marks(below: Self.maxOffset, links: count) }
        if presentParts & 64 != 0 { notes = try reader.notes() }
        if format == Self.versionWithInlineScripts { inlineScripts = try reader.integer() }
        if presentParts & 128 != 0 {
            let reasons = try reader.byte()
            guard 1...RenderReasons.allBits ~= reasons else { throw reader.damage }
            renderReasons = RenderReasons(rawValue: reasons)
        }
        guard reader.isAtEnd else { throw reader.damage }
    }

    /// A reader of the stored format. Each read throws if the bytes are damaged.
    private struct TableReader {
        let bytes: Bytes
        private var index = 0

        init(bytes: Bytes) {
            self.bytes = bytes
        }

        var isAtEnd: Bool { index == bytes.count }
        var damage: MarkupError { .damaged(offset: index) }

        mutating func byte() throws(MarkupError) -> UInt8 {
            guard index < bytes.count else { throw damage }
            index += 1
            return bytes[index - 1]
        }

        /// Reads a 32-bit little-endian integer.
        mutating func integer() throws(MarkupError) -> UInt32 {
            var value: UInt32 = 0
            for place in 0..<4 { value |= UInt32(try byte()) << UInt32(8 * place) }
            return value
        }

        /// Reads a variable-length integer below 2^42, so that sums of a few cannot overflow.
        mutating func number() throws(MarkupError) -> Int {
            var value = 0
            for shift in stride(from: 0, through: 35, by: 7) {
                let next = try byte()
                value |= Int(next & 0x7F) << shift
                if next < 0x80 { return value }
            }
            throw damage
        }

        /// Reads the number of items that follow, which is at most the number that the remaining bytes can
        /// contain.
        mutating func count(bytesEach: Int) throws(MarkupError) -> Int {
            let count = try number()
            guard count <= (bytes.count - index) / bytesEach else { throw damage }
            return count
        }

        mutating func readImplied() throws(MarkupError) -> [ImpliedLink] {
            var links: [ImpliedLink] = []
            for _ in 0..<(try count(bytesEach: 4)) {
                let kind = LinkKind(rawValue: try byte())
                let flags = LinkFlags(rawValue: UInt16(try byte()))
                let base = ImpliedLink.Base(rawValue: try byte())
                guard let kind, let base else { throw damage }
                links.append(ImpliedLink(try text(), kind, flags, from: base))
            }
            return links
        }

        mutating func marks(below limit: Int, links: Int) throws(MarkupError) -> [DocumentMark] {
            var marks: [DocumentMark] = []
            var offset = 0
            for _ in 0..<(try count(bytesEach: 2)) {
                guard let kind = DocumentMark.Kind(rawValue: try byte()) else { throw damage }
                offset += try number()
                let link = kind == .integrity ? try number() : 0
                guard offset < limit, kind != .integrity || link < links else { throw damage }
                marks.append(DocumentMark(kind, at: offset, occurrence: link))
            }
            return marks
        }

        mutating func notes() throws(MarkupError) -> [LoaderNote] {
            let count = try count(bytesEach: 4)
            guard count > 0 else { throw damage }
            var notes: [LoaderNote] = []
            for _ in 0..<count {
                let kind = LoaderNote.Kind(rawValue: try byte())
                let link = LinkKind(rawValue: try byte())
                guard let kind, let link else { throw damage }
                let name = try text()
                notes.append(LoaderNote(kind, try text(), name: name, link: link))
            }
            return notes
        }

        mutating func text() throws(MarkupError) -> String {
            let length = try count(bytesEach: 1)
            let part = bytes.part(index..<index + length)
            guard let text = String(validating: part, as: UTF8.self) else { throw damage }
            index += length
            return text
        }
    }
}

/// The reason why a stored ``LinkTable`` could not be decoded.
package enum MarkupError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Another version of the scanners wrote the table. Scan the body again.
    case otherVersion(UInt8)
    /// The bytes are not a link table, so the store is damaged. Scan the body again.
    case damaged(offset: Int)

    package var description: String {
        switch self {
        case .otherVersion(let version):
            "the link table is of version \(version), this program reads \(LinkTable.version); scan the body again"
        case .damaged(let offset):
            "the link table is damaged at its byte \(offset); scan the body again"
        }
    }
}
