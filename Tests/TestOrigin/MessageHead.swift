/// The end of a message head (without its closing empty line), and the start of the bytes after it.
func endOfHead(_ bytes: [UInt8], from start: Int = 0) -> (head: Int, next: Int)? {
    var index = start
    while index < bytes.count {
        if bytes[index] == 0x0a {
            if index + 1 < bytes.count, bytes[index + 1] == 0x0a { return (index + 1, index + 2) }
            if index + 2 < bytes.count, bytes[index + 1] == 0x0d, bytes[index + 2] == 0x0a {
                return (index + 1, index + 3)
            }
        }
        index += 1
    }
    return nil
}

/// The bytes as text, without leading and trailing spaces and tabs.
func trimmed(_ bytes: ArraySlice<UInt8>) -> String {
    var bytes = bytes
    while let first = bytes.first, first == 0x20 || first == 0x09 { bytes.removeFirst() }
    while let last = bytes.last, last == 0x20 || last == 0x09 { bytes.removeLast() }
    return String(decoding: bytes, as: UTF8.self)
}

func reason(for status: Int) -> String {
    let reasons = [
        200: "OK", 204: "No Content", 206: "Partial Content", 301: "Moved Permanently", 302: "Found",
        303: "See Other",
        304: "Not Modified", 307: "Temporary Redirect", 308: "Permanent Redirect", 400: "Bad Request",
        403: "Forbidden",
        404: "Not Found", 410: "Gone", 411: "Length Required", 416: "Range Not Satisfiable",
        429: "Too Many Requests",
        500: "Internal Server Error", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout",
    ]
    return reasons[status] ?? "Status"
}
