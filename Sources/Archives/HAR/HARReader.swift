internal import Digest
internal import Store
internal import Web

/// Reads HAR 1.2 one entry at a time. Everything else in the file is skipped without being loaded.
final class HARReader: ArchiveReader {
    private let input: ArchiveInput
    private let storage: BodyStorage
    private var splitter: HAREntrySplitter
    /// The number of the current entry, from 1.
    private var number = 0
    private var isAtEnd = false

    /// The maximum size of an entry, which is loaded as a whole. A larger entry is refused.
    private static let maxEntryBytes = 256 << 20

    init(_ path: String, _ storage: BodyStorage, _ limits: ArchiveLimits) throws(ArchiveError) {
        input = try ArchiveInput(path)
        input.limits = limits
        self.storage = storage
        splitter = HAREntrySplitter(maxEntryBytes: Self.maxEntryBytes)
    }

    func next() throws(ArchiveError) -> ArchivedItem? {
        while !isAtEnd {
            guard try input.fill() else {
                isAtEnd = true
                guard splitter.isComplete else {
                    return .fault(
                        ArchiveFault(
                            input.damage ?? (splitter.hasBegun ? "it is truncated" : "it is not a HAR"),
                            at: input.place))
                }
                return nil
            }
            let (consumed, result) = splitter.consume(input.available)
            input.skip(consumed)
            switch result {
            case nil: continue
            case .entry(let bytes)?:
                number += 1
                return try parseEntry(bytes)
            case .tooLarge?:
                number += 1
                return .fault(ArchiveFault("it is over \(Self.maxEntryBytes) bytes", at: place))
            case .malformed?:
                isAtEnd = true
                return .fault(ArchiveFault("it is not a HAR", at: input.place))
            }
        }
        return nil
    }

    private var place: String { "\(input.name), entry \(number)" }

    /// Returns the response of an entry, or a fault.
    private func parseEntry(_ bytes: [UInt8]) throws(ArchiveError) -> ArchivedItem {
        guard let json = try? JSONValue.parse(bytes.span) else {
            return .fault(ArchiveFault("it is not JSON", at: place))
        }
        guard let url = json["request"]?["url"]?.string, let jsonResponse = json["response"],
            let status = jsonResponse["status"]?.int
        else { return .fault(ArchiveFault("it has no request or no response", at: place)) }
        guard (100...999).contains(status) else {
            return .fault(ArchiveFault("it has no response", url: url, at: place))
        }
        let notes = json["_larder"].flatMap { ArchiveNotes($0) }
        var fields = Self.fields(jsonResponse["headers"])
        var body: ArchivedBody?
        let content = jsonResponse["content"]
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
                if notes == nil { fields = Self.declaringUTF8(fields, bytes, content?["mimeType"]?.string) }
            }
            body = try store(bytes)
            if let stated = content?["_sha256"]?.string, stated != body?.sha256.hex {
                body?.discard()
                return .fault(ArchiveFault("its body does not match its digest", url: url, at: place))
            }
        } else if (content?["size"]?.int ?? 0) > 0, (200..<300).contains(status) {
            return .fault(
                ArchiveFault("it does not contain its body: save the HAR with content", url: url, at: place))
        } else if (200..<300).contains(status) {
            body = try store([])
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

    private func store(_ bytes: [UInt8]) throws(ArchiveError) -> ArchivedBody {
        let spool = BodySpool(storage)
        try bytes.withBytes { (bytes) throws(ArchiveError) in try spool.append(bytes) }
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
        // The fields are parsed again, as if they were received, because names and values are untrusted.
        return HTTPFields(block: Array(fields.block.utf8).span)
    }

    /// Returns the headers with UTF-8 as the character set, unless the body is ASCII.
    private static func declaringUTF8(_ fields: HTTPFields, _ bytes: [UInt8], _ type: String?) -> HTTPFields {
        guard bytes.contains(where: { $0 >= 0x80 }), let text = fields["Content-Type"] ?? type,
            let parsed = MediaType(text), parsed.charset?.lowercased() != "utf-8"
        else { return fields }
        var fields = fields
        fields.set("Content-Type", "\(parsed.essence); charset=utf-8")
        return fields
    }
}

