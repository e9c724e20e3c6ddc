/// The body of a request that was recorded, as it is compared with that of a later one.
package enum RecordedBody {
    /// What equal requests have in common; nil where the bytes are all that there is to compare.
    ///
    ///     canonical of {"b": 1.0, "a": [2]} is {"a":[2],"b":1.0}
    package static func canonical(_ body: Span<UInt8>, _ type: MediaType) -> [UInt8]? {
        if type.isJSON {
            guard body.count <= mostBytes, let value = try? JSONValue.parse(body) else { return nil }
            var plain = PlainJSON(leavesMoments: false)
            plain.bytes.reserveCapacity(body.count)
            plain.append(value, body, named: "")
            return plain.bytes
        }
        guard type.essence == "multipart/form-data" || type.essence == "multipart/mixed",
            let boundary = type.parameters.first(where: { $0.name == "boundary" })?.value, !boundary.isEmpty
        else { return nil }
        return replacing(Array(("--" + boundary).utf8), in: body)
    }

    private static let mostBytes = 4 * 1024 * 1024

    /// What requests have in common that ask for the same at different times, and the moments that this one
    /// names, in seconds since 1970: `{"from": 1764000000000, "until": "2025-11-24T16:00:00Z"}` is like any
    /// other pair. Nil where it names none.
    package static func outline(_ body: Span<UInt8>, _ type: MediaType) -> (rest: [UInt8], moments: [Int64])?
    {
        guard body.count <= mostOutlined else { return nil }
        var plain = PlainJSON(leavesMoments: true)
        if type.isJSON {
            guard let value = try? JSONValue.parse(body) else { return nil }
            plain.append(value, body, named: "")
        } else if type.essence == "application/x-www-form-urlencoded" {
            plain.append(form: body)
        }
        return plain.moments.isEmpty ? nil : (plain.bytes, plain.moments)
    }

    private static let mostOutlined = 64 * 1024

    private static func replacing(_ boundary: [UInt8], in body: Span<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(body.count)
        var at = 0
        while at < body.count {
            if body[at] == boundary[0], at + boundary.count <= body.count,
                boundary.indices.allSatisfy({ body[at + $0] == boundary[$0] })
            {
                bytes += "--boundary".utf8
                at += boundary.count
            } else {
                bytes.append(body[at])
                at += 1
            }
        }
        return bytes
    }
}

/// Writes JSON as all who say the same write it: members in the order of their names, nothing between them;
/// what has no parts is as it was written.
private struct PlainJSON {
    /// Moments are no part of the text.
    let leavesMoments: Bool
    var bytes: [UInt8] = []
    var moments: [Int64] = []

    private static let mostMoments = 32

    init(leavesMoments: Bool) { self.leavesMoments = leavesMoments }

    /// - Parameter name: of the member that it is the value of, or a part of that.
    mutating func append(_ value: JSONValue, _ source: Span<UInt8>, named name: String) {
        switch value.content {
        case .array(let elements):
            bytes.append(0x5B)
            for (index, element) in elements.enumerated() {
                if index > 0 { bytes.append(0x2C) }
                append(element, source, named: name)
            }
            bytes.append(0x5D)
        case .object(let members):
            bytes.append(0x7B)
            for (index, member) in members.sorted(by: { $0.key < $1.key }).enumerated() {
                if index > 0 { bytes.append(0x2C) }
                var key = JSONWriter()
                key.value(member.key)
                bytes += key.bytes
                bytes.append(0x3A)
                append(member.value, source, named: member.key)
            }
            bytes.append(0x7D)
        case .string(let text):
            if leaves(text, named: name) { return }
            var writer = JSONWriter()
            writer.value(leavesMoments ? withoutMoments(text) : text)
            bytes += writer.bytes
        case .number:
            let text = String(decoding: value.range.map { source[$0] }, as: UTF8.self)
            if !leaves(text, named: name) { bytes += text.utf8 }
        case .null, .bool:
            for index in value.range { bytes.append(source[index]) }
        }
    }

