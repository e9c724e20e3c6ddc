import Glibc
import Testing

@testable import Web

/// The tables of other projects, which lie outside this package; see `LARDER_CONFORMANCE`.
enum HTTPConformance {
    static let folder: String = {
        if let path = getenv("LARDER_CONFORMANCE") { return String(cString: path) }
        var parts = #filePath.split(separator: "/")
        while !parts.isEmpty, parts.last != "Tests" { parts.removeLast() }
        return "/" + parts.dropLast().joined(separator: "/") + "/../shared/conformance"
    }()

    static let isPresent = access(folder, R_OK) == 0

    /// The bytes of one file; empty when it is not there.
    static func bytes(_ name: String) -> [UInt8] {
        guard let file = fopen("\(folder)/\(name)", "rb") else { return [] }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = fread(&chunk, 1, chunk.count, file)
            if count == 0 { return bytes }
            bytes.append(contentsOf: chunk[..<count])
        }
    }

    /// One file of cases; an empty array when the folder is not there.
    static func json(_ name: String) -> [JSONValue] {
        guard isPresent else { return [] }
        do {
            let value = try JSONValue.parse(bytes(name).span)
            return value["cases"]?.array ?? value.array ?? []
        } catch {
            Issue.record("\(name): \(error)")
            return []
        }
    }
}

/// A small generator, so that a failing case comes again.
struct TestRandom: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}
