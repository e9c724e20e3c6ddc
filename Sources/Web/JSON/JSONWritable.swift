/// What can be written as one JSON value.
package protocol JSONWritable {
    /// Writes exactly one value.
    func write(to writer: inout JSONWriter)
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
        case .object(let members): writer.object { for member in members { $0.member(member.key, member.value) } }
        }
    }
}
