/// A whole response, ready for the wire. Immutable, so that the memory tier and any number of sockets share it.
final class Answer: Sendable {
    let status: Int
    /// Head and body in one piece, so that one call sends them.
    let bytes: [UInt8]
    let headCount: Int
    let entityTag: String?
    /// What follows `bytes` for a large body: a file, sent by the kernel.
    let file: FileBody?

    struct FileBody: Sendable {
        let path: String
        let byteCount: Int
    }

    init(status: Int, fields: [(name: String, value: String)], body: [UInt8]) {
        var bytes = Self.head(status: status, fields: fields, byteCount: body.count, extra: body.count)
        headCount = bytes.count
        bytes.append(contentsOf: body)
        self.status = status
        self.bytes = bytes
        entityTag = fields.first { $0.name == "ETag" }?.value
        file = nil
    }

    init(status: Int, fields: [(name: String, value: String)], file: FileBody) {
        self.status = status
        bytes = Self.head(status: status, fields: fields, byteCount: file.byteCount, extra: 0)
        headCount = bytes.count
        entityTag = fields.first { $0.name == "ETag" }?.value
        self.file = file
    }

    static func text(_ status: Int, _ text: String, fields: [(name: String, value: String)] = []) -> Answer {
        Answer(status: status, fields: [("Content-Type", "text/plain; charset=utf-8")] + fields, body: Array(text.utf8))
    }

    static func html(_ status: Int, _ html: String, fields: [(name: String, value: String)] = []) -> Answer {
        Answer(status: status, fields: [("Content-Type", "text/html; charset=utf-8")] + fields, body: Array(html.utf8))
    }

    static func redirect(to location: String, fields: [(name: String, value: String)] = []) -> Answer {
        Answer(status: 302, fields: [("Location", location)] + fields, body: [])
    }

    private static func head(
        status: Int, fields: [(name: String, value: String)], byteCount: Int, extra: Int
    ) -> [UInt8] {
        var head: [UInt8] = []
        head.reserveCapacity(512 + extra)
        head.append(contentsOf: "HTTP/1.1 \(status) \(phrase(status))\r\n".utf8)
        for field in fields {
            head.append(contentsOf: field.name.utf8)
            head.append(contentsOf: ": ".utf8)
            // A stored value cannot end the field, whatever is in it.
            head.append(contentsOf: field.value.utf8.lazy.filter { $0 != 0x0d && $0 != 0x0a && $0 != 0 })
            head.append(contentsOf: "\r\n".utf8)
        }
        // RFC 9110 §8.6: a 204 must not have it, and a 304 would have to tell that of the body it stands for.
        if status != 204, status != 304 { head.append(contentsOf: "Content-Length: \(byteCount)\r\n".utf8) }
        head.append(contentsOf: "\r\n".utf8)
        return head
    }

    private static func phrase(_ status: Int) -> String {
        switch status {
        case 200: "OK"
        case 203: "Non-Authoritative Information"
        case 204: "No Content"
        case 206: "Partial Content"
        case 300: "Multiple Choices"
        case 301: "Moved Permanently"
        case 302: "Found"
        case 303: "See Other"
        case 304: "Not Modified"
        case 307: "Temporary Redirect"
        case 308: "Permanent Redirect"
        case 400: "Bad Request"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 410: "Gone"
        case 411: "Length Required"
        case 413: "Content Too Large"
        case 414: "URI Too Long"
        case 421: "Misdirected Request"
        case 431: "Request Header Fields Too Large"
        case 500: "Internal Server Error"
        case 504: "Gateway Timeout"
        default: "Status \(status)"
        }
    }
}
