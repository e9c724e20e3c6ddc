internal import Codings
internal import Database
internal import Web

/// The content of a line of the journal. Most JSON keys have one letter, because there are many lines:
///
/// | key | member | | key | member |
/// | --- | --- | --- | --- | --- |
/// | `r` | URL | | `t`, `u` | times of request and response |
/// | `v` | id of the snapshot | | `m` | media type |
/// | `q` | `RequestKey` | | `w` | referrer |
/// | `x` | `VaryKey` | | `h` | header block |
/// | `s` | status | | `b`, `k` | SHA-256 and form of the body |
/// | `o` | role | | `c` | last snapshot that confirmed it |
/// | `f` | flags | | | |
///
/// A line without a status but with `c` is a confirmation. Lines with `body` describe bodies, and lines with
/// `sites` the sites, snapshots and pins.
enum JournalLine {
    typealias Response = ResponseLine<String>
    typealias Body = BodyLine<String>

    /// A row of `response`, with URLs and digests in place of row numbers.
    struct ResponseLine<Text: LineText> {
        var href: Text
        var snapshot: Int64
        var request: Text
        var variant: Text
        var status: Int64
        var role: Int64
        var flags: Int64
        var requested: Int64
        var fetched: Int64
        var type: Text?
        var referrer: Text?
        var fields: Text
        var sha256: Text?
        var form: Text?
        var confirmed: Int64 = 0
    }

    /// A plain response that a later snapshot of its site received again.
    struct Confirmation: LineWritable {
        var href: String
        var snapshot: Int64
        var confirmed: Int64
        var flags: Int64
        var requested: Int64
        var fetched: Int64
    }

    /// A row of `body`.
    struct BodyLine<Text: LineText> {
        var sha256: Text
        var form: Text
        var byteCount: Int64
        var title: Text?
        var md5: Text?
        /// The location in a pack, or nil if the body is in a file of its own or in the line.
        var place: PackLocation?
        /// The body in Base64, if it is stored in the line.
        var bytes: Text?
    }

    /// All sites, snapshots and pins at a point in time.
    struct StoreState: JSONWritable {
        /// The time in microseconds since 1970. A state that was read from a damaged database has 0, so that
        /// it has the lowest priority.
        var time: Int64
        /// The version of the tables, or 0 if an earlier version of Larder wrote the line.
        var schema: Int64 = Schema.version
        var sites: [Site] = []
        var snapshots: [Snapshot] = []
        var pins: [Pin] = []

        struct Site: JSONWritable {
            var id: Int64
            var name: String
            var start: String
            var published: Int64?
            var settings: String
            var overlay: Int64?
            /// The highest snapshot number that was used for the site.
            var snapshots: Int64 = 0
        }

        struct Snapshot: JSONWritable {
            var id: Int64
            var site: Int64
            var started: Int64
            var finished: Int64?
            var base: Int64?
            var confirmed: Int64 = 0
            /// The paths of the archives from which the snapshot was imported, one per line.
            var archive: String?
            /// The number among the snapshots of its site, or 0 if an earlier version of Larder wrote the
            /// line.
            var number: Int64 = 0
        }

        struct Pin: JSONWritable {
            var kind: String
            var value: String
            var added: Int64
        }
    }

    /// Several lines, each with its checksum, compressed to a zstd frame.
    struct CompressedLines: LineWritable {
        let byteCount: Int
        /// The frame in Base64.
        let frame: String
    }

    case response(Response)
    case confirmation(Confirmation)
    case body(Body)
    case state(StoreState)

    /// Returns nil if the line is of an unknown kind, for example of a later version of Larder.
    init?(_ json: JSONValue) {
        if let line = Response(json) {
            self = .response(line)
        } else if let line = Confirmation(json) {
            self = .confirmation(line)
        } else if let line = Body(json) {
            self = .body(line)
        } else if let line = StoreState(json) {
            self = .state(line)
        } else {
            return nil
        }
    }
}

extension JSONValue {
    fileprivate func integer(_ key: String) -> Int64? { self[key]?.int.map { Int64($0) } }
}

