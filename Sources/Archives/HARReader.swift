internal import Digest
internal import Store
internal import Web

/// Reads HAR 1.2 one entry at a time. Everything else in the file is skipped without being loaded.
final class HARReader: ArchiveReader {
    private let input: ArchiveInput
    private let keeping: BodyKeeping
    private var cutter: EntryCutter
    private var entry: [UInt8] = []
    private var number = 0
    private var isOver = false

    /// The maximum size of an entry, which is loaded as a whole.
    private static let largestEntry = 256 << 20

    init(_ path: String, _ keeping: BodyKeeping, _ limits: ArchiveLimits) throws(ArchiveError) {
        input = try ArchiveInput(path)
        input.limits = limits
        self.keeping = keeping
        cutter = EntryCutter(limit: Self.largestEntry)
    }

    func next() throws(ArchiveError) -> ArchivedItem? {
        while !isOver {
            guard try input.fill() else {
                isOver = true
                guard cutter.isWhole else {
                    return .fault(
                        ArchiveFault(
                            input.damage ?? (cutter.hasBegun ? "it is truncated" : "it is not a HAR"),
                            at: input.place))
                }
                return nil
            }
            let (taken, cut) = cutter.take(input.available)
            input.skip(taken)
            switch cut {
            case nil: continue
            case .entry(let bytes)?:
                number += 1
                return try item(bytes)
            case .tooLarge?:
                number += 1
                return .fault(ArchiveFault("it is over \(Self.largestEntry) bytes", at: place))
            case .nonsense?:
                isOver = true
                return .fault(ArchiveFault("it is not a HAR", at: input.place))
            }
        }
        return nil
    }

    private var place: String { "\(input.name), entry \(number)" }

    private func item(_ bytes: [UInt8]) throws(ArchiveError) -> ArchivedItem {
        guard let json = try? JSONValue.parse(bytes.span) else {
            return .fault(ArchiveFault("it is not JSON", at: place))
        }
        guard let url = json["request"]?["url"]?.string, let answer = json["response"],
            let status = answer["status"]?.int
        else { return .fault(ArchiveFault("it has no request or no response", at: place)) }
        guard (100...999).contains(status) else {
            return .fault(ArchiveFault("it has no response", url: url, at: place))
        }
        let notes = json["_larder"].flatMap { ArchiveNotes($0) }
        var fields = Self.fields(answer["headers"])
        var body: ArchivedBody?
        let content = answer["content"]
        if let text = content?["text"]?.string {
            let bytes: [UInt8]
            if content?["encoding"]?.string?.lowercased() == "base64" {
                guard let decoded = Base64.decodeForgiving(text) else {
                    return .fault(ArchiveFault("its body is not base64", url: url, at: place))
                }
                bytes = decoded
            } else {
                bytes = Array(text.utf8)
                // Browsers write the decoded text of a body, so its original encoding is lost.
                if notes == nil { fields = Self.sayingUTF8(fields, bytes, content?["mimeType"]?.string) }
            }
            body = try kept(bytes)
            if let stated = content?["_sha256"]?.string, stated != body?.sha256.hex {
                body?.discard()
                return .fault(ArchiveFault("its body does not match its digest", url: url, at: place))
            }
        } else if (content?["size"]?.int ?? 0) > 0, (200..<300).contains(status) {
            return .fault(
                ArchiveFault("it does not contain its body: save the HAR with content", url: url, at: place))
        } else if (200..<300).contains(status) {
            body = try kept([])
        }
        if fields["Content-Type"] == nil, let type = content?["mimeType"]?.string, type.contains("/"),
            notes == nil
        {
            fields.append("Content-Type", type)
        }
        let date = json["startedDateTime"]?.string.flatMap { HTTPDate(iso8601: $0) }
        guard let date else {
            return .fault(ArchiveFault("it has no date", url: url, at: place))
        }
        var response = ArchivedResponse(
            url: url, status: status, fields: fields, body: body, fetched: date.secondsSinceEpoch)
        response.notes = notes
        response.method = json["request"]?["method"]?.string ?? "GET"
        response.requestFields = Self.fields(json["request"]?["headers"])
        if notes == nil, response.method != "GET" {
            let data = json["request"]?["postData"]
            response.requestKey = RequestKey(
                method: response.method, body: Array((data?["text"]?.string ?? "").utf8).span,
                type: data?["mimeType"]?.string.flatMap { MediaType($0) })
        }
        return .response(response)
    }

