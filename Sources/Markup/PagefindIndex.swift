internal import Codings
internal import Web

/// The files of Pagefind, the search of many static sites. When a user types, its script loads a list of
/// languages, then the list of the files of one language, then some of these files:
///
///     pagefind.js → pagefind-entry.json → pagefind.HASH.pf_meta → index, fragment and filter files
///
/// The list of files is compressed with gzip. It begins with `pagefind_dcd`, and the rest is a CBOR array
/// (RFC 8949).
enum PagefindIndex {
    /// Whether the JSON is a list of languages.
    static func isEntry(_ value: JSONValue) -> Bool {
        let language = value["languages"]?.members?.first?.value
        return language?["hash"]?.string != nil && language?["page_count"]?.int != nil
    }

    /// Returns the files that a list of languages names: for each one, a program and a list of files.
    static func languages(_ entry: JSONValue) -> [ImpliedLink] {
        var links = [ImpliedLink("wasm.unknown.pagefind", .data, .isGuess)]
        for language in (entry["languages"]?.members ?? []).prefix(maxLanguages) {
            if let hash = name(language.value["hash"]?.string) {
                links.append(ImpliedLink("pagefind.\(hash).pf_meta", .data))
            }
            if let program = name(language.value["wasm"]?.string) {
                links.append(ImpliedLink("wasm.\(program).pagefind", .data))
            }
        }
        return links
    }

    /// Adds the files that the list of one language names. A body of another form has no links.
    static func scan(_ text: SourceText, _ sink: LinkSink) {
        guard let bytes = decompress(text.bytes), bytes.starts(with: mark) else { return }
        var reader = CBORReader(bytes[mark.count...])
        // The version, then the pages, parts of the index and filters.
        guard let parts = reader.array(first: 4) else { return }
        let kinds: [(folder: String, suffix: String, hashPlace: Int)] = [
            ("fragment", "pf_fragment", 0), ("index", "pf_index", 2), ("filter", "pf_filter", 1),
        ]
        for (part, kind) in zip(parts.dropFirst(), kinds) {
            guard case .array(let entries) = part else { return }
            sink.addImplied(
                entries.prefix(LinkSink.maxImplied).compactMap { entry in
                    guard case .array(let members) = entry, members.indices.contains(kind.hashPlace),
                        case .text(let hash) = members[kind.hashPlace], let hash = name(hash)
                    else { return nil }
                    return ImpliedLink("\(kind.folder)/\(hash).\(kind.suffix)", .data)
                })
        }
    }

    /// The name, if it can be a part of a file name.
    private static func name(_ text: String?) -> String? {
        guard let text, 1...100 ~= text.utf8.count,
            text.utf8.allSatisfy({ $0.isASCIIAlphanumeric || "-_".utf8.contains($0) })
        else { return nil }
        return text
    }

    private static func decompress(_ bytes: Bytes) -> [UInt8]? {
        // Servers may have removed the compression.
        guard bytes.count > 2, bytes[0] == 0x1F, bytes[1] == 0x8B else {
            return Array(bytes.prefix(maxBytes))
        }
        guard let decoder = ContentCoding.gzip.decoder() else { return nil }
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        var (rest, output) = (UnsafeRawBufferPointer(bytes), [UInt8]())
        while !decoder.isComplete, output.count < maxBytes {
            let step = buffer.withUnsafeMutableBytes { decoder.decode(rest, into: $0) }
            guard let step, step.consumed + step.produced > 0 else { return nil }
            rest = UnsafeRawBufferPointer(rebasing: rest[step.consumed...])
            output += buffer[..<step.produced]
        }
        return output
    }

    private static let mark = Array("pagefind_dcd".utf8)
    private static let maxLanguages = 100
    private static let maxBytes = 16 << 20
}

/// Reads arrays and texts in CBOR. Other values are skipped; those of indefinite length are invalid.
private struct CBORReader {
    enum Value {
        case array([Value])
        case text(String)
        case other
    }

    private let bytes: ArraySlice<UInt8>
    private var offset: Int
    private var depth = 0
    private var count = 0

    private static let maxDepth = 8
    private static let maxValues = 400_000

    init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        offset = bytes.startIndex
    }

    /// Returns the elements of an array up to a number; nil if the value is something else.
    mutating func array(first maxCount: Int) -> [Value]? {
        guard offset < bytes.endIndex, bytes[offset] >> 5 == 4 else { return nil }
        let head = bytes[offset]
        offset += 1
        guard let number = readArgument(head & 31) else { return nil }
        return readElements(min(number, maxCount))
    }

    /// Returns nil at the end and for invalid input.
    private mutating func readValue() -> Value? {
        guard offset < bytes.endIndex, depth < Self.maxDepth, count < Self.maxValues else { return nil }
        count += 1
        let head = bytes[offset]
        offset += 1
        guard let number = readArgument(head & 31) else { return nil }
        switch head >> 5 {
        case 2, 3:
            guard number <= bytes.endIndex - offset else { return nil }
            defer { offset += number }
            return head >> 5 == 2
                ? .other : .text(String(decoding: bytes[offset..<offset + number], as: UTF8.self))
        case 4: return readElements(number).map(Value.array)
        case 5: return number > Self.maxValues ? nil : readElements(2 * number).map { _ in .other }
        case 6: return readValue()
        default: return .other
        }
    }

    private mutating func readElements(_ number: Int) -> [Value]? {
        // Each element has at least one byte.
        guard number <= bytes.endIndex - offset, number <= Self.maxValues else { return nil }
        depth += 1
        defer { depth -= 1 }
        var elements: [Value] = []
        for _ in 0..<number {
            guard let element = readValue() else { return nil }
            elements.append(element)
        }
        return elements
    }

    private mutating func readArgument(_ short: UInt8) -> Int? {
        guard short >= 24 else { return Int(short) }
        guard short < 28 else { return nil }
        let count = 1 << Int(short - 24)
        guard count <= bytes.endIndex - offset else { return nil }
        defer { offset += count }
        return Int(clamping: bytes[offset..<offset + count].reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }
}
