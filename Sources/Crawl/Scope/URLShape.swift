internal import Web

/// The common pattern of URLs that a server builds by one rule, such as
/// `example.com/cal/{year}/{month}/?view={text}`.
///
/// In the path, numbers, dates and keys are replaced by their kind, and words stay. A folder that appears at
/// least three times is collapsed once, followed by `…`. The query keeps the parameter names in alphabetical order
/// with the kinds of their values; from four parameters on it is `{many}`.
///
/// Examples:
///
///     https://a.test/blog/2031/05/17/tea      a.test/blog/{year}/{month}/{day}/tea
///     https://a.test/item-4711?sort=new&page=2  a.test/item-{n}?page={n}&sort={text}
///     https://a.test/a/b/a/b/a/b              a.test/a…/b…
///     https://a.test/s/9f86d081884c7d65       a.test/s/{hex}
///
/// The scheme is not part of the shape. Two shapes with the same text are equal, although their traits may differ.
struct URLShape: Sendable, Hashable {
    /// The signs of a trap that a URL shows.
    struct Traits: OptionSet, Sendable, Hashable {
        let rawValue: UInt8

        /// The URL contains a date.
        static let dates = Traits(rawValue: 1)
        /// A folder contains folders of the same name.
        static let loops = Traits(rawValue: 2)
        /// The URL contains keys, such as those of sessions.
        static let keys = Traits(rawValue: 4)
        /// The URL contains numbers that are not part of a date.
        static let numbers = Traits(rawValue: 8)
        /// The query has at least `URLShape.minManyParameters` parameters.
        static let manyParameters = Traits(rawValue: 16)
    }

    /// The text of the shape in UTF-8.
    private let bytes: [UInt8]
    let traits: Traits
    /// A hash of the shape, which is the same in every run.
    let key: UInt64

    /// The maximum number of path segments. Further ones become `/…`, and the URL counts as a loop.
    private static let maxSegments = 24
    /// The maximum number of query parameters; further ones are ignored.
    private static let maxParameters = 64
    /// How often a segment has to appear to be a loop.
    private static let minLoopRepetitions = 3
    /// The number of parameters from which on the query is `{many}`.
    private static let minManyParameters = 4

    init(_ url: WebURL) {
        let href = Array(url.key.href.utf8)
        var writer = Writer()
        // URLs that are not fetched have no meaningful path.
        let hostStart = url.isHTTP ? url.scheme.utf8.count + "://".utf8.count : href.count
        let path = href[hostStart...].firstIndex(of: UInt8(ascii: "/")) ?? href.count
        let query = href[path...].firstIndex(of: UInt8(ascii: "?")) ?? href.count
        writer.bytes.append(contentsOf: href[hostStart..<path])
        writer.append(path: href[path..<query])
        if query < href.count { writer.append(query: href[(query + 1)...]) }
        bytes = writer.bytes
        traits = writer.traits
        key = Mixing.mix(bytes)
    }

    /// Whether the shape ends in a placeholder, as that of a day in a calendar does.
    var endsInDate: Bool { bytes.last == UInt8(ascii: "}") || bytes.suffix(2).elementsEqual("}/".utf8) }

    var text: String { String(decoding: bytes, as: UTF8.self) }

    static func == (left: URLShape, right: URLShape) -> Bool { left.bytes == right.bytes }

    func hash(into hasher: inout Hasher) { hasher.combine(key) }
}

extension URLShape {
    /// Builds the text of a shape.
    private struct Writer {
        var bytes: [UInt8] = []
        var traits: Traits = []

        init() { bytes.reserveCapacity(128) }

