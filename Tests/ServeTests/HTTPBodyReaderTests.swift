import Testing

@testable import Serve

@Suite struct HTTPBodyReaderTests {
    /// What became of it, what it held, and how many bytes of the input were left.
    private struct Reading: Equatable {
        var progress: BodyReader.Progress
        var body = ""
        var left = 0
    }

    private func read(_ text: String, as body: RequestHead.Body, atOnce count: Int = .max) -> Reading {
        var limits = ServerLimits()
        (limits.bodyByteCount, limits.trailerByteCount) = (20, 40)
        var reader = BodyReader(body, limits: limits)
        var (read, position): ([UInt8], Int) = ([], 0)
        let bytes = Array(text.utf8)
        var progress = BodyReader.Progress.incomplete
        while position < bytes.count, progress == .incomplete {
            let end = count < bytes.count - position ? position + count : bytes.count
            var taken = 0
            progress = bytes[position..<end].withUnsafeBufferPointer { reader.read($0, from: &taken, into: &read) }
            position += taken
        }
        return Reading(progress: progress, body: String(decoding: read, as: UTF8.self), left: bytes.count - position)
    }

    @Test(arguments: [
        ("abcdeGET", RequestHead.Body.length(5), BodyReader.Progress.complete, "abcde", 3),
        ("abc", .length(5), .incomplete, "abc", 0),
        ("5\r\nabcde\r\n0\r\n\r\nGET", .chunked, .complete, "abcde", 3),
        ("2\r\nab\r\nA\r\n0123456789\r\n000\r\n\r\n", .chunked, .complete, "ab0123456789", 0),
        ("1;a=b;c=\"d\"\r\na\r\n0 ; x\r\n\r\n", .chunked, .complete, "a", 0),
        ("1\r\na\r\n0\r\nX: y\r\nZ:\r\n\r\n", .chunked, .complete, "a", 0),
        ("0\r\n\r\n", .chunked, .complete, "", 0),
        ("5\r\nabc", .chunked, .incomplete, "abc", 0),
        ("a\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n", .chunked, .complete, "01234567890123456789", 0),
    ])
    func `a body is what its length or its chunks say, however it comes in`(
        text: String, body: RequestHead.Body, progress: BodyReader.Progress, content: String, left: Int
    ) {
        for count in [1, 2, 3, 7, .max] {
            #expect(read(text, as: body, atOnce: count) == Reading(progress: progress, body: content, left: left))
        }
    }

    @Test(arguments: [
        ("\r\n", 400), ("x\r\n", 400), ("-1\r\n", 400), ("+1\r\n", 400), ("0x1\r\n", 400), (" 1\r\n", 400),
        ("1\na\r\n", 400), ("1\r\ra", 400), ("1\r\nab\r\n", 400), ("1\r\na\n0\r\n\r\n", 400), ("1\r\na\r\r", 400),
        ("1 \r\na", 400), ("1;a\nb\r\n", 400), ("1;\u{0}\r\n", 400), ("00000000000000001\r\n", 400),
        ("0\r\n X: folded\r\n\r\n", 400), ("0\r\nX y: z\r\n\r\n", 400), ("0\r\nX\r\n\r\n", 400),
        ("0\r\n: y\r\n\r\n", 400),
        ("0\r\nX: a\nb\r\n\r\n", 400), ("0\r\n\r\r", 400), ("0\r\nX: \u{0}\r\n\r\n", 400),
        ("15\r\n", 413), ("ffffffffffffffff\r\n", 413), ("a\r\n0123456789\r\nb\r\n", 413),
        ("1;\(String(repeating: "a", count: 50))\r\n", 431), ("0\r\nX: \(String(repeating: "a", count: 50))\r\n", 431),
        ("0\r\n\(String(repeating: "a:\r\n", count: 60))", 431),
    ])
    func `chunks that could be taken in two ways, or are too much, are refused`(text: String, status: Int) {
        for count in [1, 3, .max] {
            #expect(read(text, as: .chunked, atOnce: count).progress == .refused(status))
        }
    }
}
