/// What is asked of the portal: a path and the fields of a form.
struct PortalRequest: Equatable {
    let path: String
    private let fields: [String: String]

    static let longestField = 4096
    private static let mostFields = 16

    /// Reads a request target: the query as a form writes it, what is no UTF-8 repaired. Of a field that comes twice the
    /// first counts; what is too long is cut.
    init(target: String) {
        let bytes = Array(target.utf8)
        let mark = bytes.firstIndex(of: UInt8(ascii: "?")) ?? bytes.endIndex
        path = String(decoding: bytes[..<mark], as: UTF8.self)
        var fields: [String: String] = [:]
        for field in bytes[mark...].dropFirst().split(separator: UInt8(ascii: "&")).prefix(Self.mostFields) {
            let equals = field.firstIndex(of: UInt8(ascii: "=")) ?? field.endIndex
            let name = Self.decoded(field[..<equals])
            if fields[name] == nil { fields[name] = Self.decoded(field[equals...].dropFirst()) }
        }
        self.fields = fields
    }

    /// Nil for a field that is empty or not there.
    subscript(_ name: String) -> String? {
        fields[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    func number(_ name: String) -> Int64? { self[name].flatMap { Int64($0) } }

    private static func decoded(_ bytes: ArraySlice<UInt8>) -> String {
        var decoded: [UInt8] = []
        var rest = bytes.prefix(3 * longestField)
        while let byte = rest.popFirst(), decoded.count < longestField {
            if byte == UInt8(ascii: "+") {
                decoded.append(UInt8(ascii: " "))
            } else if byte == UInt8(ascii: "%"), rest.count >= 2,
                let high = hexDigit(rest[rest.startIndex]), let low = hexDigit(rest[rest.startIndex + 1])
            {
                decoded.append(high << 4 | low)
                rest = rest.dropFirst(2)
            } else {
                decoded.append(byte)
            }
        }
        return String(decoding: decoded, as: UTF8.self)
    }

    private static func hexDigit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x41 + 10
        case 0x61...0x66: byte - 0x61 + 10
        default: nil
        }
    }
}
