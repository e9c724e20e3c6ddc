/// Writes JSON to memory, with members in the order of the calls.
///
///     var writer = JSONWriter(.pretty)
///     writer.object {
///         $0.member("url", page.href)
///         $0.member("links") { $0.array { for link in links { $0.value(link) } } }
///     }
package struct JSONWriter: Sendable {
    /// The layout of the output.
    package enum Style: Sendable {
        /// One member or element per line, indented by two spaces per level.
        case pretty
        /// No space, so that a value is on one line.
        case compact
    }

    /// The output, which is valid UTF-8.
    package private(set) var bytes: [UInt8] = []
    private let style: Style
    private var depth = 0
    private var needsComma = false
    /// Whether a key was just written, so that its value follows on the same line.
    private var isAfterKey = false

    package init(_ style: Style = .compact) {
        self.style = style
    }

    package var text: String { String(decoding: bytes, as: UTF8.self) }

    /// Writes an object whose members the closure writes.
    package mutating func object(_ members: (inout JSONWriter) -> Void) { nest(0x7B, 0x7D, members) }

    /// Writes an array whose elements the closure writes.
    package mutating func array(_ elements: (inout JSONWriter) -> Void) { nest(0x5B, 0x5D, elements) }

    /// Writes an element of an array, or the whole text.
    package mutating func value(_ value: some JSONWritable) { value.write(to: &self) }

    package mutating func member(_ key: String, _ value: some JSONWritable) {
        writeKey(key)
        value.write(to: &self)
    }

    /// Writes a member whose value the closure writes.
    package mutating func member(_ key: String, _ value: (inout JSONWriter) -> Void) {
        writeKey(key)
        value(&self)
    }

    /// Writes a member unless its value is nil. (`member` writes null for nil.)
    package mutating func memberIfPresent(_ key: String, _ value: (some JSONWritable)?) {
        if let value { member(key, value) }
    }

    package mutating func null() { scalar("null") }

    package mutating func bool(_ value: Bool) { scalar(value ? "true" : "false") }

    package mutating func int(_ value: some BinaryInteger) { scalar(String(value)) }

    /// Writes the shortest text that parses to the same number; null for infinities and NaN.
    package mutating func double(_ value: Double) {
        scalar(value.isFinite ? value.description : "null")
    }

    package mutating func number(_ value: JSONNumber) { scalar(value.text) }

    /// Writes an integer of any size.
    ///
    /// - Precondition: The text is the integer's decimal digits, after a minus sign if it is negative.
    package mutating func integer(digits: String) { scalar(digits) }

    package mutating func string(_ value: String) {
        separate()
        writeQuoted(value)
        needsComma = true
    }

    fileprivate mutating func writeKey(_ key: String) {
        separate()
        writeQuoted(key)
        bytes.append(0x3A)
        if style == .pretty { bytes.append(0x20) }
        needsComma = false
        isAfterKey = true
    }

    private mutating func nest(_ opening: UInt8, _ closing: UInt8, _ inside: (inout JSONWriter) -> Void) {
        separate()
        bytes.append(opening)
        depth += 1
        needsComma = false
        inside(&self)
        depth -= 1
        if needsComma { breakLine() }
        bytes.append(closing)
        needsComma = true
    }

    private mutating func scalar(_ text: String) {
        separate()
        bytes.append(contentsOf: text.utf8)
        needsComma = true
    }

    /// Writes the comma, line end and indentation before the next key or value.
    private mutating func separate() {
        if isAfterKey {
            isAfterKey = false
            return
        }
        if needsComma { bytes.append(0x2C) }
        if depth > 0 { breakLine() }
    }

    private mutating func breakLine() {
        guard style == .pretty else { return }
        bytes.append(0x0A)
        bytes.append(contentsOf: repeatElement(0x20, count: depth * 2))
    }

    private mutating func writeQuoted(_ text: String) {
        var text = text
        text.withUTF8 { Self.quote($0, to: &bytes) }
    }

    /// Appends a text as a JSON string with quotes.
    ///
    /// - Precondition: The text is valid UTF-8.
    package static func quote(_ utf8: UnsafeBufferPointer<UInt8>, to bytes: inout [UInt8]) {
        bytes.append(0x22)
        var copied = 0
        for index in utf8.indices where utf8[index] < 0x20 || utf8[index] == 0x22 || utf8[index] == 0x5C {
            bytes.append(contentsOf: utf8[copied..<index])
            escape(utf8[index], to: &bytes)
            copied = index + 1
        }
        bytes.append(contentsOf: utf8[copied...])
        bytes.append(0x22)
    }

    private static func escape(_ byte: UInt8, to bytes: inout [UInt8]) {
        bytes.append(0x5C)
        switch byte {
        case 0x22, 0x5C: bytes.append(byte)
        case 0x08: bytes.append(0x62)
        case 0x09: bytes.append(0x74)
        case 0x0A: bytes.append(0x6E)
        case 0x0C: bytes.append(0x66)
        case 0x0D: bytes.append(0x72)
        default:
            bytes.append(contentsOf: "u00".utf8)
            bytes.append(byte >> 4 + 0x30)
            bytes.append(byte & 0xF + (byte & 0xF > 9 ? 0x57 : 0x30))
        }
    }
}