extension JournalLine.ResponseLine<String> {
    init?(_ json: JSONValue) {
        guard let href = json["r"]?.string, let snapshot = json.integer("v"), let status = json.integer("s"),
            let fields = json["h"]?.string, let requested = json.integer("t"), let fetched = json.integer("u")
        else { return nil }
        self.init(
            href: href, snapshot: snapshot, request: json["q"]?.string ?? "",
            variant: json["x"]?.string ?? "",
            status: status, role: json.integer("o") ?? 0, flags: json.integer("f") ?? 0, requested: requested,
            fetched: fetched, type: json["m"]?.string, referrer: json["w"]?.string, fields: fields,
            sha256: json["b"]?.string, form: json["k"]?.string, confirmed: json.integer("c") ?? 0)
    }
}

extension JournalLine.Confirmation {
    init?(_ json: JSONValue) {
        guard let href = json["r"]?.string, let snapshot = json.integer("v"),
            let confirmed = json.integer("c"),
            let requested = json.integer("t"), let fetched = json.integer("u")
        else { return nil }
        self.init(
            href: href, snapshot: snapshot, confirmed: confirmed, flags: json.integer("f") ?? 0,
            requested: requested, fetched: fetched)
    }

    func writeMembers(to line: inout LineWriter) {
        line.member("r", href)
        line.member("v", snapshot)
        if flags != 0 { line.member("f", flags) }
        line.member("t", requested)
        line.member("u", fetched)
        line.member("c", confirmed)
    }
}

extension JournalLine.ResponseLine: LineWritable {
    func writeMembers(to line: inout LineWriter) {
        line.member("r", href)
        line.member("v", snapshot)
        if !request.isEmpty { line.member("q", request) }
        if !variant.isEmpty { line.member("x", variant) }
        line.member("s", status)
        if role != 0 { line.member("o", role) }
        if flags != 0 { line.member("f", flags) }
        line.member("t", requested)
        line.member("u", fetched)
        line.memberIfPresent("m", type)
        line.memberIfPresent("w", referrer)
        line.member("h", fields)
        line.memberIfPresent("b", sha256)
        line.memberIfPresent("k", form)
        if confirmed > 0 { line.member("c", confirmed) }
    }
}

extension JournalLine.BodyLine<String> {
    init?(_ json: JSONValue) {
        guard let sha256 = json["body"]?.string, let form = json["form"]?.string,
            let size = json.integer("size")
        else { return nil }
        var place: PackLocation?
        if let pack = json.integer("pack"), let start = json.integer("start") {
            place = PackLocation(
                pack: pack, start: start,
                frameByteCount: json.integer("frame").map { Int(clamping: $0) })
        }
        self.init(
            sha256: sha256, form: form, byteCount: size, title: json["title"]?.string,
            md5: json["md5"]?.string,
            place: place, bytes: json["bytes"]?.string)
    }

    init(
        sha256: String, form: String, byteCount: Int64, title: String? = nil, md5: String? = nil,
        place: PackLocation? = nil, bytes: [UInt8]?
    ) {
        self.init(
            sha256: sha256, form: form, byteCount: byteCount, title: title, md5: md5, place: place,
            bytes: bytes.map { Base64.encode($0) })
    }

    /// The bytes that are stored in the line.
    var inline: [UInt8]? { bytes.flatMap { Base64.decode($0) } }
}

extension JournalLine.BodyLine: LineWritable {
    func writeMembers(to line: inout LineWriter) {
        line.member("body", sha256)
        line.member("form", form)
        line.member("size", byteCount)
        line.memberIfPresent("title", title)
        line.memberIfPresent("md5", md5)
        if let place {
            line.member("pack", place.pack)
            line.member("start", place.start)
            if let frame = place.frame { line.member("frame", frame) }
        }
        line.memberIfPresent("bytes", bytes)
    }
}

extension JournalLine.CompressedLines {
    /// Returns nil if there is too little to compress or zstd does not make it smaller.
    init?(_ lines: [UInt8]) {
        guard lines.count >= Limits.minCompressedBodyBytes, let frame = ZstdFrame.compress(lines) else {
            return nil
        }
        self.init(byteCount: lines.count, frame: Base64.encode(frame))
    }

