internal import Web

/// File names as the references that lead to them: a file may be called `a?b #1.js`, and in a URL that means something.
enum PathReference {
    static func reference(to path: String) -> String { reference(to: Array(path.utf8)) }

    /// Every byte that would mean something else, or is not ASCII, is percent-encoded; slashes stay.
    static func reference(to path: [UInt8]) -> String {
        if !path.starts(with: [0x2F, 0x2F]), path.allSatisfy({ isPlain($0) && $0 != 0x3A }) {
            return String(decoding: path, as: UTF8.self)
        }
        var text: [UInt8] = []
        // Two slashes at the start would name a host, and a colon before any slash a scheme.
        let firstSlash = path.firstIndex(of: 0x2F) ?? path.endIndex
        if path[..<firstSlash].contains(0x3A) { text += [0x2E, 0x2F] }
        for byte in path.starts(with: [0x2F, 0x2F]) ? path.drop(while: { $0 == 0x2F }) : path[...] {
            if isPlain(byte) {
                text.append(byte)
            } else {
                text += [0x25, (byte >> 4).upperHexDigit, byte.upperHexDigit]
            }
        }
        return String(decoding: text, as: UTF8.self)
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
