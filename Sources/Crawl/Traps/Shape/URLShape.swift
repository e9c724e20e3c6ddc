internal import Web

/// What the URLs that one rule of a server makes have in common: `example.com/cal/{year}/{month}/?view={text}`.
///
/// In the path, numbers, dates and what looks like a key stand for others of their kind, words for themselves; a folder
/// that comes three times or more stands once, with `…` behind it. Of the query the names of the parameters are kept,
/// in the order of the alphabet, and the kind of their values; from four names on it is `{many}`.
struct URLShape: Sendable, Hashable {
    struct Traits: OptionSet, Sendable, Hashable {
        let rawValue: UInt8

        /// A date is part of it.
        static let dates = Traits(rawValue: 1)
        /// Folders in folders of the same names.
        static let loops = Traits(rawValue: 2)
        /// Keys, as sessions have them.
        static let keys = Traits(rawValue: 4)
        static let numbers = Traits(rawValue: 8)
        static let manyParameters = Traits(rawValue: 16)
    }

    private let bytes: [UInt8]
    let traits: Traits
    /// The same for the same shape in every run.
    let key: UInt64

    private static let mostSegments = 24
    private static let mostParameters = 64
    private static let repetitionsOfLoop = 3
    private static let manyParameters = 4

    init(_ url: WebURL) {
        let href = Array(url.key.href.utf8)
        var writer = Writer()
        // What no one fetches has no path that would tell anything.
        let host = url.isHTTP ? url.scheme.utf8.count + "://".utf8.count : href.count
        let path = href[host...].firstIndex(of: UInt8(ascii: "/")) ?? href.count
        let query = href[path...].firstIndex(of: UInt8(ascii: "?")) ?? href.count
        writer.bytes.append(contentsOf: href[host..<path])
        writer.append(path: href[path..<query])
        if query < href.count { writer.append(query: href[(query + 1)...]) }
        bytes = writer.bytes
        traits = writer.traits
        key = Mixing.mix(bytes)
    }

    /// Its last word is the date, or another thing that stands for its kind.
    var endsInDate: Bool { bytes.last == UInt8(ascii: "}") || bytes.suffix(2).elementsEqual("}/".utf8) }

    var text: String { String(decoding: bytes, as: UTF8.self) }

    static func == (left: URLShape, right: URLShape) -> Bool { left.bytes == right.bytes }

    func hash(into hasher: inout Hasher) { hasher.combine(key) }
}

extension URLShape {
    private struct Writer {
        var bytes: [UInt8] = []
        var traits: Traits = []

        init() { bytes.reserveCapacity(128) }

        /// The path begins with a slash, or is empty.
        mutating func append(path: ArraySlice<UInt8>) {
            let start = bytes.count
            var ends: [Int] = []
            var date = DatePath()
            var rest = path.dropFirst()
            while ends.count < mostSegments, !path.isEmpty {
                let segment = rest.prefix { $0 != UInt8(ascii: "/") }
                let behind = rest[segment.endIndex...].dropFirst()
                bytes.append(UInt8(ascii: "/"))
                if let part = date.part(segment, before: behind.prefix { $0 != UInt8(ascii: "/") }) {
                    traits.insert(.dates)
                    bytes.append(contentsOf: part.utf8)
                } else {
                    URLWord.appendShape(of: segment, to: &bytes, &traits)
                }
                ends.append(bytes.count)
                if segment.endIndex == path.endIndex { break }
                rest = behind
                if ends.count == mostSegments {
                    bytes.append(contentsOf: "/…".utf8)
                    traits.insert(.loops)
                }
            }
            if ends.count >= repetitionsOfLoop { collapseLoops(from: start, ends) }
        }

        /// A segment that comes three times or more is kept where it came first.
        private mutating func collapseLoops(from start: Int, _ ends: [Int]) {
            func segment(_ index: Int) -> ArraySlice<UInt8> {
                bytes[(index == 0 ? start : ends[index - 1])..<ends[index]]
            }
            func count(_ index: Int) -> Int {
                segment(index).count > 1 ? ends.indices.count { segment($0) == segment(index) } : 1
            }
            let counts = ends.indices.map(count)
            guard counts.contains(where: { $0 >= repetitionsOfLoop }) else { return }
            var kept = Array(bytes[..<start])
            for index in ends.indices {
                let isLoop = counts[index] >= repetitionsOfLoop
                if isLoop, (0..<index).contains(where: { segment($0) == segment(index) }) { continue }
                kept.append(contentsOf: segment(index))
                guard isLoop else { continue }
                kept.append(contentsOf: "…".utf8)
                // Numbers in numbers are how archives are sorted.
                if !segment(index).contains(UInt8(ascii: "{")) { traits.insert(.loops) }
            }
            kept.append(contentsOf: bytes[ends[ends.count - 1]...])
            bytes = kept
        }

        mutating func append(query: ArraySlice<UInt8>) {
            var parameters: [[UInt8]] = []
            for parameter in query.split(separator: UInt8(ascii: "&")).prefix(mostParameters) {
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
            if parameters.count >= manyParameters {
                traits.insert(.manyParameters)
                bytes.append(contentsOf: "{many}".utf8)
            } else {
                parameters.sort { $0.lexicographicallyPrecedes($1) }
                bytes.append(contentsOf: parameters.joined(separator: [UInt8(ascii: "&")]))
            }
        }
    }
}
