package import Web

/// Everything that is known of the links of one body: what a store keeps beside it.
package struct LinkTable: Hashable, Sendable {
    /// The document's own `<base href>`, read but not resolved.
    package var base: String?
    /// The encoding the body is written in.
    package var encoding: TextEncoding
    /// The body's encoding has no ASCII in it: the ranges count in ``TextEncoding/decode(_:)``'s form of the
    /// body.
    package var isTranscoded: Bool
    /// The document's title with its white space collapsed, at most 256 bytes.
    package var title: String?
    /// What the document's `<meta name=robots>` say, with commas between.
    package var robots: String?
    /// Ascending by place; no two share a byte.
    package var occurrences: [LinkOccurrence]
    /// Links that stand nowhere in one piece; none twice.
    package var implied: [ImpliedLink]
    /// What in a document is no link, and changes where it is shown elsewhere. Ascending by place.
    package var marks: [DocumentMark]
    /// What the body says to loaders of modules, and asks of them, in its order.
    package var notes: [LoaderNote]
    /// Why running the body's scripts may bring more than reading them.
    package var renderReasons: RenderReasons

    package init(
        encoding: TextEncoding = .utf8, isTranscoded: Bool = false, base: String? = nil, title: String? = nil,
        robots: String? = nil, occurrences: [LinkOccurrence] = [], implied: [ImpliedLink] = [],
        marks: [DocumentMark] = [], notes: [LoaderNote] = [], renderReasons: RenderReasons = []
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
    }

    /// The bytes that the ranges count in: the body itself, or its UTF-8 form.
    package func source(of body: Span<UInt8>) -> [UInt8]? {
        isTranscoded ? encoding.decode(body) : nil
    }

    /// The reference as a browser reads it, in UTF-8, before any URL parsing.
    ///
    /// `source` is the body, or its UTF-8 form when the table ``isTranscoded``. Empty when the range is not
    /// inside.
    package func reference(_ occurrence: LinkOccurrence, in source: Span<UInt8>) -> [UInt8] {
        guard occurrence.range.lowerBound >= 0, occurrence.range.upperBound <= source.count else { return [] }
        return source.withUnsafeBufferPointer { bytes in
            var reader = ReferenceReader(encoding: isTranscoded ? .utf8 : encoding)
            return reader.withReference(bytes.part(occurrence.range), occurrence.context) { Array($0) }
        }
    }
}

/// One reference as it stands in a body.
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

    /// What a crawl does with it: its kind's role.
    package var role: LinkRole { kind.role }
}

