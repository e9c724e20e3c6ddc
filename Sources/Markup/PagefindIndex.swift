internal import Codings
internal import Web

/// The files of Pagefind, the search of many static sites. Its scripts load them one after the other, when a person
/// types:
///
///     pagefind.js → pagefind-entry.json → pagefind.HASH.pf_meta → index, fragment and filter files
///
/// The last list is a gzip file with a mark and a CBOR array (RFC 8949).
enum PagefindIndex {
    /// The list of the languages, each with the hash of its list of files.
    static func languages(_ entry: JSONValue) -> [ImpliedLink] {
        var links = [ImpliedLink("wasm.unknown.pagefind", .data, .isGuess)]
        for language in (entry["languages"]?.members ?? []).prefix(mostLanguages) {
            if let hash = name(language.value["hash"]?.string) {
                links.append(ImpliedLink("pagefind.\(hash).pf_meta", .data))
            }
            if let program = name(language.value["wasm"]?.string) {
                links.append(ImpliedLink("wasm.\(program).pagefind", .data))
            }
        }
        return links
    }

    /// The list of the files of one language. A text of another form has no links.
    static func scan(_ text: SourceText, _ sink: LinkSink) {
        guard let bytes = unpacked(text.bytes), bytes.starts(with: mark) else { return }
        var reader = CBORReader(bytes[mark.count...])
        // The version, then the pages, parts of the index and filters.
        guard case .array(let parts)? = reader.value(), parts.count > 3 else { return }
        let kinds: [(folder: String, suffix: String, hashPlace: Int)] = [
            ("fragment", "pf_fragment", 0), ("index", "pf_index", 2), ("filter", "pf_filter", 1),
        ]
        for (part, kind) in zip(parts.dropFirst(), kinds) {
            guard case .array(let entries) = part else { return }
            sink.imply(
                entries.compactMap { entry in
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

    private static func unpacked(_ bytes: Bytes) -> [UInt8]? {
        // Servers may have removed the compression.
        guard bytes.count > 2, bytes[0] == 0x1F, bytes[1] == 0x8B else { return Array(bytes.prefix(limit)) }
        guard let decoder = ContentCoding.gzip.decoder() else { return nil }
        var output = [UInt8](repeating: 0, count: 64 * 1024)
        var (rest, unpacked) = (UnsafeRawBufferPointer(bytes), [UInt8]())
        while !decoder.isComplete, unpacked.count < limit {
            let step = output.withUnsafeMutableBytes { decoder.run(rest, $0) }
            guard let step, step.taken + step.made > 0 else { return nil }
            rest = UnsafeRawBufferPointer(rebasing: rest[step.taken...])
            unpacked += output[..<step.made]
        }
        return unpacked
    }

    private static let mark = Array("pagefind_dcd".utf8)
    private static let mostLanguages = 100
    private static let limit = 16 << 20
}

/// Reads arrays, texts and numbers in CBOR. Everything else makes the input invalid.
private struct CBORReader {
    enum Value {
        case array([Value])
        case text(String)
        case number
    }

    private let bytes: ArraySlice<UInt8>
    private var place: Int
    private var depth = 0

    init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        place = bytes.startIndex
    }

    /// Returns nil at the end and for invalid input.
    mutating func value() -> Value? {
        guard place < bytes.endIndex, depth < 8 else { return nil }
        let head = bytes[place]
        place += 1
        guard let number = argument(head & 31) else { return nil }
        switch head >> 5 {
        case 0: return .number
        case 3:
            guard number <= bytes.endIndex - place else { return nil }
            defer { place += number }
            return .text(String(decoding: bytes[place..<place + number], as: UTF8.self))
        case 4:
            // Each element has at least one byte.
            guard number <= bytes.endIndex - place else { return nil }
            depth += 1
            defer { depth -= 1 }
            var elements: [Value] = []
            for _ in 0..<number {
                guard let element = value() else { return nil }
                elements.append(element)
            }
            return .array(elements)
        default: return nil
        }
    }

    private mutating func argument(_ short: UInt8) -> Int? {
        guard short >= 24 else { return Int(short) }
        guard short < 27 else { return nil }
        let count = 1 << Int(short - 24)
        guard count <= bytes.endIndex - place else { return nil }
        defer { place += count }
        return bytes[place..<place + count].reduce(0) { $0 << 8 | Int($1) }
    }
}