        /// Appends the shape of a path, which begins with a slash or is empty.
        mutating func append(path: ArraySlice<UInt8>) {
            let start = bytes.count
            var ends: [Int] = []
            var date = DatePath()
            var rest = path.dropFirst()
            while ends.count < maxSegments, !path.isEmpty {
                let segment = rest.prefix { $0 != UInt8(ascii: "/") }
                let next = rest[segment.endIndex...].dropFirst()
                bytes.append(UInt8(ascii: "/"))
                if let part = date.part(segment, before: next.prefix { $0 != UInt8(ascii: "/") }) {
                    traits.insert(.dates)
                    bytes.append(contentsOf: part.utf8)
                } else {
                    URLWord.appendShape(of: segment, to: &bytes, &traits)
                }
                ends.append(bytes.count)
                if segment.endIndex == path.endIndex { break }
                rest = next
                if ends.count == maxSegments {
                    bytes.append(contentsOf: "/…".utf8)
                    traits.insert(.loops)
                }
            }
            if ends.count >= minLoopRepetitions { collapseLoops(from: start, ends) }
        }

        /// Keeps only the first of path segments that appear at least three times: `/a/b/a/b/a/b` becomes `/a…/b…`.
        ///
        /// - Parameters:
        ///   - start: where the path begins in `bytes`.
        ///   - ends: where each segment ends in `bytes`. A segment begins with its slash.
        private mutating func collapseLoops(from start: Int, _ ends: [Int]) {
            func segment(_ index: Int) -> ArraySlice<UInt8> {
                bytes[(index == 0 ? start : ends[index - 1])..<ends[index]]
            }
            func count(_ index: Int) -> Int {
                segment(index).count > 1 ? ends.indices.count { segment($0) == segment(index) } : 1
            }
            let counts = ends.indices.map(count)
            guard counts.contains(where: { $0 >= minLoopRepetitions }) else { return }
            var collapsed = Array(bytes[..<start])
            for index in ends.indices {
                let isLoop = counts[index] >= minLoopRepetitions
                if isLoop, (0..<index).contains(where: { segment($0) == segment(index) }) { continue }
                collapsed.append(contentsOf: segment(index))
                guard isLoop else { continue }
                collapsed.append(contentsOf: "…".utf8)
                // Archives sort by numbers in nested folders, so these are not loops.
                if !segment(index).contains(UInt8(ascii: "{")) { traits.insert(.loops) }
            }
            collapsed.append(contentsOf: bytes[ends[ends.count - 1]...])
            bytes = collapsed
        }

        /// Appends the shape of a query, which is given without its question mark.
        mutating func append(query: ArraySlice<UInt8>) {
            var parameters: [[UInt8]] = []
            for parameter in query.split(whereSeparator: \.separatesQueryItems).prefix(maxParameters) {
                let name = parameter.prefix { $0 != UInt8(ascii: "=") }
                var shape: [UInt8] = []
                URLWord.appendShape(of: name, to: &shape, &traits)
                if name.count < parameter.count {
                    shape.append(UInt8(ascii: "="))
                    let value = parameter.dropFirst(name.count + 1)
                    shape.append(contentsOf: URLWord.kind(ofValue: value, named: name, &traits).utf8)
                }
                if !parameters.contains(shape) { parameters.append(shape) }
            }
            bytes.append(UInt8(ascii: "?"))
            if parameters.count >= minManyParameters {
                traits.insert(.manyParameters)
                bytes.append(contentsOf: "{many}".utf8)
            } else {
                parameters.sort { $0.lexicographicallyPrecedes($1) }
                bytes.append(contentsOf: parameters.joined(separator: [UInt8(ascii: "&")]))
            }
        }
    }
}

/// Recognises dates in URLs: `/2031/05/17/`, `/2031-05-17`, `/20310517`, `?year=2031&month=5`.
///
/// A number that may be a year counts as one only if a month follows, or if the parameter name says so.
struct DatePath {
    /// The parts of a date that another part may follow.
    private enum DatePart {
        case year, month
    }

    /// The kind of the previous segment; nil if it was not part of a date.
    private var last: DatePart?

