internal import HTTPServer
internal import Web

/// The parsers of request heads and bodies.
struct RequestTarget: Target {
    let name = "request"
    let suffixes = [".http"]
    let pieces = [
        "\r\n", "\r\n\r\n", "\n", "\r", ":", " ", "\t", ",", ";", "/", "*", "?", "@", "[::1]", ":80",
        "http://",
        "GET ", "HEAD ", "POST ", "OPTIONS ", "CONNECT ", " HTTP/1.1", " HTTP/1.0", " HTTP/2.0",
        "Host: a\r\n", "Host:",
        "Content-Length: 3\r\n", "Content-Length: ", "Transfer-Encoding: chunked\r\n", "Transfer-Encoding: ",
        "chunked",
        "Connection: close\r\n", "keep-alive", "Expect: 100-continue\r\n", "Range: bytes=0-9\r\n",
        "If-None-Match: *\r\n",
        "3\r\nabc\r\n", "0\r\n\r\n", "0\r\n", "ffffffff", "00000000", "1;a=\"b\"\r\n", "Trailer: x\r\n", "é",
    ]

    private struct Reading: Equatable {
        var progress: BodyReader.Progress
        var body: [UInt8]
        var end: Int
    }

    func fault(_ input: [UInt8]) -> String? {
        input.withUnsafeBufferPointer { bytes in
            fault(bytes, isForProxy: false) ?? fault(bytes, isForProxy: true).map { "for a proxy, " + $0 }
        }
    }

    private func fault(_ bytes: UnsafeBufferPointer<UInt8>, isForProxy: Bool) -> String? {
        guard case .head(let head) = RequestHead.parse(bytes, isForProxy: isForProxy) else { return nil }
        if head.isConnect, !isForProxy || head.body != .none { return "a tunnel: \(head)" }
        return placeFault(head, bytes) ?? prefixFault(head, bytes, isForProxy) ?? bodyFault(head, bytes)
    }

    /// Ranges must lie inside the head, and contain only allowed bytes.
    private func placeFault(_ head: RequestHead, _ bytes: UnsafeBufferPointer<UInt8>) -> String? {
        guard head.end <= bytes.count, head.methodName.upperBound <= head.end,
            head.target.upperBound <= head.end,
            head.host.upperBound <= head.end, head.fields.upperBound <= head.end
        else { return "a place: \(head) of \(bytes.count)" }
        guard bytes[head.target].allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            return "a target: \(head.target)"
        }
        guard bytes[head.fields].allSatisfy({ $0 != 0 }) else { return "a field: \(head.fields)" }
        return nil
    }

    /// A head must be incomplete before its end, and must not depend on the bytes after it.
    private func prefixFault(
        _ head: RequestHead, _ bytes: UnsafeBufferPointer<UInt8>, _ isForProxy: Bool
    ) -> String? {
        for count in [head.end - 1, head.end / 2, head.end / 3] {
            let start = UnsafeBufferPointer(rebasing: bytes[..<count])
            guard RequestHead.parse(start, isForProxy: isForProxy) == .incomplete else {
                return "a beginning: \(count) of \(head.end)"
            }
        }
        let alone = UnsafeBufferPointer(rebasing: bytes[..<head.end])
        return RequestHead.parse(alone, isForProxy: isForProxy) == .head(head) ? nil : "alone: \(head)"
    }

    /// The decoded body must not depend on the size of the pieces in which it arrives.
    private func bodyFault(_ head: RequestHead, _ bytes: UnsafeBufferPointer<UInt8>) -> String? {
        let whole = read(head, bytes, atOnce: bytes.count)
        for count in [1, 7] where read(head, bytes, atOnce: count) != whole {
            return "a body: by \(count) it is another than \(whole)"
        }
        guard whole.body.count <= ServerLimits.standard.maxBufferedBodyBytes else {
            return "a length: \(whole.body.count)"
        }
        if case .length(let count) = head.body, whole.progress == .complete, whole.body.count != count {
            return "a length: \(whole.body.count) instead of \(count)"
        }
        return nil
    }

    private func read(_ head: RequestHead, _ bytes: UnsafeBufferPointer<UInt8>, atOnce count: Int) -> Reading
    {
        var reader = BodyReader(head.body)
        var reading = Reading(progress: head.body == .none ? .complete : .incomplete, body: [], end: head.end)
        while reading.progress == .incomplete, reading.end < bytes.count {
            let piece = UnsafeBufferPointer(
                rebasing: bytes[reading.end..<min(bytes.count, reading.end + count)])
            var taken = 0
            reading.progress = reader.read(piece, from: &taken, into: &reading.body)
            reading.end += taken
        }
        return reading
    }
}
