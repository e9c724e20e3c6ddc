/// The body of a request that was recorded, as it is compared with that of a later one.
package enum RecordedBody {
    /// What equal requests have in common; nil where the bytes are all that there is to compare.
    ///
    ///     canonical of {"b": 1.0, "a": [2]} is {"a":[2],"b":1.0}
    package static func canonical(_ body: Span<UInt8>, _ type: MediaType) -> [UInt8]? {
        if type.essence == "application/json" || type.essence.hasSuffix("+json") {
            guard body.count <= mostBytes, let value = try? JSONValue.parse(body) else { return nil }
            var bytes: [UInt8] = []
            bytes.reserveCapacity(body.count)
            append(value, body, to: &bytes)
            return bytes
        }
        guard type.essence == "multipart/form-data" || type.essence == "multipart/mixed",
            let boundary = type.parameters.first(where: { $0.name == "boundary" })?.value, !boundary.isEmpty
        else { return nil }
        return replacing(Array(("--" + boundary).utf8), in: body)
    }

    private static let mostBytes = 4 * 1024 * 1024

    /// Members in the order of their names, nothing between them; what has no parts is as it was written.
    private static func append(_ value: JSONValue, _ source: Span<UInt8>, to bytes: inout [UInt8]) {
        switch value.content {
        case .array(let elements):
            bytes.append(0x5B)
            for (index, element) in elements.enumerated() {
                if index > 0 { bytes.append(0x2C) }
                append(element, source, to: &bytes)
            }
            bytes.append(0x5D)
        case .object(let members):
            bytes.append(0x7B)
            for (index, member) in members.sorted(by: { $0.key < $1.key }).enumerated() {
                if index > 0 { bytes.append(0x2C) }
                var name = JSONWriter()
                name.value(member.key)
                bytes += name.bytes
                bytes.append(0x3A)
                append(member.value, source, to: &bytes)
            }
            bytes.append(0x7D)
        case .string(let text):
            var writer = JSONWriter()
            writer.value(text)
            bytes += writer.bytes
        case .null, .bool, .number:
            for index in value.range { bytes.append(source[index]) }
        }
    }

    private static func replacing(_ boundary: [UInt8], in body: Span<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(body.count)
        var at = 0
        while at < body.count {
            if body[at] == boundary[0], at + boundary.count <= body.count,
                boundary.indices.allSatisfy({ body[at + $0] == boundary[$0] })
            {
                bytes += "--boundary".utf8
                at += boundary.count
            } else {
                bytes.append(body[at])
                at += 1
            }
        }
        return bytes
    }
}