    /// Returns `{year}`, `{month}` or `{day}` if the segment is part of a date, from the segments before and
    /// after it. The caller passes the segments in order.
    mutating func part(_ segment: ArraySlice<UInt8>, before next: ArraySlice<UInt8>) -> String? {
        switch last {
        case .year:
            last = .month
            return "{month}"
        case .month where Self.number(segment, in: 1...31, digits: 1...2) != nil:
            last = nil
            return "{day}"
        case .month, nil:
            last = nil
            guard Self.isYear(segment), Self.isMonth(next) else { return nil }
            last = .year
            return "{year}"
        }
    }

    /// The kind of a parameter's value if it is part of a date; nil otherwise.
    static func part(ofValue value: ArraySlice<UInt8>, named name: ArraySlice<UInt8>) -> String? {
        switch String(decoding: name.prefix(16).map(\.lowercasedASCII), as: UTF8.self) {
        case "year", "yr", "y": isYear(value) ? "{year}" : nil
        case "month", "mon", "mo": isMonth(value) ? "{month}" : nil
        case "day", "dy", "week": number(value, in: 1...53, digits: 1...2) == nil ? nil : "{day}"
        // Seconds or milliseconds since 1970.
        case "t", "ts", "time", "timestamp", "date", "from", "to", "start", "end", "at":
            isTime(value) ? "{time}" : nil
        // The form of WordPress: 203105.
        case "m":
            value.count == 6 && isYear(value.prefix(4)) && isMonth(value.dropFirst(4)) ? "{date}" : nil
        default: nil
        }
    }

    /// The end of a date that begins at `start`, in the form `2031-05-17`, `2031_05` or `20310517`; nil if
    /// there is none.
    static func endOfDate(in bytes: ArraySlice<UInt8>, at start: Int) -> Int? {
        let rest = bytes[start...]
        guard rest.count >= 7, isYear(rest.prefix(4)) else { return nil }
        let digits = rest.prefix { $0.isASCIIDigit }
        if digits.count == 8 {
            let isDate = isMonth(digits.dropFirst(4).prefix(2)) && isDay(digits.dropFirst(6))
            return isDate && isEnd(bytes, digits.endIndex) ? digits.endIndex : nil
        }
        // The separator after the year must be the same as the one before the day.
        let separator = rest[start + 4]
        // ISO 8601: 2031-W05.
        if separator == UInt8(ascii: "-"), rest[start + 5] | 0x20 == UInt8(ascii: "w"), rest.count >= 8,
            number(rest[(start + 6)..<(start + 8)], in: 1...53, digits: 2...2) != nil
        {
            return isEnd(bytes, start + 8) ? start + 8 : nil
        }
        guard separator == UInt8(ascii: "-") || separator == UInt8(ascii: "_"),
            isMonth(rest[(start + 5)..<(start + 7)])
        else { return nil }
        if rest.count >= 10, rest[start + 7] == separator, isDay(rest[(start + 8)..<(start + 10)]) {
            return isEnd(bytes, start + 10) ? start + 10 : nil
        }
        return isEnd(bytes, start + 7) ? start + 7 : nil
    }

    /// Whether the digits are a time between 1990 and 2100.
    private static func isTime(_ bytes: ArraySlice<UInt8>) -> Bool {
        guard bytes.count == 10 || bytes.count == 13 || bytes.count == 9 else { return false }
        let seconds = bytes.count == 13 ? bytes.prefix(10) : bytes
        return number(seconds, in: 631_152_000...4_102_444_800, digits: 9...10) != nil
            && bytes.allSatisfy(\.isASCIIDigit)
    }

    /// Whether a word ends at this position.
    private static func isEnd(_ bytes: ArraySlice<UInt8>, _ index: Int) -> Bool {
        index == bytes.endIndex || !bytes[index].isASCIIAlphanumeric
    }

    private static func isYear(_ bytes: ArraySlice<UInt8>) -> Bool {
        number(bytes, in: 1800...2999, digits: 4...4) != nil
    }

