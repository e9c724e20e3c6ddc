internal import Web

/// Converts file names to URL references. A file may be called `a?b #1.js`, which has another meaning in a
/// URL.
package enum PathReference {
    package static func reference(to path: String) -> String { reference(to: Array(path.utf8)) }

    /// Percent-encodes all bytes that have a meaning in URLs or are not ASCII, except slashes. Several
    /// slashes at the start become one: they are equal in a file system, but in a URL they would precede a
    /// host name.
    static func reference(to path: [UInt8]) -> String {
        let path = path.starts(with: [0x2F, 0x2F]) ? [0x2F] + path.drop { $0 == 0x2F } : path
        if path.allSatisfy({ isPlain($0) && $0 != 0x3A }) { return String(decoding: path, as: UTF8.self) }
        // A colon in the first segment would end a scheme, unless `./` precedes it (RFC 3986, section 4.2).
        let hasColon = path.prefix { $0 != 0x2F }.contains(0x3A)
        return (hasColon ? "./" : "") + String(percentEncoding: path, except: isPlain)
    }

    /// The path of the file that a reference names, relative to the root. Nil if the reference has a query or a fragment,
    /// names a folder or another origin, or is not UTF-8.
    package static func path(of reference: String) -> String? {
        var rest = reference.utf8[...]
        guard !rest.contains(where: { $0 == 0x3F || $0 == 0x23 }), !rest.starts(with: [0x2F, 0x2F]) else {
            return nil
        }
        if rest.starts(with: [0x2E, 0x2F]) {
            rest = rest.dropFirst(2)
        } else if rest.first != 0x2F, rest.prefix(while: { $0 != 0x2F }).contains(0x3A) {
            return nil
        }
        if rest.first == 0x2F { rest = rest.dropFirst() }
        let bytes = Array(rest)
        let path = [UInt8](percentDecoding: bytes.span)
        guard !path.isEmpty, path.last != 0x2F else { return nil }
        return String(validating: path, as: UTF8.self)
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: ";"), UInt8(ascii: "="),
            UInt8(ascii: "&")...UInt8(ascii: "/"), UInt8(ascii: "@")...UInt8(ascii: "Z"), UInt8(ascii: "!"),
            UInt8(ascii: "$"), UInt8(ascii: "_"), UInt8(ascii: "~"):
            true
        default: false
        }
    }
}
