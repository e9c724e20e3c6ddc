/// Writes JSON into memory, members in the order in which they are given.
///
///     var writer = JSONWriter(.pretty)
///     writer.object {
///         $0.member("url", page.href)
///         $0.member("links") { $0.array { for link in links { $0.value(link) } } }
///     }
package struct JSONWriter: Sendable {
    package enum Style: Sendable {
        /// One member or element a line, two spaces a level.
        case pretty
        /// No space at all, so that one value is one line.
        case compact
    }

    /// What has been written, valid UTF-8.
    package private(set) var bytes: [UInt8] = []
    private let style: Style
    private var depth = 0
    private var needsComma = false
    /// Whether a key was just written, whose value follows on the same line.
    private var afterKey = false

    package init(_ style: Style = .compact) {
        self.style = style
    }

    package var text: String { String(decoding: bytes, as: UTF8.self) }

    /// Hands over what has been written and goes on behind it; for outputs too large to hold.
    package mutating func takeBytes() -> [UInt8] {
        defer { bytes.removeAll(keepingCapacity: true) }
        return bytes
    }

    package mutating func object(_ members: (inout JSONWriter) -> Void) { nest(0x7B, 0x7D, members) }

    package mutating func array(_ elements: (inout JSONWriter) -> Void) { nest(0x5B, 0x5D, elements) }

    /// Writes an element of an array, or a whole text.
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

    /// Leaves the member out when there is no value; `member` would write null.
    package mutating func memberIfPresent(_ key: String, _ value: (some JSONWritable)?) {
        if let value { member(key, value) }
    }

    package mutating func null() { scalar("null") }

    package mutating func bool(_ value: Bool) { scalar(value ? "true" : "false") }

    package mutating func int(_ value: some BinaryInteger) { scalar(String(value)) }

    /// Writes the shortest text that reads back as the same number; null for what JSON cannot say.
    package mutating func double(_ value: Double) {
        scalar(value.isFinite ? value.description : "null")
    }

    package mutating func number(_ value: JSONNumber) { scalar(value.text) }

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
        afterKey = true
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

    /// Puts what stands between the last thing written and the next one.
    private mutating func separate() {
        if afterKey {
            afterKey = false
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

    /// A text as a string with its quotes.
    ///
    /// - Precondition: It is UTF-8.
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

/// What can be written as one JSON value.
package protocol JSONWritable {
    /// Writes exactly one value.
    func write(to writer: inout JSONWriter)

    /// As a member of an object it is left out.
    var isLeftOut: Bool { get }
}

extension JSONWritable {
    package var isLeftOut: Bool { false }
}

/// A value that is one JSON object: it lists its members once, and everybody who shows it writes those.
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

/// The members of an object, in their order. What is nil is written as null.
package struct JSONMembers: JSONWritable, ExpressibleByDictionaryLiteral {
    private var list: [(String, any JSONWritable)]

    package init(dictionaryLiteral members: (String, any JSONWritable)...) {
        list = members
    }

    /// Members whose names are data.
    package init(_ members: [(String, any JSONWritable)]) { list = members }

    /// The members of both, one after the other.
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

    /// The whole object as a text: on lines of its own for a report, on one line for a list.
    package func text(_ style: JSONWriter.Style = .pretty) -> String {
        var writer = JSONWriter(style)
        write(to: &writer)
        return writer.text
    }
}

/// A member that is there only where it has something to say.
package struct IfAny: JSONWritable {
    private let value: (any JSONWritable)?

    package init(_ value: (some JSONWritable)?) {
        self.value = value
    }

    /// Left out when the list is empty.
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
