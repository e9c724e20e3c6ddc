/// What the start of a reference tells, without parsing it as a URL.
enum ReferenceShape {
    case relative
    /// It has a scheme, or starts with two slashes.
    case namesOrigin
    case fragment
    /// `data:`, `javascript:`, `about:`, `blob:`: there is nothing that could be fetched.
    case inlined
    /// Nothing is left of it.
    case empty

    init(_ bytes: Bytes) {
        var index = 0
        while index < bytes.count, bytes[index] <= 0x20 { index += 1 }
        guard index < bytes.count else {
            self = .empty
            return
        }
        let first = bytes[index]
        if first == UInt8(ascii: "#") {
            self = .fragment
        } else if Self.isSlash(first) {
            // The URL parser leaves out tabs and line ends wherever they stand.
            index += 1
            while index < bytes.count, bytes[index] <= 0x0D { index += 1 }
            self = index < bytes.count && Self.isSlash(bytes[index]) ? .namesOrigin : .relative
        } else if first.isLetter {
            self = Self.scheme(bytes, from: index)
        } else {
            self = .relative
        }
    }

    private static func isSlash(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "/") || byte == UInt8(ascii: "\\")
    }

    private static func scheme(_ bytes: Bytes, from start: Int) -> ReferenceShape {
        var index = start
        while index < bytes.count {
            let byte = bytes[index]
            if byte == UInt8(ascii: ":") {
                for name: StaticString in ["data:", "javascript:", "about:", "blob:"]
                where bytes.starts(with: name, at: start) {
                    return .inlined
                }
                return .namesOrigin
            }
            let isSchemeByte =
                byte.isLetter || byte.isDigit || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-")
                || byte == UInt8(ascii: ".") || byte == 0x09 || byte == 0x0A || byte == 0x0D
            if !isSchemeByte { return .relative }
            index += 1
        }
        return .relative
    }
}
