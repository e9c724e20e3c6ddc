internal import Web

/// What URLs have in common that come from one place, told at a glance: `URLShape` looks closer.
enum Kinship {
    /// Where an URL is: its path up to the last slash, with the ending of what is behind it.
    static func folder(of url: WebURL) -> UInt64 {
        let path = Array(url.path.utf8)
        let slash = path.lastIndex(of: UInt8(ascii: "/")) ?? 0
        let dot = path[slash...].lastIndex(of: UInt8(ascii: ".")) ?? path.count
        return Mixing.mix(path[..<slash] + path[dot...])
    }

    /// The same, with one number as good as another, and with the names of what is asked for.
    static func kin(of href: UnsafeBufferPointer<UInt8>) -> UInt64 {
        let query = href.firstIndex(of: UInt8(ascii: "?")) ?? href.count
        let path = href[..<query]
        let slash = path.lastIndex(of: UInt8(ascii: "/")) ?? 0
        let dot = path[slash...].lastIndex(of: UInt8(ascii: ".")) ?? query
        var hash = Hash()
        for byte in href[..<slash] { hash.add(byte) }
        for byte in href[dot..<query] { hash.add(byte) }
        var isName = true
        for byte in href[query...] {
            if byte == UInt8(ascii: "&") { isName = true } else if byte == UInt8(ascii: "=") { isName = false }
            if isName { hash.add(byte) }
        }
        return hash.value
    }

    private struct Hash {
        var value: UInt64 = 0xCBF2_9CE4_8422_2325
        private var isInNumber = false

        @inline(__always)
        mutating func add(_ byte: UInt8) {
            if byte.isASCIIDigit {
                if isInNumber { return }
                isInNumber = true
                value = (value ^ 0x30) &* 0x0000_0100_0000_01B3
            } else {
                isInNumber = false
                value = (value ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
            }
        }
    }
}