    init?(_ json: JSONValue) {
        guard let frame = json["zstd"]?.string, let byteCount = json["bytes"]?.int else { return nil }
        self.init(byteCount: byteCount, frame: frame)
    }

    /// The lines, or nil if the frame is damaged or zstd is not available.
    var lines: [UInt8]? {
        guard (0...Journal.maxLineBytes).contains(byteCount) else { return nil }
        return Base64.decode(frame).flatMap { ZstdFrame.decompress($0, byteCount: byteCount) }
    }

    func writeMembers(to line: inout LineWriter) {
        line.member("zstd", frame)
        line.member("bytes", Int64(byteCount))
    }
}

extension JournalLine.StoreState {
    init?(_ json: JSONValue) {
        guard let time = json.integer("time"), let sites = json["sites"]?.array,
            let snapshots = (json["snapshots"] ?? json["visits"])?.array
        else { return nil }
        self.init(
            time: time, schema: json.integer("schema") ?? 0, sites: sites.compactMap { Site($0) },
            snapshots: snapshots.compactMap { Snapshot($0) },
            pins: json["pins"]?.array?.compactMap { Pin($0) } ?? [])
    }

    func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("time", time)
            object.member("schema", schema)
            object.member("sites", sites)
            object.member("snapshots", snapshots)
            object.member("pins", pins)
        }
    }
}

extension JournalLine.StoreState.Site {
    init?(_ json: JSONValue) {
        guard let id = json.integer("id"), let name = json["name"]?.string, let start = json["start"]?.string
        else {
            return nil
        }
        self.init(
            id: id, name: name, start: start, published: json.integer("published"),
            settings: json["settings"]?.string ?? "", overlay: json.integer("overlay"),
            snapshots: json.integer("snapshots") ?? 0)
    }

    func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("id", id)
            object.member("name", name)
            object.member("start", start)
            object.memberIfPresent("published", published)
            object.member("settings", settings)
            object.memberIfPresent("overlay", overlay)
            object.member("snapshots", snapshots)
        }
    }
}

extension JournalLine.StoreState.Snapshot {
    init?(_ json: JSONValue) {
        guard let id = json.integer("id"), let site = json.integer("site"),
            let started = json.integer("started")
        else {
            return nil
        }
        self.init(
            id: id, site: site, started: started, finished: json.integer("finished"),
            base: json.integer("base"), confirmed: json.integer("confirmed") ?? 0,
            archive: json["archive"]?.string, number: json.integer("number") ?? 0)
    }

    func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("id", id)
            object.member("site", site)
            object.member("started", started)
            object.memberIfPresent("finished", finished)
            object.memberIfPresent("base", base)
            if confirmed > 0 { object.member("confirmed", confirmed) }
            object.memberIfPresent("archive", archive)
            object.member("number", number)
        }
    }
}

extension JournalLine.StoreState.Pin {
    init?(_ json: JSONValue) {
        guard let kind = json["kind"]?.string, let value = json["value"]?.string else { return nil }
        self.init(kind: kind, value: value, added: json.integer("added") ?? 0)
    }

    func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("kind", kind)
            object.member("value", value)
            object.member("added", added)
        }
    }
}

// MARK: - LineWriter

/// A type that writes its members into a line of the journal.
protocol LineWritable {
    func writeMembers(to line: inout LineWriter)
}

/// A string value of a line.
protocol LineText {
    /// Reads a column.
    init(_ row: Row, _ column: Int32)

    var isEmpty: Bool { get }
    /// Writes the string with its quotes.
    func write(to line: inout LineWriter)
}

extension LineText {
    /// Reads a column, or returns nil if it is null.
    init?(optional row: Row, _ column: Int32) {
        if row.isNull(column) { return nil }
        self.init(row, column)
    }
}

/// A buffer of journal lines. A collection writes millions of lines, so their members are copied straight
/// from the rows.
struct LineWriter {
    private(set) var bytes: [UInt8] = []

