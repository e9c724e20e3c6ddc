package import Web

/// A JSON value without positions, which has exactly one encoding: OLPC's "canonical JSON", as securesystemslib writes it.
/// Signatures and key ids of TUF are computed from this encoding.
///
/// - Members are sorted by their names as Unicode code points, and there is no space between tokens.
/// - In strings only `"` and `\` are escaped. All other characters, also control characters, are written in UTF-8.
/// - Numbers are integers. Canonical JSON has no floats, so that a value with one cannot be read.
/// - Members with the same name are an error here, since readers disagree on which one counts.
package indirect enum CanonicalJSON: Sendable, Equatable {
    case null
    case bool(Bool)
    /// An integer of any size, by its decimal digits without leading zeros.
    case integer(digits: String)
    case string(String)
    case array([CanonicalJSON])
    case object([String: CanonicalJSON])

    package static func integer(_ value: Int) -> CanonicalJSON { .integer(digits: String(value)) }

    package static func strings(_ texts: [String]) -> CanonicalJSON { .array(texts.map { .string($0) }) }

    /// Parses a file.
    ///
    /// - Parameter file: the name for errors.
    package init(_ bytes: [UInt8], file: String) throws(TUFError) {
        let limits = JSONLimits(depth: TUFLimits.maxDepth, valueCount: TUFLimits.maxValues)
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONValue.parse(bytes.span, limits: limits)
        } catch {
            throw TUFError(.malformed, file, "invalid JSON: \(error)")
        }
        self = try Self.value(value, file: file)
    }

    private static func value(_ value: JSONValue, file: String) throws(TUFError) -> CanonicalJSON {
        switch value.content {
        case .null: return .null
        case .bool(let value): return .bool(value)
        case .number(let number): return .integer(digits: try digits(of: number, file: file))
        case .string(let text): return .string(text)
        case .array(let elements):
            var list: [CanonicalJSON] = []
            list.reserveCapacity(elements.count)
            for element in elements { list.append(try self.value(element, file: file)) }
            return .array(list)
        case .object(let members):
            var object: [String: CanonicalJSON] = [:]
            object.reserveCapacity(members.count)
            for member in members {
                let value = try self.value(member.value, file: file)
                // Names that Unicode regards as equal count as one, as for String.
                guard object.updateValue(value, forKey: member.key) == nil else {
                    throw TUFError(.malformed, file, "\"\(member.key)\" occurs twice in one object")
                }
            }
            return .object(object)
        }
    }

    private static func digits(of number: JSONNumber, file: String) throws(TUFError) -> String {
        guard number.text.utf8.allSatisfy({ $0.isASCIIDigit || $0 == UInt8(ascii: "-") }) else {
            throw TUFError(.malformed, file, "\(number.text) is not an integer, as canonical JSON requires")
        }
        return number.text == "-0" ? "0" : number.text
    }

    /// The canonical encoding.
    package var bytes: [UInt8] {
        var bytes: [UInt8] = []
        write(to: &bytes)
        return bytes
    }

    private func write(to bytes: inout [UInt8]) {
        switch self {
        case .null: bytes += "null".utf8
        case .bool(let value): bytes += (value ? "true" : "false").utf8
        case .integer(let digits): bytes += digits.utf8
        case .string(let text): Self.quote(text, to: &bytes)
        case .array(let elements):
            bytes.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                element.write(to: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let members):
            bytes.append(UInt8(ascii: "{"))
            for (index, member) in Self.sorted(members).enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                Self.quote(member.key, to: &bytes)
                bytes.append(UInt8(ascii: ":"))
                member.value.write(to: &bytes)
            }
            bytes.append(UInt8(ascii: "}"))
        }
    }

    private static func quote(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { bytes.append(UInt8(ascii: "\\")) }
            bytes.append(byte)
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// The members in the order of the code points of their names. UTF-8 has the same order.
    private static func sorted(_ members: [String: CanonicalJSON]) -> [(key: String, value: CanonicalJSON)] {
        members.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    }
}

/// Writes valid JSON, for files: canonical JSON itself is not always JSON, because of control characters in strings.
extension CanonicalJSON: JSONWritable {
    package func write(to writer: inout JSONWriter) {
        switch self {
        case .null: writer.null()
        case .bool(let value): writer.bool(value)
        case .integer(let digits): writer.integer(digits: digits)
        case .string(let text): writer.string(text)
        case .array(let elements): writer.value(elements)
        case .object(let members):
            writer.object { writer in
                for member in Self.sorted(members) { writer.member(member.key, member.value) }
            }
        }
    }
}
