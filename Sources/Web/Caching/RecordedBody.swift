/// Normalizes the body of a recorded request, to compare it with that of a later one.
package enum RecordedBody {
    /// A normal form that equal requests share; nil if their bytes must be compared.
    ///
    ///     canonical of {"b": 1.0, "a": [2]} is {"a":[2],"b":1.0}
    package static func canonical(_ body: Span<UInt8>, _ type: MediaType) -> [UInt8]? {
        if isJSON(body, type) {
            guard body.count <= maxJSONBytes, let value = try? JSONValue.parse(body) else { return nil }
            var normalized = NormalizedJSON(removesTimes: false)
            normalized.bytes.reserveCapacity(body.count)
            normalized.append(value, body, named: "")
            return normalized.bytes
        }
        guard type.essence == "multipart/form-data" || type.essence == "multipart/mixed",
            let boundary = type.parameters.first(where: { $0.name == "boundary" })?.value, !boundary.isEmpty
        else { return nil }
        return replacingBoundary(Array(("--" + boundary).utf8), in: body)
    }

    /// Whether the body is JSON by its type or its start. `fetch` sends text without a type as `text/plain`, and many
    /// scripts send JSON so.
    private static func isJSON(_ body: Span<UInt8>, _ type: MediaType) -> Bool {
        type.isJSON || type.essence == "text/plain" && !body.isEmpty && [0x5B, 0x7B].contains(body[0])
    }

    /// Larger JSON bodies are compared byte by byte.
    private static let maxJSONBytes = 4 * 1024 * 1024

    /// The body without the points in time in it, and these times in seconds since 1970. Requests for the
    /// same data at different times have the same `rest`. Nil if the body contains no times or is too large.
    ///
    /// A random value counts as the time 0, since it is another one in each request too: a number as from `Math.random()`,
    /// or a random text whose name says that it identifies a session or a request.
    ///
    ///     {"from": 1764000000000, "until": "2025-11-24T16:00:00Z", "nonce": "9f2c41d08b"} contains three
    package static func separatingTimes(_ body: Span<UInt8>, _ type: MediaType) -> (
        rest: [UInt8], times: [Int64]
    )? {
        guard body.count <= maxTimedBytes else { return nil }
        var normalized = NormalizedJSON(removesTimes: true)
        if isJSON(body, type) {
            guard let value = try? JSONValue.parse(body) else { return nil }
            normalized.append(value, body, named: "")
        } else if type.essence == "application/x-www-form-urlencoded" {
            normalized.append(form: body)
        }
        return normalized.times.isEmpty ? nil : (normalized.bytes, normalized.times)
    }

    /// A URL without the times in its path and query: `/2026/11/29/list.json`, `/20261129.json`, `/list?at=1764000000`. `start`
    /// is the part of the URL before the first time in the path, or before the query. Nil if the URL contains no times.
    package static func separatingTimes(of url: WebURL) -> (rest: [UInt8], times: [Int64], start: String)? {
        guard url.href.utf8.count <= maxTimedBytes else { return nil }
        var normalized = NormalizedJSON(removesTimes: true)
        let start = normalized.append(path: url.path) ?? url.path + "?"
        if let query = url.query { normalized.append(form: query.utf8.span) }
        return normalized.times.isEmpty ? nil : (normalized.bytes, normalized.times, url.origin + start)
    }

    /// Larger bodies are not searched for times.
    private static let maxTimedBytes = 64 * 1024

    /// Replaces each occurrence of a multipart boundary, which browsers choose at random, by a fixed text.
    private static func replacingBoundary(_ boundary: [UInt8], in body: Span<UInt8>) -> [UInt8] {
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

/// Writes JSON in a normal form: members are sorted by name, there is no space between tokens, and numbers
/// are unchanged.
private struct NormalizedJSON {
    /// Whether points in time are removed from the text and collected in `times`.
    let removesTimes: Bool
    var bytes: [UInt8] = []
    var times: [Int64] = []

    /// Further times remain in the text.
    private static let maxTimes = 32

    init(removesTimes: Bool) { self.removesTimes = removesTimes }

    /// - Parameter name: the name of the innermost member that contains the value.
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
            if recordTime(text, named: name) { return }
            var writer = JSONWriter()
            writer.value(removesTimes ? removingNamedTimes(text) : text)
            bytes += writer.bytes
        case .number:
            let text = String(decoding: value.range.map { source[$0] }, as: UTF8.self)
            if !recordTime(text, named: name) { bytes += text.utf8 }
        case .null, .bool:
            for index in value.range { bytes.append(source[index]) }
        }
    }

    /// Appends a form in URL encoding, such as `from=1764000000&to=1764003600`.
    mutating func append(form body: Span<UInt8>) {
        let text = body.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
        for pair in text.split(separator: "&", omittingEmptySubsequences: false) {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if !bytes.isEmpty { bytes.append(0x26) }
            bytes += parts[0].utf8
            guard parts.count == 2 else { continue }
            bytes.append(0x3D)
            let normalized = [UInt8](percentDecoding: Array(parts[1].utf8).span)
            if !recordTime(String(decoding: normalized, as: UTF8.self), named: String(parts[0])) {
                bytes += parts[1].utf8
            }
        }
    }

    /// Appends a path, such as `/feed/2026/11/29/list.json`. Returns the part before the first time; nil if there is none.
    mutating func append(path: String) -> String? {
        let segments = path.split(separator: "/", omittingEmptySubsequences: false)
        var (index, start) = (0, String?.none)
        while index < segments.count {
            if index > 0 { bytes.append(UInt8(ascii: "/")) }
            let before = bytes
            var length = 1
            if index + 2 < segments.count, segments[index].utf8.count == 4 {
                let date =
                    segments[index...(index + 1)].joined(separator: "-") + "-" + stem(segments[index + 2])
                if recordTime(date, named: "") { length = 3 }
            }
            let last = segments[index + length - 1]
            let name = stem(last)
            if length == 3 || recordTime(Self.dateWithDashes(name) ?? name, named: "time") {
                bytes += last.utf8.dropFirst(name.utf8.count)
                start = start ?? HTTPGrammar.text(before)
            } else {
                bytes += last.utf8
            }
            index += length
        }
        return start
    }

    /// The segment of a path before its first dot.
    private func stem(_ segment: Substring) -> String { String(segment.prefix { $0 != "." }) }

    /// A date of eight digits with dashes: `2026-11-29` for `20261129`. Nil if the text is no date from 2004 to 2049.
    private static func dateWithDashes(_ text: String) -> String? {
        guard text.utf8.count == 8, text.utf8.allSatisfy(\.isASCIIDigit),
            ("2004"..."2049").contains(text.prefix(4))
        else { return nil }
        return "\(text.prefix(4))-\(text.dropFirst(4).prefix(2))-\(text.suffix(2))"
    }

    /// A text without the times that follow a name for a time, as in `timestamp_ms > 1764000000000`.
    private mutating func removingNamedTimes(_ text: String) -> String {
        var (rest, name) = ("", "")
        var start = text.startIndex
        while start < text.endIndex {
            let isWord = Self.isWordByte(text.utf8[start])
            let end = text.utf8[start...].firstIndex { Self.isWordByte($0) != isWord } ?? text.endIndex
            let part = String(text[start..<end])
            start = end
            if isWord, times.count < Self.maxTimes, Self.isTimeName(name),
                let time = Self.isoTime(part) ?? Self.unixTime(part, named: name)
            {
                times.append(time)
                rest += "\0"
                continue
            }
            rest += part
            if isWord { name = part }
        }
        return rest
    }

    private static func isWordByte(_ byte: UInt8) -> Bool {
        byte.isASCIIDigit || 0x61...0x7A ~= byte | 0x20 || "_.:+-".utf8.contains(byte)
    }

    /// If a value is a time to be removed, appends it to `times` and a zero byte to the text. A random value counts
    /// as the time 0. Returns whether it did.
    private mutating func recordTime(_ text: String, named name: String) -> Bool {
        guard removesTimes, times.count < Self.maxTimes,
            let time = Self.isoTime(text) ?? Self.unixTime(text, named: name)
                ?? (Self.isRandom(text, named: name) ? 0 : nil)
        else { return false }
        times.append(time)
        bytes.append(0)
        return true
    }

    /// Whether a value is a number as from `Math.random()`, or a random text with a name for one.
    private static func isRandom(_ text: String, named name: String) -> Bool {
        let value = text.utf8
        if value.starts(with: "0.".utf8) {
            return (15...22).contains(value.count) && value.dropFirst(2).allSatisfy(\.isASCIIDigit)
        }
        guard (8...64).contains(value.count), value.contains(where: \.isASCIIDigit),
            value.contains(where: \.isASCIIAlpha),
            value.allSatisfy({ $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "-") })
        else { return false }
        // "pageToken" and "sessionType" are no names for a random text.
        let words = words(of: name)
        return words.contains(where: randomWords.contains)
            && words.allSatisfy { randomWords.contains($0) || wordsBesideRandom.contains($0) }
    }

    private static let randomWords: Set<String> = [
        "nonce", "session", "sess", "sid", "csrf", "xsrf", "token", "trace", "correlation", "visitor",
        "random", "rand", "rnd",
    ]
    private static let wordsBesideRandom: Set<String> = [
        "id", "key", "ajax", "auth", "access", "security", "wp",
    ]

    /// The time of an ISO 8601 date or date with time: `2025-11-24T16:00:00Z`.
    private static func isoTime(_ text: String) -> Int64? {
        let bytes = Array(text.utf8.prefix(40))
        guard (10...35).contains(bytes.count), bytes[4] == 0x2D, bytes[7] == 0x2D else { return nil }
        return HTTPDate(iso8601: text)?.secondsSinceEpoch
    }

    /// The time of a number of seconds, milliseconds or microseconds since 1970. The name must be one for a
    /// time, since other numbers can be as large.
    private static func unixTime(_ text: String, named name: String) -> Int64? {
        let digits = text.utf8.prefix { $0.isASCIIDigit }
        guard [10, 13, 16].contains(digits.count), isTimeName(name), let number = Int64(Substring(digits)),
            text.utf8.dropFirst(digits.count).allSatisfy({ $0.isASCIIDigit || $0 == 0x2E })
        else { return nil }
        let seconds = digits.count == 10 ? number : digits.count == 13 ? number / 1000 : number / 1_000_000
        // Accepts times from 2004 to 2049.
        return (1_100_000_000...2_500_000_000).contains(seconds) ? seconds : nil
    }

    /// Whether a name contains a word for a time: `startTime`, `created_after`, `tickCursor`, `updatedAt`.
    private static func isTimeName(_ name: String) -> Bool {
        words(of: name).contains(where: timeWords.contains)
    }

    /// The words of a name, in lower case: `start` and `time` of `startTime` and `START_TIME`.
    private static func words(of name: String) -> [String] {
        var words: [String] = []
        var hasEnded = true
        for scalar in name.unicodeScalars.prefix(64) {
            let isUpper = ("A"..."Z").contains(scalar)
            let isLetter = isUpper || ("a"..."z").contains(scalar)
            if isLetter, hasEnded || isUpper && words.last?.unicodeScalars.count ?? 0 > 1 { words.append("") }
            hasEnded = !isLetter
            if isLetter, !words.isEmpty { words[words.count - 1].append(String(scalar).lowercased()) }
        }
        return words
    }

    private static let timeWords: Set<String> = [
        "time", "times", "timestamp", "date", "day", "from", "to", "start", "starts", "end", "ends", "begin",
        "since", "until", "before", "after", "at", "now", "tick", "ticks", "ts", "moment", "min", "max",
    ]
}
