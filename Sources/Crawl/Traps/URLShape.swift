internal import Web

/// What the URLs that one rule of a server makes have in common: `example.com/cal/{year}/{month}/?view={text}`.
///
/// In the path, numbers, dates and what looks like a key stand for others of their kind, words for themselves; a folder that
/// comes three times or more stands once, with `…` behind it. Of the query the names of the parameters are kept, in the order of the
/// alphabet, and the kind of their values; from four names on it is `{many}`.
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

    let text: String
    private(set) var traits: Traits = []
    /// The same for the same text in every run.
    let key: UInt64

    private static let mostSegments = 24
    private static let repetitionsOfLoop = 3
    private static let manyParameters = 4

    init(_ url: WebURL) {
        var traits: Traits = []
        var bytes = Array(url.host.utf8)
        if let port = url.port { bytes.append(contentsOf: ":\(port)".utf8) }
        let path = Array(url.path.utf8)
        Self.append(path: path[...], to: &bytes, &traits)
        if let query = url.query { Self.append(query: Array(query.utf8)[...], to: &bytes, &traits) }
        text = String(decoding: bytes, as: UTF8.self)
        key = Mixing.mix(bytes)
        self.traits = traits
    }

    private static func append(path: ArraySlice<UInt8>, to bytes: inout [UInt8], _ traits: inout Traits) {
        let segments = path.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        var date = DatePath()
        var shapes: [ArraySlice<UInt8>] = []
        for (index, segment) in segments.prefix(mostSegments).enumerated() {
            if let part = date.part(segment, before: index + 1 < segments.count ? segments[index + 1] : nil) {
                traits.insert(.dates)
                shapes.append(Array(part.utf8)[...])
            } else {
                var shape: [UInt8] = []
                URLWord.appendShape(of: segment, to: &shape, &traits)
                shapes.append(shape[...])
            }
        }
        for (index, shape) in shapes.enumerated() {
            let isLoop = !shape.isEmpty && shapes.lazy.filter { $0 == shape }.count >= repetitionsOfLoop
            if isLoop, shapes[..<index].contains(shape) { continue }
            bytes.append(UInt8(ascii: "/"))
            bytes.append(contentsOf: shape)
            guard isLoop else { continue }
            bytes.append(contentsOf: "…".utf8)
            if !shape.contains(UInt8(ascii: "{")) { traits.insert(.loops) }
        }
        if segments.count > mostSegments {
            bytes.append(contentsOf: "/…".utf8)
            traits.insert(.loops)
        }
    }

    private static func append(query: ArraySlice<UInt8>, to bytes: inout [UInt8], _ traits: inout Traits) {
        var parameters: [[UInt8]] = []
        for parameter in query.split(separator: UInt8(ascii: "&")).prefix(64) {
            let name = parameter.prefix { $0 != UInt8(ascii: "=") }
            var shape: [UInt8] = []
            URLWord.appendShape(of: name, to: &shape, &traits)
            if name.count < parameter.count {
                shape.append(UInt8(ascii: "="))
                let kind = URLWord.kind(ofValue: parameter.dropFirst(name.count + 1), named: name, &traits)
                shape.append(contentsOf: kind.utf8)
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