/// Finds the objects in the array `log.entries` of a JSON text that arrives in pieces, and returns the text
/// of each. HAR files can be larger than memory, so only one entry is in memory at a time.
///
/// It does not parse the JSON. It counts brackets outside of strings, and remembers the names of the members that
/// enclose the current one. In `{"log":{"entries":[{…},{…}]}}`, the array is at depth 3 and each entry at depth 4.
struct HAREntrySplitter {
    enum Result {
        case entry([UInt8])
        /// The entry is larger than the limit. Its bytes were skipped.
        case tooLarge
        /// The text is not JSON, or not an object.
        case malformed
    }

    private let maxEntryBytes: Int
    /// The number of open brackets.
    private var depth = 0
    private var isInString = false
    /// Whether the next byte of the string is escaped by a backslash.
    private var isEscaped = false
    /// The last string at the first two levels, which may be the name of a member.
    private var lastString: [UInt8] = []
    /// The names of the members that enclose the current position, at most two.
    private var path: [[UInt8]] = []
    private var isInEntries = false
    private var entry: [UInt8] = []
    private var isTooLarge = false
    /// Whether the first bracket was read.
    private(set) var hasBegun = false

    /// Deeper nesting is treated as malformed.
    private static let maxDepth = 10_000

    init(maxEntryBytes: Int) {
        self.maxEntryBytes = maxEntryBytes
    }

    /// Whether the text ended with its outermost object.
    var isComplete: Bool { hasBegun && depth == 0 && !isInString }

    /// Consumes bytes up to the end of an entry. Returns the number of consumed bytes, and the entry if one
    /// has ended.
    mutating func consume(_ bytes: UnsafeRawBufferPointer) -> (consumed: Int, Result?) {
        // The offset of the first byte of the entry that is not copied yet.
        var copyStart = 0
        for (offset, byte) in bytes.enumerated() {
            if isInString {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isInString = false
                } else if depth <= 2, lastString.count < 64 {
                    lastString.append(byte)
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""):
                isInString = true
                if depth <= 2 { lastString = [] }
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                if depth == 0, byte != UInt8(ascii: "{") || hasBegun { return (offset + 1, .malformed) }
                hasBegun = true
                depth += 1
                guard depth < Self.maxDepth else { return (offset + 1, .malformed) }
                if depth <= 3 { path = Array(path.prefix(depth - 2 < 0 ? 0 : depth - 2)) + [lastString] }
                if depth == 3, byte == UInt8(ascii: "["), path == [Array("log".utf8), Array("entries".utf8)] {
                    isInEntries = true
                }
                if isInEntries, depth == 4 { (entry, copyStart, isTooLarge) = ([], offset, false) }
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                guard depth > 0 else { return (offset + 1, .malformed) }
                depth -= 1
                if isInEntries, depth == 3 {
                    append(bytes, copyStart..<offset + 1)
                    defer { entry = [] }
                    return (offset + 1, isTooLarge ? .tooLarge : .entry(entry))
                }
                if depth == 2 { isInEntries = false }
            default:
                if depth == 0, byte != 0x20, byte != 0x0A, byte != 0x0D, byte != 0x09, byte < 0x80 {
                    return (offset + 1, .malformed)
                }
            }
        }
        if isInEntries, depth >= 4 { append(bytes, copyStart..<bytes.count) }
        return (bytes.count, nil)
    }

    /// Appends bytes to the entry, unless it becomes too large.
    private mutating func append(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) {
        guard !isTooLarge, entry.count + range.count <= maxEntryBytes else {
            isTooLarge = true
            entry = []
            return
        }
        entry.append(contentsOf: bytes[range])
    }
}
