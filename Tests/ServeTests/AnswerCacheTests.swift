import Testing

@testable import Serve

@Suite struct AnswerCacheTests {
    private var cache = AnswerCache(byteLimit: 10_000)

    private mutating func keep(_ host: String, _ target: String, byteCount: Int = 1000) {
        let answer = Answer(
            status: 200, fields: [("Name", host + target)], body: [UInt8](repeating: 1, count: byteCount))
        Array(host.utf8).withUnsafeBufferPointer { host in
            Array(target.utf8).withUnsafeBufferPointer { cache.keep(answer, host: host, target: $0) }
        }
    }

    private mutating func holds(_ host: String, _ target: String) -> Bool {
        let answer = Array(host.utf8).withUnsafeBufferPointer { host in
            Array(target.utf8).withUnsafeBufferPointer { cache.answer(host: host, target: $0) }
        }
        guard let answer else { return false }
        let head = String(decoding: answer.bytes[..<answer.headCount], as: UTF8.self)
        return head.contains("Name: \(host)\(target)\r\n")
    }

    @Test mutating func `what was kept is found by both parts of its key`() {
        keep("a", "/bc")
        keep("b", "/bc")
        #expect(holds("a", "/bc"))
        #expect(holds("b", "/bc"))
        #expect(!holds("a", "/b"))
        #expect(!holds("a/", "bc"))
    }

    @Test mutating func `the least recently used goes first when the limit is reached`() {
        for number in 0..<6 { keep("a", "/\(number)") }
        #expect(holds("a", "/0"))
        for number in 6..<10 { keep("a", "/\(number)") }
        #expect(holds("a", "/0"))
        #expect(!holds("a", "/1"))
        #expect(holds("a", "/9"))
    }

    @Test mutating func `what would fill a good part of it is not kept, and a limit of 0 keeps nothing`() {
        keep("a", "/large", byteCount: 5000)
        #expect(!holds("a", "/large"))
        cache = AnswerCache(byteLimit: 0)
        keep("a", "/small", byteCount: 1)
        #expect(!holds("a", "/small"))
    }

    @Test mutating func `it stays within its limit whatever happens, and forgets on demand`() {
        for number in 0..<1000 {
            keep("a", "/\(number % 37)", byteCount: number % 900)
            #expect((1...10_000).contains(cache.byteCount))
        }
        #expect(holds("a", "/\(999 % 37)"))
        cache.removeAll()
        #expect(cache.byteCount == 0)
        #expect(!holds("a", "/\(999 % 37)"))
    }
}
