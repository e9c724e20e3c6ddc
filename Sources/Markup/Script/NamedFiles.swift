/// Finds files that a script names by absolute URLs in its string literals, which are the files that an app's
/// bundle loads from any host.
///
/// In scripts of a page, such strings are more often text than links. In a bundle that a manifest lists, the
/// files belong to the app.
package enum NamedFiles {
    /// Further files are ignored.
    private static let maxFiles = 4096
    /// Longer strings are ignored.
    private static let maxURLBytes = 2048

    /// Returns the URLs, absolute or starting with `//`, including duplicates.
    package static func addresses(in script: Span<UInt8>) -> [[UInt8]] {
        script.withUnsafeBufferPointer { bytes in
            guard let base = bytes.baseAddress else { return [] }
            var found: [[UInt8]] = []
            var index = 0
            // The search is for slashes because two of them are rarer than quotes.
            while found.count < maxFiles {
                let slash = base.find(UInt8(ascii: "/"), from: index, to: bytes.count)
                guard slash < bytes.count else { break }
                index = slash + 1
                guard let start = start(in: bytes, before: slash),
                    let address = address(in: bytes, from: start, to: bytes[start - 1])
                else { continue }
                found.append(address)
                index = start + address.count
            }
            return found
        }
    }

    /// Returns the start of the string whose first two slashes begin here, with at most a scheme before them;
    /// nil if there is none.
    private static func start(in bytes: Bytes, before slash: Int) -> Int? {
        let isEscaped = slash > 0 && bytes[slash - 1] == UInt8(ascii: "\\")
        let second = slash + 1
        guard second < bytes.count, bytes[second] == UInt8(ascii: "/") || isEscapedSlash(bytes, second) else {
            return nil
        }
        let end = isEscaped ? slash - 1 : slash
        return schemes.lazy.map { (end - $0.utf8CodeUnitCount, $0) }.first { start, scheme in
            start > 0 && isQuote(bytes[start - 1])
                && bytes[start..<end].elementsEqual(
                    UnsafeBufferPointer(start: scheme.utf8Start, count: scheme.utf8CodeUnitCount))
        }?.0
    }

    private static let schemes: [StaticString] = ["", "http:", "https:"]

    private static func isQuote(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") || byte == UInt8(ascii: "`")
    }

    private static func address(in bytes: Bytes, from start: Int, to quote: UInt8) -> [UInt8]? {
        var address: [UInt8] = []
        var index = start
        while index < bytes.count, bytes[index] != quote {
            // Stops at the first byte that is not part of a URL, so that the time is linear in the length of
            // the script.
            guard index - start < maxURLBytes, isAddressByte(bytes[index]) || isEscapedSlash(bytes, index)
            else {
                return nil
            }
            if bytes[index] != UInt8(ascii: "\\") { address.append(bytes[index]) }
            index += 1
            if address.count == 8, !isWhole(address) { return nil }
        }
        guard index < bytes.count, address.count > 8, isWhole(address) else { return nil }
        let kind = address.withUnsafeBufferPointer { FileEndings.kind(ofFile: $0) }
        return kind?.role == .asset ? address : nil
    }

    private static func isWhole(_ address: [UInt8]) -> Bool {
        address.withUnsafeBufferPointer { bytes in
            bytes.starts(with: "https://") || bytes.starts(with: "http://")
                || bytes.starts(with: "//") && bytes[2] != UInt8(ascii: "/")
        }
    }

    private static func isEscapedSlash(_ bytes: Bytes, _ index: Int) -> Bool {
        bytes[index] == UInt8(ascii: "\\") && index + 1 < bytes.count && bytes[index + 1] == UInt8(ascii: "/")
    }

    private static func isAddressByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0...0x20, 0x7F, UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "`"), UInt8(ascii: "<"),
            UInt8(ascii: ">"), UInt8(ascii: "\\"), UInt8(ascii: "{"), UInt8(ascii: "}"), UInt8(ascii: "|"),
            UInt8(ascii: "^"):
            false
        default: true
        }
    }
}