    private static func isDay(_ bytes: ArraySlice<UInt8>) -> Bool {
        number(bytes, in: 1...31, digits: 1...2) != nil
    }

    private static func isMonth(_ bytes: ArraySlice<UInt8>) -> Bool {
        number(bytes, in: 1...12, digits: 1...2) != nil || isMonthName(bytes)
    }

    /// Whether the bytes are the English name of a month, or its first three letters, in any case.
    private static func isMonthName(_ bytes: ArraySlice<UInt8>) -> Bool {
        guard (3...9).contains(bytes.count) else { return false }
        let name = String(decoding: bytes.map(\.lowercasedASCII), as: UTF8.self)
        return monthNames.contains { $0 == name || $0.prefix(3) == name }
    }

    private static let monthNames = [
        "january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
        "november",
        "december",
    ]

    /// The decimal number, if it has this number of digits and is within the range.
    private static func number(
        _ bytes: ArraySlice<UInt8>, in range: ClosedRange<Int>, digits: ClosedRange<Int>
    ) -> Int? {
        guard digits.contains(bytes.count), bytes.allSatisfy(\.isASCIIDigit) else { return nil }
        let number = bytes.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        return range.contains(number) ? number : nil
    }
}

/// Classifies the words in URLs: numbers, dates, keys, and ordinary words.
enum URLWord {
    /// The minimum length of a key of letters and digits. Shorter words may be names with numbers, such as `iphone15`.
    private static let minKeyBytes = 16
    /// The same for a key of hexadecimal digits only.
    private static let minHexBytes = 8

    /// Appends the shape of a path segment, with `{n}`, `{date}`, `{uuid}`, `{hex}` and `{key}` in place of
    /// such words.
    static func appendShape(
        of segment: ArraySlice<UInt8>, to shape: inout [UInt8], _ traits: inout URLShape.Traits
    ) {
        var at = segment.startIndex
        while at < segment.endIndex {
            let byte = segment[at]
            if byte == UInt8(ascii: "%"), segment.endIndex - at >= 3 {
                // An escape is part of a word. Its digits are not a number.
                shape.append(contentsOf: segment[at..<at + 3])
                at += 3
            } else if byte.isASCIIAlphanumeric {
                let (kind, end) = kindOfWord(in: segment, at: at, &traits)
                if let kind {
                    shape.append(contentsOf: kind.utf8)
                } else {
                    appendWord(segment[at..<end], to: &shape, &traits)
                }
                at = end
            } else {
                shape.append(byte)
                at += 1
            }
        }
    }

    /// The kind of a parameter's value; `{text}` for an ordinary word.
    static func kind(
        ofValue value: ArraySlice<UInt8>, named name: ArraySlice<UInt8>, _ traits: inout URLShape.Traits
    ) -> String {
        if value.isEmpty { return "" }
        if let part = DatePath.part(ofValue: value, named: name) {
            traits.insert(.dates)
            return part
        }
        let (kind, end) = kindOfWord(in: value, at: value.startIndex, &traits)
        return end == value.endIndex ? kind ?? "{text}" : "{text}"
    }

    /// The kind of the word at `start`, and its end. The kind is nil for an ordinary word.
    private static func kindOfWord(
        in bytes: ArraySlice<UInt8>, at start: Int, _ traits: inout URLShape.Traits
    ) -> (String?, end: Int) {
        var (end, digits, hexDigits) = (start, 0, 0)
        while end < bytes.endIndex, bytes[end].isASCIIAlphanumeric {
            if bytes[end].isASCIIDigit { digits += 1 }
            if bytes[end].hexDigitValue != nil { hexDigits += 1 }
            end += 1
        }
        let count = end - start
        if count == 8, hexDigits == 8, let end = endOfUUID(in: bytes, at: start) {
            traits.insert(.keys)
            return ("{uuid}", end)
        }
        guard digits > 0 else { return (nil, end) }
        if let end = DatePath.endOfDate(in: bytes, at: start) {
            traits.insert(.dates)
            return ("{date}", end)
        }
        if digits == count {
            traits.insert(.numbers)
            return ("{n}", end)
        }
        guard count >= minHexBytes, hexDigits == count || count >= minKeyBytes else { return (nil, end) }
        traits.insert(.keys)
        return (hexDigits == count ? "{hex}" : "{key}", end)
    }