/// A link that a body makes without writing it down in one piece: a script puts a chunk's address together
/// from its number, a table of hashes and a suffix. It has no place, so nothing can be spliced there.
package struct ImpliedLink: Hashable, Sendable {
    /// What the reference is relative to.
    package enum Base: UInt8, Sendable {
        /// The body, as for any other link.
        case body = 0
        /// The folder that a bundler's output was put into, which no file of it names; see
        /// ``reference(fromBodyAt:)``.
        case build = 1
        /// The body's own path, which goes where an asterisk stands; see ``reference(fromBodyAt:)``.
        case path = 2
        /// A page of a build of Next.js, whose list of pages the body is; see ``reference(fromBodyAt:)``.
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

    /// The reference as it is relative to the body at `path`.
    ///
    /// A bundler writes the paths below its output folder into the files there: if a script at
    /// `/app/assets/a.js` names `assets/b.js`, then the output folder is `/app/`. When the first folder of
    /// the reference is none of the body's own, the body stands in the output folder itself.
    ///
    /// With an asterisk it is the body's path that is put into the reference, without a slash at its end and
    /// from behind the root that a number sign marks: `/docs#/data*.json` for `/docs/a/` is
    /// `/docs/data/a.json`, and for `/docs/`, of which nothing is left, `/docs/data/index.json`.
    ///
    /// The list of pages at `/docs/_next/static/12/_ssgManifest.js` says of a page `/a` that its data is at
    /// `/docs/_next/data/12/a.json`.
    package func reference(fromBodyAt path: String) -> String {
        if base == .page { return reference(inBuildOf: path) }
        if base == .path { return reference(withPath: path) }
        guard base == .build, !reference.hasPrefix("/"),
            let slash = reference.utf8.firstIndex(of: UInt8(ascii: "/"))
        else { return reference }
        let folder = Array(reference.utf8[...slash])
        let segments = path.utf8.prefix { $0 != UInt8(ascii: "?") }.split(
            separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        // The last segment is the file, the first one is what stands in front of the path.
        guard let place = segments.dropLast().lastIndex(where: { $0.elementsEqual(folder.dropLast()) }) else {
            return reference
        }
        return String(repeating: "../", count: segments.count - 1 - place) + reference
    }

    private func reference(inBuildOf path: String) -> String {
        let segments = path.split(separator: "/", omittingEmptySubsequences: false)
        guard segments.count >= 4, segments.suffix(4).starts(with: ["_next", "static"]) else { return "" }
        let (root, build) = (segments.dropLast(4).joined(separator: "/"), segments[segments.count - 2])
        let page = reference.hasSuffix("/") ? reference + "index" : reference
        return "\(root)/_next/data/\(build)\(page).json"
    }

    private func reference(withPath path: String) -> String {
        let parts = reference.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        let root = parts.count == 2 ? String(parts[0]) : ""
        let pattern = parts.last.map(String.init) ?? ""
        guard let mark = pattern.utf8.firstIndex(of: UInt8(ascii: "*")) else { return root + pattern }
        var own = path.hasPrefix(root) ? path.dropFirst(root.count) : Substring(path)
        while own.hasSuffix("/") { own.removeLast() }
        let end = pattern[pattern.index(after: mark)...]
        if own.isEmpty, !end.hasPrefix("/") { own = "/index" }
        // SvelteKit's name for what belongs to `a.html`.
        let isFile = own.hasSuffix(".html") && end.hasPrefix("/__")
        return root + String(pattern[..<mark]) + own + (isFile ? end.dropFirst() : end)
    }
}

/// A place of a document that is no link, and changes where the document is shown elsewhere.
package struct DocumentMark: Hashable, Sendable {
    /// The raw values are stored.
    package enum Kind: UInt8, Sendable {
        /// The words `content-security-policy` in the `http-equiv` of a `<meta>`.
        case policy = 1
        /// The word `referrer` that is the name of a `<meta>`.
        case referrer = 2
        /// The name of an attribute `referrerpolicy`.
        case referrerPolicy = 3
        /// The name of an attribute `integrity`.
        case integrity = 4
        /// Where the first script of a document that runs scripts may stand.
        case start = 5
        /// The same of what may be a piece of a document, which whoever asks for it puts somewhere.
        case startIfShown = 6
    }

    package var kind: Kind
    /// Where what it says of itself begins.
    package var place: Int
    /// Of an ``Kind/integrity``: the number of the occurrence of whose body it speaks. Else 0.
    package var link: Int

    package init(_ kind: Kind, at place: Int, link: Int = 0) {
        self.kind = kind
        self.place = place
        self.link = link
    }
}

// MARK: - The stored form

// The stored form: version, flags, encoding, a checksum of all other bytes, base, title and what is said to robots; then each different
// (kind, context, flags) once, the flags beyond the eighth in the bits that a context leaves free; then for
// each occurrence the gap from the one before, the length, and the number of its (kind, context, flags), as
// variable-length integers; then, if there are any, the implied links, the marks, the notes and the reasons.
// About four bytes a link.
extension LinkTable {
    /// The version of the stored form, and of what the scanners look for: 2 has what scripts write and open,
    /// 3 the marks of documents, 4 the notes for loaders, 5 lists of pages of Next.js, 6 models, loaders with
    /// a choice for each chunk, and files below the folders of builds, 7 what scripts show or play, 8 refreshes
    /// of XHTML by a prefix, 11 the checksum. A body whose table has another version is scanned again when its links
    /// are needed. 9 and 10 were left out: they differ from 8 in one bit, and one flipped bit must not make a table with a
    /// checksum look like one without.
    package static let version: UInt8 = 11
    /// The last version without a checksum, which is still read.
    private static let versionWithoutChecksum: UInt8 = 8

    /// Set in the version of a table with notes: what such a body leads to is not told by its own links
    /// alone.
    private static let versionWithNotes: UInt8 = 128

    /// What the first two bytes of a stored table and its last one tell. Nil where there are none.
    package static func told(
        byEnds ends: [UInt8]
    ) -> (isCurrent: Bool, renderReasons: RenderReasons)? {
        guard ends.count == 3 else { return nil }
        let hasReasons = ends[1] & Self.hasReasons != 0 && ends[2] <= RenderReasons.largest
        return (ends[0] == version, hasReasons ? RenderReasons(rawValue: ends[2]) : [])
    }

    private static let hasReasons: UInt8 = 128

    /// Places in a body stay below this.
    private static let placeLimit = 1 << 40
    /// How many bits of its word a context uses.
    private static let contextBits: UInt16 = 13

    private struct Shape: Hashable {
        var kind: LinkKind
        var context: LinkContext
        var flags: LinkFlags
    }

    /// The table as bytes for a store.
    package func encoded() -> [UInt8] {
        var has: UInt8 = (isTranscoded ? 1 : 0) | (base == nil ? 0 : 2) | (title == nil ? 0 : 4)
        has |= (implied.isEmpty ? 0 : 8) | (robots == nil ? 0 : 16) | (marks.isEmpty ? 0 : 32)
        has |= (notes.isEmpty ? 0 : 64) | (renderReasons.isEmpty ? 0 : Self.hasReasons)
        let version = notes.isEmpty ? Self.version : Self.version | Self.versionWithNotes
        var output: [UInt8] = [version, has, encoding.rawValue, 0, 0, 0, 0]
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
        if !renderReasons.isEmpty { output.append(renderReasons.rawValue) }
        let sum = output.withUnsafeBufferPointer { Self.checksum(of: $0) }
        for place in 0..<4 {
            output[Self.checksumStart + place] = UInt8(truncatingIfNeeded: sum >> (8 * place))
        }
        return output
    }

    private static let checksumStart = 3
    private static let checksumEnd = 7

    /// FNV-1a of all bytes but the checksum itself.
    private static func checksum(of bytes: Bytes) -> UInt32 {
        var sum: UInt32 = 0x811C_9DC5
        for index in 0..<bytes.count where !(checksumStart..<checksumEnd).contains(index) {
            sum = (sum ^ UInt32(bytes[index])) &* 0x0100_0193
        }
        return sum
    }

    /// Whether bytes from a store are a table that can be read, or one of another version.
    package static func isSound(_ bytes: [UInt8]) -> Bool {
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
            // Those beyond the eighth speak of elements and properties, of which a link without a place has
            // none.
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
            Self.append(mark.place - last, to: &output)
            if mark.kind == .integrity { Self.append(mark.link, to: &output) }
            last = mark.place
        }
    }

    private static func append(_ number: Int, to output: inout [UInt8]) {
        var rest = UInt(number)
        while rest >= 0x80 {
            output.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        output.append(UInt8(rest))
    }

    /// Reads what ``encoded()`` made. Whatever the bytes are, the table that comes out is sound: places
    /// ascend, none is empty and no two overlap, and marks speak of links that are there.
    package init(decoding bytes: Span<UInt8>) throws(MarkupError) {
        self = try bytes.withUnsafeBufferPointer { (bytes) throws(MarkupError) in try LinkTable(bytes) }
    }

    private init(_ bytes: Bytes) throws(MarkupError) {
        var input = Input(bytes: bytes)
        let version = try input.byte()
        let form = version & ~Self.versionWithNotes
        guard form == Self.version || form == Self.versionWithoutChecksum else {
            throw .otherVersion(version)
        }
        let has = try input.byte()
        guard (has & 64 != 0) == (version & Self.versionWithNotes != 0),
            let encoding = TextEncoding(rawValue: try input.byte())
        else { throw input.damage }
        if form == Self.version {
            let sum = try input.integer()
            guard sum == Self.checksum(of: bytes) else { throw input.damage }
        }
        self.init(encoding: encoding, isTranscoded: has & 1 != 0)
        if has & 2 != 0 { base = try input.text() }
        if has & 4 != 0 { title = try input.text() }
        if has & 16 != 0 { robots = try input.text() }
        var shapes: [Shape] = []
        for _ in 0..<(try input.count(bytesEach: 4)) {
            let kind = LinkKind(rawValue: try input.byte())
            let word = UInt16(try input.byte()) | UInt16(try input.byte()) << 8
            let context = LinkContext(rawValue: word & ((1 << Self.contextBits) - 1))
            let flags = LinkFlags(rawValue: UInt16(try input.byte()) | ((word >> Self.contextBits) << 8))
            guard let kind, let context, flags.rawValue <= LinkFlags.largest else { throw input.damage }
            shapes.append(Shape(kind: kind, context: context, flags: flags))
        }
        let count = try input.count(bytesEach: 3)
        occurrences.reserveCapacity(count)
        var end = 0
        for _ in 0..<count {
            let start = end + (try input.number())
            let length = try input.number()
            let shape = try input.number()
            end = start + length
            guard length > 0, end < Self.placeLimit, shape < shapes.count else { throw input.damage }
            occurrences.append(
                LinkOccurrence(
                    range: start..<end, kind: shapes[shape].kind, context: shapes[shape].context,
                    flags: shapes[shape].flags))
        }
        if has & 8 != 0 { implied = try input.implied() }
        if has & 32 != 0 { marks = try input.marks(below: Self.placeLimit, links: count) }
        if has & 64 != 0 { notes = try input.notes() }
        if has & 128 != 0 {
            let reasons = try input.byte()
            guard 1...RenderReasons.largest ~= reasons else { throw input.damage }
            renderReasons = RenderReasons(rawValue: reasons)
        }
        guard input.isAtEnd else { throw input.damage }
    }

    private struct Input {
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

        /// Four bytes, the lowest first.
        mutating func integer() throws(MarkupError) -> UInt32 {
            var value: UInt32 = 0
            for place in 0..<4 { value |= UInt32(try byte()) << UInt32(8 * place) }
            return value
        }

        /// At most ``placeLimit``, so that sums of a few cannot overflow.
        mutating func number() throws(MarkupError) -> Int {
            var value = 0
            for shift in stride(from: 0, through: 35, by: 7) {
                let next = try byte()
                value |= Int(next & 0x7F) << shift
                if next < 0x80 { return value }
            }
            throw damage
        }

        /// How many of something follow: never more than there are bytes for.
        mutating func count(bytesEach: Int) throws(MarkupError) -> Int {
            let count = try number()
            guard count <= (bytes.count - index) / bytesEach else { throw damage }
            return count
        }

        mutating func implied() throws(MarkupError) -> [ImpliedLink] {
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
            var place = 0
            for _ in 0..<(try count(bytesEach: 2)) {
                guard let kind = DocumentMark.Kind(rawValue: try byte()) else { throw damage }
                place += try number()
                let link = kind == .integrity ? try number() : 0
                guard place < limit, kind != .integrity || link < links else { throw damage }
                marks.append(DocumentMark(kind, at: place, link: link))
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

/// Why a stored ``LinkTable`` was not read.
package enum MarkupError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The table was written by another version of the scanners: scan the body again.
    case otherVersion(UInt8)
    /// The bytes are no link table: the store is damaged; scan the body again.
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