/// A type that can be written as a JSON value.
package protocol JSONWritable {
    /// Writes exactly one value.
    func write(to writer: inout JSONWriter)

    /// Whether the value is left out when it is a member of an object.
    var isLeftOut: Bool { get }
}

extension JSONWritable {
    package var isLeftOut: Bool { false }
}

/// A type that is written as a JSON object with these members.
///
///     extension Move: JSONObject {
///         package var members: JSONMembers { ["from": from, "to": to] }
///     }
package protocol JSONObject: JSONWritable {
    var members: JSONMembers { get }
}

extension JSONObject {
    package func write(to writer: inout JSONWriter) { members.write(to: &writer) }
}

/// The members of a JSON object, in order. A nil value is written as null.
package struct JSONMembers: JSONWritable, ExpressibleByDictionaryLiteral {
    private var list: [(String, any JSONWritable)]

    package init(dictionaryLiteral members: (String, any JSONWritable)...) {
        list = members
    }

    /// Creates an object whose keys are not known at compile time.
    package init(_ members: [(String, any JSONWritable)]) { list = members }

    /// Appends the members of the second object to those of the first.
    package static func + (first: JSONMembers, second: JSONMembers) -> JSONMembers {
        var sum = first
        sum.list += second.list
        return sum
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { object in
            for (key, value) in list where !value.isLeftOut {
                object.writeKey(key)
                value.write(to: &object)
            }
        }
    }

    /// The object as a text: on several lines for a report, or on one line for a list of objects.
    package func text(_ style: JSONWriter.Style = .pretty) -> String {
        var writer = JSONWriter(style)
        write(to: &writer)
        return writer.text
    }
}

/// A member that is left out if its value is nil or empty.
package struct IfAny: JSONWritable {
    private let value: (any JSONWritable)?

    package init(_ value: (some JSONWritable)?) {
        self.value = value
    }

    /// Creates a member that is left out if the list is empty.
    package init(_ list: [some JSONWritable]) {
        value = list.isEmpty ? nil : list
    }

    package var isLeftOut: Bool { value == nil }

    package func write(to writer: inout JSONWriter) {
        if let value { value.write(to: &writer) } else { writer.null() }
    }
}

extension String: JSONWritable {
    package func write(to writer: inout JSONWriter) { writer.string(self) }
}

extension Bool: JSONWritable {
    package func write(to writer: inout JSONWriter) { writer.bool(self) }
}

extension Int: JSONWritable {
    package func write(to writer: inout JSONWriter) { writer.int(self) }
}

extension Int64: JSONWritable {
    package func write(to writer: inout JSONWriter) { writer.int(self) }
}

extension UInt64: JSONWritable {
    package func write(to writer: inout JSONWriter) { writer.int(self) }
}

extension Double: JSONWritable {
    package func write(to writer: inout JSONWriter) { writer.double(self) }
}

extension Optional: JSONWritable where Wrapped: JSONWritable {
    package func write(to writer: inout JSONWriter) {
        if let self { self.write(to: &writer) } else { writer.null() }
    }
}

extension Array: JSONWritable where Element: JSONWritable {
    package func write(to writer: inout JSONWriter) {
        writer.array { for element in self { $0.value(element) } }
    }
}

extension JSONValue: JSONWritable {
    package func write(to writer: inout JSONWriter) {
        switch content {
        case .null: writer.null()
        case .bool(let value): writer.bool(value)
        case .number(let value): writer.number(value)
        case .string(let value): writer.string(value)
        case .array(let elements): writer.value(elements)
        case .object(let members):
            writer.object { for member in members { $0.member(member.key, member.value) } }
        }
    }
}
