internal import Fetch
internal import Web

/// The heads of answers that go past libcurl.
struct AnswerTarget: Target {
    let name = "answer"
    let suffixes = [".answer"]
    let pieces = [
        "\r\n", "\r\n\r\n", "\n", "\r", ":", " ", "\t", ",", "HTTP/1.1 ", "HTTP/1.0 ", "200 OK", "204", "304",
        "100 Continue\r\n\r\n", "103", "Content-Length: 3\r\n", "Content-Length: ", "Content-Length : 3\r\n",
        "Transfer-Encoding: chunked\r\n", "Transfer-Encoding: gzip, chunked\r\n", "Connection: close\r\n",
        "Connection: keep-alive\r\n", "99999999999999999999", "+3", "0x3", "3, 3", "\u{0}", "é",
    ]

    func fault(_ input: [UInt8]) -> String? {
        input.withUnsafeBufferPointer { bytes in
            guard case .head(let head) = AnswerHead.parse(bytes) else { return nil }
            return prefixFault(head, bytes) ?? framingFault(head, bytes)
        }
    }

    /// It is no head before its end is there, and what follows its end changes nothing.
    private func prefixFault(_ head: AnswerHead, _ bytes: UnsafeBufferPointer<UInt8>) -> String? {
        guard head.end <= bytes.count else { return "an end: \(head.end) of \(bytes.count)" }
        for count in [head.end - 1, head.end / 2, head.end / 3] {
            guard AnswerHead.parse(UnsafeBufferPointer(rebasing: bytes[..<count])) == .incomplete else {
                return "a beginning: \(count) of \(head.end)"
            }
        }
        let alone = UnsafeBufferPointer(rebasing: bytes[..<head.end])
        return AnswerHead.parse(alone) == .head(head) ? nil : "alone: \(head)"
    }

    /// What other readers of the same fields find says nothing else.
    private func framingFault(_ head: AnswerHead, _ bytes: UnsafeBufferPointer<UInt8>) -> String? {
        let fields = HTTPFields(
            block: UnsafeBufferPointer(rebasing: bytes[..<head.end]).span, isReceived: true)
        let codings = fields.all("Transfer-Encoding")
        switch head.body {
        case .length(let count)?:
            return fields.contentLength == count && codings.isEmpty ? nil : "a length: \(count)"
        case .chunked?:
            return codings.map { $0.lowercased() } == ["chunked"] && !fields.contains("Content-Length")
                ? nil : "chunks: \(codings)"
        case .none?:
            return head.isInterim || head.status == 204 || head.status == 304
                ? nil : "no body: \(head.status)"
        case nil:
            return head.isLast && codings.isEmpty && !fields.contains("Content-Length")
                ? nil : "no end: \(head)"
        }
    }
}