    private func kept(_ bytes: [UInt8]) throws(ArchiveError) -> ArchivedBody {
        let spool = BodySpool(keeping)
        try bytes.withBytes { (bytes) throws(ArchiveError) in try spool.take(bytes) }
        return try spool.finish()
    }

    /// Returns the header fields without the pseudo-header fields of HTTP/2.
    private static func fields(_ json: JSONValue?) -> HTTPFields {
        var fields = HTTPFields()
        for field in json?.array ?? [] {
            guard let name = field["name"]?.string, let value = field["value"]?.string, !name.hasPrefix(":")
            else {
                continue
            }
            // Some browsers join the values of equal names with line feeds.
            for line in value.split(separator: "\n", omittingEmptySubsequences: false) {
                fields.append(name, String(line))
            }
        }
        // The fields are parsed again, as if they were received.
        return HTTPFields(block: Array(fields.block.utf8).span)
    }

    private static func sayingUTF8(_ fields: HTTPFields, _ bytes: [UInt8], _ type: String?) -> HTTPFields {
        guard bytes.contains(where: { $0 >= 0x80 }), let text = fields["Content-Type"] ?? type,
            let parsed = MediaType(text), parsed.charset?.lowercased() != "utf-8"
        else { return fields }
        var fields = fields
        fields.set("Content-Type", "\(parsed.essence); charset=utf-8")
        return fields
    }
}

/// Finds the objects in the array `log.entries` of a JSON text that arrives in pieces, and returns the text
/// of each.
struct EntryCutter {
    enum Cut {
        case entry([UInt8])
        case tooLarge
        case nonsense
    }

    private let limit: Int
    private var depth = 0
    private var isInString = false
    private var isEscaped = false
    /// The last string at the first two levels, which may be the name of a member.
    private var word: [UInt8] = []
    private var keys: [[UInt8]] = []
    private var isInEntries = false
    private var entry: [UInt8] = []
    private var isTooLarge = false
    private(set) var hasBegun = false

    private static let deepest = 10_000

    init(limit: Int) {
        self.limit = limit
    }

    /// Whether the text is complete.
    var isWhole: Bool { hasBegun && depth == 0 && !isInString }

    /// Consumes bytes up to the end of an entry. Returns the number of consumed bytes, and the entry if one
    /// has ended.
    mutating func take(_ bytes: UnsafeRawBufferPointer) -> (taken: Int, Cut?) {
        var copied = 0
        // Whether this depth is inside an entry.
        func isCut(_ depth: Int) -> Bool { isInEntries && depth >= 4 }
        for (place, byte) in bytes.enumerated() {
            if isInString {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isInString = false
                } else if depth <= 2, word.count < 64 {
                    word.append(byte)
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""):
                isInString = true
                if depth <= 2 { word = [] }
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                if depth == 0, byte != UInt8(ascii: "{") || hasBegun { return (place + 1, .nonsense) }
                hasBegun = true
                depth += 1
                guard depth < Self.deepest else { return (place + 1, .nonsense) }
                if depth <= 3 { keys = Array(keys.prefix(depth - 2 < 0 ? 0 : depth - 2)) + [word] }
                if depth == 3, byte == UInt8(ascii: "["), keys == [Array("log".utf8), Array("entries".utf8)] {
                    isInEntries = true
                }
                if isInEntries, depth == 4 { (entry, copied, isTooLarge) = ([], place, false) }
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                guard depth > 0 else { return (place + 1, .nonsense) }
                depth -= 1
                if isInEntries, depth == 3 {
                    append(bytes, copied..<place + 1)
                    defer { entry = [] }
                    return (place + 1, isTooLarge ? .tooLarge : .entry(entry))
                }
                if depth == 2 { isInEntries = false }
            default:
                if depth == 0, byte != 0x20, byte != 0x0A, byte != 0x0D, byte != 0x09, byte < 0x80 {
                    return (place + 1, .nonsense)
                }
            }
        }
        if isCut(depth) { append(bytes, copied..<bytes.count) }
        return (bytes.count, nil)
    }

    private mutating func append(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) {
        guard !isTooLarge, entry.count + range.count <= limit else {
            isTooLarge = true
            entry = []
            return
        }
        entry.append(contentsOf: bytes[range])
    }
}
