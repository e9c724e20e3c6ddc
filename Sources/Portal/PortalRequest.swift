package import Store
internal import Web

/// A request to the portal: a path and form fields. Numbers and lengths of fields are limited, so that every later step
/// can use them without checks of its own.
package struct PortalRequest: Equatable {
    /// The path without the query.
    package let path: String
    package let fields: [String: String]

    /// The maximum length of a decoded field in bytes. Longer ones are truncated.
    static let maxFieldBytes = 4096
    /// The maximum number of fields. Further ones are ignored.
    private static let maxFields = 16

    /// Parses a request target. Repairs invalid UTF-8, uses the first of repeated fields, and truncates long
    /// fields.
    package init(target: String) {
        let bytes = Array(target.utf8)
        let mark = bytes.firstIndex(of: UInt8(ascii: "?")) ?? bytes.endIndex
        path = String(decoding: bytes[..<mark], as: UTF8.self)
        fields = Self.parseFields(bytes[mark...].dropFirst())
    }

    /// Parses a submitted form (`application/x-www-form-urlencoded`).
    package init(path: String, form: [UInt8]) {
        self.path = path
        fields = Self.parseFields(form[...])
    }

    /// Creates a request from saved fields.
    package init(path: String, fields: [(name: String, value: String)]) {
        self.path = path
        self.fields = Dictionary(fields.prefix(Self.maxFields).map { ($0.name, $0.value) }) { $1 }
    }

    /// Parses `name=value` pairs. The first of repeated fields counts.
    private static func parseFields(_ bytes: ArraySlice<UInt8>) -> [String: String] {
        var fields: [String: String] = [:]
        for field in bytes.split(separator: UInt8(ascii: "&")).prefix(maxFields) {
            let equals = field.firstIndex(of: UInt8(ascii: "=")) ?? field.endIndex
            let name = decoded(field[..<equals])
            if fields[name] == nil { fields[name] = decoded(field[equals...].dropFirst()) }
        }
        return fields
    }

    /// The value of a field; nil if it is empty or missing.
    package subscript(_ name: String) -> String? {
        fields[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The value of a field as a number; nil if it is missing or is not a number.
    package func number(_ name: String) -> Int64? { self[name].flatMap { Int64($0) } }

    /// The value of a field as the name of a snapshot; nil if it is missing or is not such a name.
    package func snapshot(_ name: String) -> SnapshotName? { self[name].flatMap { SnapshotName($0) } }

    /// Decodes `application/x-www-form-urlencoded` text: `+` is a space, and `%` starts two hexadecimal digits. An
    /// incomplete escape stays as it is, as in the URL Standard.
    private static func decoded(_ bytes: ArraySlice<UInt8>) -> String {
        // Three input bytes can become one byte.
        let bytes = bytes.prefix(3 * maxFieldBytes).map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }
        let decoded = [UInt8](percentDecoding: bytes.span)
        return String(decoding: decoded.prefix(maxFieldBytes), as: UTF8.self)
    }
}
