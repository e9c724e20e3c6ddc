/// Where a manifest has what it lists, whatever its format: for reports that point into it.
struct ManifestLines {
    private let source: [UInt8]

    /// A manifest that writes its names in another way is not searched through for each of them.
    private static let mostMisses = 16

    init(_ source: [UInt8]) {
        self.source = source
    }

    /// The line of each, counted from 1; nil where it does not stand there as such. In a manifest's own order this takes time
    /// linear in it.
    func lines(of references: [String]) -> [Int?] {
        var lines: [Int?] = []
        lines.reserveCapacity(references.count)
        var start = 0
        var counted = (offset: 0, line: 1)
        var misses = 0
        for reference in references {
            var found: Int?
            if misses < Self.mostMisses {
                found = offset(of: reference, from: start) ?? (start > 0 ? offset(of: reference, from: 0) : nil)
            }
            guard let found else {
                misses += 1
                lines.append(nil)
                continue
            }
            if found < counted.offset { counted = (0, 1) }
            for index in counted.offset..<found where source[index] == UInt8(ascii: "\n") { counted.line += 1 }
            counted.offset = found
            lines.append(counted.line)
            start = found + reference.utf8.count
        }
        return lines
    }

    /// Between what is no part of a name.
    private func offset(of reference: String, from start: Int) -> Int? {
        let wanted = Array(reference.utf8)
        guard let first = wanted.first else { return nil }
        return source.withUnsafeBufferPointer { source in
            var index = start
            while index + wanted.count <= source.count {
                if source[index] == first, index == 0 || Self.isBorder(source[index - 1]),
                    index + wanted.count == source.count || Self.isBorder(source[index + wanted.count]),
                    source[index..<index + wanted.count].elementsEqual(wanted)
                {
                    return index
                }
                index += 1
            }
            return nil
        }
    }

    private static func isBorder(_ byte: UInt8) -> Bool {
        switch byte {
        case 0...0x20, UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "`"), UInt8(ascii: "("), UInt8(ascii: ")"),
            UInt8(ascii: "*"), UInt8(ascii: "="), UInt8(ascii: ">"), UInt8(ascii: "<"):
            true
        default: false
        }
    }
}
