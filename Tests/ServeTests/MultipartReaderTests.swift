import Testing

@testable import Mirror
@testable import Portal

@Suite struct MultipartReaderTests {
    private static let type = "multipart/form-data; boundary=----jam"

    private static func form(_ parts: [(head: String, body: String)], end: String = "--") -> [UInt8] {
        var text = ""
        for part in parts {
            text += "------jam\r\nContent-Disposition: form-data; \(part.head)\r\n\r\n\(part.body)\r\n"
        }
        return Array("\(text)------jam\(end)".utf8)
    }

    /// The events of a form that arrives in pieces of `size` bytes. Consecutive events with bytes of a file are joined.
    private static func events(_ bytes: [UInt8], in size: Int) throws -> (
        events: [MultipartReader.FormEvent], MultipartReader
    ) {
        var reader = try #require(MultipartReader(type: type))
        var events: [MultipartReader.FormEvent] = []
        var place = 0
        while place < bytes.count {
            for event in reader.parse(Array(bytes[place..<min(place + size, bytes.count)])) {
                if case .bytes(let more) = event, case .bytes(let known)? = events.last {
                    events[events.count - 1] = .bytes(known + more)
                } else {
                    events.append(event)
                }
            }
            place += size
        }
        return (events, reader)
    }

    @Test(arguments: [1, 2, 3, 7, 8, 1000])
    func `a form is parsed the same in pieces of any size`(size: Int) throws {
        let content = "PK\r\n------ja\r\n--\r\n------jam\u{0}no\r\r\n"
        let bytes = Self.form(
            [
                ("name=\"token\"", "abc"), ("name=\"back\"", ""),
                (#"name="file"; filename="C:\\a \"b\".har""#, content),
                ("name=site", "https://a.test/"),
            ], end: "--\r\n and more")
        // The file contains text that differs from the delimiter only in its last characters.
        let (events, reader) = try Self.events(
            Self.replaced(bytes, "------jam\u{0}", by: "------jaM\u{0}"), in: size)
        #expect(reader.isDone && !reader.isBroken)
        #expect(
            events == [
                .field(name: "token", value: "abc"), .field(name: "back", value: ""),
                .file(name: "file", fileName: #"C:\a "b".har"#),
                .bytes(Array(content.replacing("------jam", with: "------jaM").utf8)), .end,
                .field(name: "site", value: "https://a.test/"),
            ])
    }

    private static func replaced(_ bytes: [UInt8], _ text: String, by other: String) -> [UInt8] {
        Array(String(decoding: bytes, as: UTF8.self).replacing(text, with: other).utf8)
    }

    @Test(arguments: [
        "------jam\r\nContent-Disposition: attachment; name=a\r\n\r\nx\r\n------jam--",
        "------jam\r\nContent-Disposition: form-data\r\n\r\nx\r\n------jam--",
        "------jam\r\nContent-Type: text/plain\r\n\r\nx\r\n------jam--", "------jamX\r\n",
        "------jam\r\n" + String(repeating: "x", count: 9000),
        String(repeating: "------jam\r\nContent-Disposition: form-data; name=a\r\n\r\nx\r\n", count: 40),
    ])
    func `an invalid form is reported`(text: String) throws {
        for size in [1, 100_000] {
            let (_, reader) = try Self.events(Array(text.utf8), in: size)
            #expect(reader.isBroken && !reader.isDone)
        }
    }

    @Test func `a truncated form is never complete`() throws {
        let bytes = Self.form([("name=token", "abc"), ("name=file; filename=a.har", "xyz")])
        for end in bytes.indices {
            let (_, reader) = try Self.events(Array(bytes[..<end]), in: 5)
            #expect(!reader.isDone)
        }
    }

    @Test func `a long field is truncated`() throws {
        let (events, _) = try Self.events(
            Self.form([("name=a", String(repeating: "x", count: 100_000))]), in: 1000)
        #expect(
            events == [.field(name: "a", value: String(repeating: "x", count: PortalRequest.maxFieldBytes))])
    }

    @Test(arguments: [
        "text/plain", "multipart/form-data", "multipart/form-data; boundary=", "multipart/mixed; boundary=a",
        "multipart/form-data; boundary=\"\"",
        "multipart/form-data; boundary=" + String(repeating: "x", count: 71),
        "multipart/form-data; boundary=a\u{1}b",
    ])
    func `another content type is not parsed as a form`(type: String) {
        #expect(MultipartReader(type: type) == nil)
    }
}