    /// `from=1764000000&to=1764003600`
    mutating func append(form body: Span<UInt8>) {
        let text = body.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
        for pair in text.split(separator: "&", omittingEmptySubsequences: false) {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if !bytes.isEmpty { bytes.append(0x26) }
            bytes += parts[0].utf8
            guard parts.count == 2 else { continue }
            bytes.append(0x3D)
            let plain = [UInt8](percentDecoding: Array(parts[1].utf8).span)
            if !leaves(String(decoding: plain, as: UTF8.self), named: String(parts[0])) {
                bytes += parts[1].utf8
            }
        }
    }

    /// Of a question in words, without those that stand behind a name that says it: `timestamp_ms > 1764000000000`.
    private mutating func withoutMoments(_ text: String) -> String {
        var (rest, name) = ("", "")
        var start = text.startIndex
        while start < text.endIndex {
            let isWord = Self.isOfWord(text.utf8[start])
            let end = text.utf8[start...].firstIndex { Self.isOfWord($0) != isWord } ?? text.endIndex
            let part = String(text[start..<end])
            start = end
            if isWord, moments.count < Self.mostMoments, Self.saysTime(name),
                let moment = Self.date(part) ?? Self.moment(part, named: name)
            {
                moments.append(moment)
                rest += "\0"
                continue
            }
            rest += part
            if isWord { name = part }
        }
        return rest
    }

    private static func isOfWord(_ byte: UInt8) -> Bool {
        byte.isASCIIDigit || 0x61...0x7A ~= byte | 0x20 || "_.:+-".utf8.contains(byte)
    }

    private mutating func leaves(_ text: String, named name: String) -> Bool {
        guard leavesMoments, moments.count < Self.mostMoments,
            let moment = Self.date(text) ?? Self.moment(text, named: name)
        else { return false }
        moments.append(moment)
        bytes.append(0)
        return true
    }

    /// `2025-11-24T16:00:00Z`, or a day.
    private static func date(_ text: String) -> Int64? {
        let bytes = Array(text.utf8.prefix(40))
        guard (10...35).contains(bytes.count), bytes[4] == 0x2D, bytes[7] == 0x2D else { return nil }
        return HTTPDate(iso8601: text)?.secondsSinceEpoch
    }

    /// A count of seconds, or of thousandths or millionths of them, that its name says to be one: a number of
    /// such a size may be anybody's.
    private static func moment(_ text: String, named name: String) -> Int64? {
        let digits = text.utf8.prefix { $0.isASCIIDigit }
        guard [10, 13, 16].contains(digits.count), saysTime(name), let number = Int64(Substring(digits)),
            text.utf8.dropFirst(digits.count).allSatisfy({ $0.isASCIIDigit || $0 == 0x2E })
        else { return nil }
        let seconds = digits.count == 10 ? number : digits.count == 13 ? number / 1000 : number / 1_000_000
        // From 2005 to 2049.
        return (1_100_000_000...2_500_000_000).contains(seconds) ? seconds : nil
    }

    /// `startTime`, `created_after`, `tickCursor`, `updatedAt`
    private static func saysTime(_ name: String) -> Bool {
        var words: [String] = []
        var hasEnded = true
        for scalar in name.unicodeScalars.prefix(64) {
            let isUpper = ("A"..."Z").contains(scalar)
            let isLetter = isUpper || ("a"..."z").contains(scalar)
            if isLetter, hasEnded || isUpper && words.last?.unicodeScalars.count ?? 0 > 1 { words.append("") }
            hasEnded = !isLetter
            if isLetter, !words.isEmpty { words[words.count - 1].append(String(scalar).lowercased()) }
        }
        return words.contains(where: timeWords.contains)
    }

    private static let timeWords: Set<String> = [
        "time", "times", "timestamp", "date", "day", "from", "to", "start", "starts", "end", "ends", "begin",
        "since", "until", "before", "after", "at", "now", "tick", "ticks", "ts", "moment", "min", "max",
    ]
}