    /// Adds a line with the members that `line` writes.
    mutating func add(_ line: some LineWritable) {
        let start = begin()
        bytes.append(UInt8(ascii: "{"))
        line.writeMembers(to: &self)
        bytes.append(UInt8(ascii: "}"))
        end(start)
    }

    mutating func add(json: [UInt8]) {
        let start = begin()
        bytes += json
        end(start)
    }

    mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

    private mutating func begin() -> Int {
        bytes += "00000000 ".utf8
        return bytes.count
    }

    private mutating func end(_ start: Int) {
        let sum = bytes.withUnsafeBufferPointer {
            Journal.checksum(UnsafeBufferPointer(rebasing: $0[start...]))
        }
        for place in 0..<8 {
            bytes[start - 9 + place] = Self.digits[Int(sum >> UInt32(28 - 4 * place) & 15)]
        }
        bytes.append(0x0A)
    }

    mutating func member(_ key: StaticString, _ text: some LineText) {
        writeKey(key)
        text.write(to: &self)
    }

    mutating func memberIfPresent(_ key: StaticString, _ text: (some LineText)?) {
        if let text { member(key, text) }
    }

    mutating func member(_ key: StaticString, _ integer: Int64) {
        writeKey(key)
        if integer < 0 { bytes.append(UInt8(ascii: "-")) }
        let start = bytes.count
        var rest = integer.magnitude
        repeat {
            bytes.append(UInt8(truncatingIfNeeded: 0x30 + rest % 10))
            rest /= 10
        } while rest > 0
        bytes[start...].reverse()
    }

    private mutating func writeKey(_ key: StaticString) {
        if bytes.last != UInt8(ascii: "{") { bytes.append(UInt8(ascii: ",")) }
        bytes.append(Self.quote)
        bytes.append(contentsOf: UnsafeBufferPointer(start: key.utf8Start, count: key.utf8CodeUnitCount))
        bytes.append(Self.quote)
        bytes.append(UInt8(ascii: ":"))
    }

    /// - Precondition: `utf8` is valid UTF-8.
    mutating func string(_ utf8: UnsafeBufferPointer<UInt8>) { JSONWriter.quote(utf8, to: &bytes) }

    mutating func hexadecimal(_ blob: UnsafeBufferPointer<UInt8>) {
        bytes.append(Self.quote)
        for byte in blob {
            bytes.append(Self.digits[Int(byte >> 4)])
            bytes.append(Self.digits[Int(byte & 15)])
        }
        bytes.append(Self.quote)
    }

    mutating func base64(_ blob: UnsafeBufferPointer<UInt8>) {
        bytes.append(Self.quote)
        Base64.encode(Span(_unsafeElements: blob), to: &bytes)
        bytes.append(Self.quote)
    }

    private static let quote: UInt8 = 0x22
    private static let digits = Array("0123456789abcdef".utf8)
}

extension String: LineText {
    init(_ row: Row, _ column: Int32) { self = row.text(column) }

    func write(to line: inout LineWriter) {
        var text = self
        text.withUTF8 { line.string($0) }
    }
}

/// A column of the current row of a statement. It is valid as long as the row.
struct RowText: LineText {
    /// The way in which a column is written.
    enum Form {
        case text, hexadecimal, base64
    }

    private let row: Row
    private let column: Int32
    private let form: Form

    init(_ row: Row, _ column: Int32) { self.init(row, column, .text) }

    init(_ row: Row, _ column: Int32, _ form: Form) {
        self.row = row
        self.column = column
        self.form = form
    }

    var isEmpty: Bool { row.withBytes(column) { $0.isEmpty } }

    func write(to line: inout LineWriter) {
        row.withBytes(column) { bytes in
            switch form {
            case .hexadecimal: line.hexadecimal(bytes)
            case .base64: line.base64(bytes)
            // Text that is not valid UTF-8 would not be valid JSON.
            case .text where bytes.contains { $0 >= 0x80 }:
                String(decoding: bytes, as: UTF8.self).write(to: &line)
            case .text: line.string(bytes)
            }
        }
    }
}