    /// Appends a word with its numbers as `{n}`: `page2` becomes `page{n}`.
    private static func appendWord(
        _ word: ArraySlice<UInt8>, to shape: inout [UInt8], _ traits: inout URLShape.Traits
    ) {
        var isInNumber = false
        for byte in word {
            if !byte.isASCIIDigit {
                shape.append(byte)
            } else if !isInNumber {
                shape.append(contentsOf: "{n}".utf8)
            }
            isInNumber = byte.isASCIIDigit
            if isInNumber { traits.insert(.numbers) }
        }
    }

    /// The end of a UUID: 8, 4, 4, 4 and 12 hexadecimal digits, separated by hyphens.
    private static func endOfUUID(in bytes: ArraySlice<UInt8>, at start: Int) -> Int? {
        let end = start + 36
        guard end <= bytes.endIndex, end == bytes.endIndex || !bytes[end].isASCIIAlphanumeric else {
            return nil
        }
        for (offset, byte) in bytes[start..<end].enumerated() {
            switch offset {
            case 8, 13, 18, 23: guard byte == UInt8(ascii: "-") else { return nil }
            default: guard byte.hexDigitValue != nil else { return nil }
            }
        }
        return end
    }
}

/// Hashes by which similar URLs are grouped. They are faster to compute than `URLShape`, and coarser.
enum URLKinds {
    /// A hash of the URL's folder and file extension.
    static func folder(of href: UnsafeBufferPointer<UInt8>) -> UInt64 {
        let end = href.firstIndex(of: UInt8(ascii: "?")) ?? href.count
        let slash = href[..<end].lastIndex(of: UInt8(ascii: "/")) ?? 0
        let dot = href[slash..<end].lastIndex(of: UInt8(ascii: ".")) ?? end
        var hash = Hash()
        for byte in href[..<slash] { hash.add(exact: byte) }
        for byte in href[dot..<end] { hash.add(exact: byte) }
        return hash.value
    }

    /// The same hash with all numbers treated alike, and with the parameter names of the query.
    static func kind(of href: UnsafeBufferPointer<UInt8>) -> UInt64 {
        let query = href.firstIndex(of: UInt8(ascii: "?")) ?? href.count
        let path = href[..<query]
        let slash = path.lastIndex(of: UInt8(ascii: "/")) ?? 0
        let dot = path[slash...].lastIndex(of: UInt8(ascii: ".")) ?? query
        var hash = Hash()
        for byte in href[..<slash] { hash.add(byte) }
        for byte in href[dot..<query] { hash.add(byte) }
        var isName = true
        for byte in href[query...] {
            if byte.separatesQueryItems {
                isName = true
            } else if byte == UInt8(ascii: "=") {
                isName = false
            }
            if isName { hash.add(byte) }
        }
        return hash.value
    }

    /// FNV-1a.
    private struct Hash {
        var value: UInt64 = 0xCBF2_9CE4_8422_2325
        private var isInNumber = false

        /// Adds a byte, with each run of digits as one digit.
        @inline(__always)
        mutating func add(_ byte: UInt8) {
            if byte.isASCIIDigit {
                if isInNumber { return }
                isInNumber = true
                value = (value ^ 0x30) &* 0x0000_0100_0000_01B3
            } else {
                isInNumber = false
                add(exact: byte)
            }
        }

        /// Adds a byte as it is.
        @inline(__always)
        mutating func add(exact byte: UInt8) { value = (value ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
    }
}
