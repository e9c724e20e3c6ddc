import Store
import System
import TestOrigin
import Testing

@testable import Archives

@Suite struct ZipTests {
    private let home: TemporaryFolder

    init() throws { home = try TemporaryFolder() }

    /// A zip file with a stored and a deflated entry.
    private func zip() throws -> [UInt8] {
        let output = try ArchiveOutput(home.file("a.zip"))
        let zip = ZipWriter(output, date: 1_795_176_000)
        _ = try zip.add("a/stored.txt", Array("stored".utf8))
        _ = try zip.add(
            "a/packed.txt", Array(String(repeating: "deflated ", count: 100).utf8), isDeflated: true)
        try zip.finish()
        _ = try output.finish()
        return try WholeFile.read(home.file("a.zip"), atMost: 1 << 20)
    }

    private func write(_ bytes: [UInt8]) throws {
        let file = try File(home.file("b.zip"), 0o1101)
        try file.write(bytes)
        try file.close()
    }

    @Test func `entries of a written zip file can be read back`() throws {
        _ = try zip()
        let file = try ZipFile(home.file("a.zip"))
        #expect(file.faults == [])
        #expect(file.entries.map(\.name) == ["a/stored.txt", "a/packed.txt"])
        #expect(try file.bytes(file.entries[0], atMost: 100) == Array("stored".utf8))
        #expect(try file.bytes(file.entries[1], atMost: 1000)?.count == 900)
        #expect(try file.bytes(file.entries[1], atMost: 899) == nil)
    }

    @Test func `the zip file of a folder is the same for the same files`() throws {
        try home.write("one", to: "one.js")
        try home.write("two", to: "two.png")
        func bytes() throws -> [UInt8] {
            try FolderZip.bytes(of: ["one.js", "two.png"], in: home.path, atMost: 1000) { _, _ in }
        }
        let first = try bytes()
        try home.write("one", to: "one.js")
        #expect(try bytes() == first)
        try write(first)
        let file = try ZipFile(home.file("b.zip"))
        #expect(file.faults == [] && file.entries.map(\.name) == ["one.js", "two.png"])
        #expect(file.entries.map(\.isDeflated) == [true, false])
        #expect(try file.bytes(file.entries[0], atMost: 100) == Array("one".utf8))
        try home.write([UInt8](repeating: 7, count: 1001), to: "two.png")
        #expect(throws: ArchiveError.self) { try bytes() }
    }

    @Test func `local headers of entries of known size have the sizes, for readers that do not know zip64`()
        throws
    {
        let bytes = try zip()
        #expect(bytes[4] == 20 && Array(bytes[18..<26]) == [6, 0, 0, 0, 6, 0, 0, 0])
        // No extra field.
        #expect(Array(bytes[26..<30]) == [12, 0, 0, 0])
        let output = try ArchiveOutput(home.file("c.zip"))
        let unknown = ZipWriter(output, date: 0)
        try unknown.begin("a", isDeflated: false)
        try unknown.write([1])
        try unknown.end()
        try unknown.finish()
        _ = try output.finish()
        let large = try WholeFile.read(home.file("c.zip"), atMost: 1 << 20)
        #expect(large[4] == 45 && Array(large[18..<26]) == [UInt8](repeating: 0xFF, count: 8))
        #expect(try ZipFile(home.file("c.zip")).faults == [])
    }

    @Test func `another program confirms a written zip file`() throws {
        _ = try zip()
        guard WholeFile.exists("/usr/bin/unzip") else { return }
        let ending = try ChildProcess("/usr/bin/unzip", ["-t", home.file("a.zip")], environment: [:]).wait()
        #expect(ending.status == 0, "\(ending)")
    }

    @Test func `reading ends after any truncation or changed byte`() throws {
        let bytes = try zip()
        for place in 0..<bytes.count {
            try write(Array(bytes[..<place]))
            #expect(throws: ArchiveError.self) { try ZipFile(home.file("b.zip")) }
            var changed = bytes
            changed[place] ^= 0xA5
            try write(changed)
            guard let file = try? ZipFile(home.file("b.zip")) else { continue }
            for entry in file.entries { _ = try file.bytes(entry, atMost: 10_000) }
        }
    }

    /// Zip files by `zip` and `7z`, shortened to the parts that matter.
    @Test(arguments: [
        (8, 1 as UInt8, "it is encrypted: unpack the file with its password, and import the folder"),
        (
            10, 12,
            "it is compressed with bzip2, which is not supported: unpack the file with `7z x`, and import the folder"
        ),
        (
            10, 77,
            "it is compressed with method 77, which is not supported: unpack the file with `7z x`, and import the folder"
        ),
    ])
    func `an entry that cannot be read is reported with advice`(place: Int, value: UInt8, reason: String)
        throws
    {
        var bytes = try zip()
        let record = try #require(bytes.indices.last { bytes[$0...].starts(with: [0x50, 0x4B, 1, 2]) })
        bytes[record + place] = value
        try write(bytes)
        let file = try ZipFile(home.file("b.zip"))
        #expect(file.faults == [ArchiveFault(reason, at: "\(home.file("b.zip")), a/packed.txt")])
        #expect(file.entries[1].content == nil)
        #expect(try file.bytes(file.entries[0], atMost: 100) == Array("stored".utf8))
    }

    @Test(arguments: [
        ("split", "is one part of a split zip file: put them together"),
        ("first", "is one part of a split zip file"),
        ("empty", "contains no files"),
        ("text", "is not a zip file; give it the suffix"),
        ("cut", "is not a complete zip file: its directory is missing; fetch it again"),
    ])
    func `an incomplete zip file is refused with advice`(kind: String, words: String) throws {
        var bytes = try zip()
        switch kind {
        case "split": (bytes[0], bytes[bytes.count - 18]) = (0x77, 3)
        case "first": bytes = Array("PK\u{7}\u{8}PK\u{3}\u{4}".utf8) + bytes.prefix(60)
        case "empty": bytes = Array("PK\u{5}\u{6}".utf8) + [UInt8](repeating: 0, count: 18)
        case "text": bytes = Array("hello".utf8)
        default: bytes.removeLast(30)
        }
        try write(bytes)
        let error = #expect(throws: ArchiveError.self) {
            try ArchiveFiles.measuringReader(at: home.file("b.zip"))
        }
        #expect(error?.description.contains(words) == true, "\(String(describing: error))")
    }

    @Test func `backslashes in names of a zip file from Windows are folders`() throws {
        var bytes = try zip()
        let record = try #require(bytes.indices.first { bytes[$0...].starts(with: [0x50, 0x4B, 1, 2]) })
        (bytes[record + 5], bytes[record + 46 + 1], bytes[record + 46 + 2]) = (0, UInt8(ascii: "\\"), 0x82)
        try write(bytes)
        #expect(try ZipFile(home.file("b.zip")).entries[0].name == "a/%82tored.txt")
    }

    @Test func `lines are sorted by their bytes, in memory and in several runs`() throws {
        let sorter = LineSorter(in: home.path, maxMemoryBytes: 2000)
        let lines = (0..<500).map { "line \($0 &* 7919 % 500)" }
        for line in lines { try sorter.add(Array(line.utf8)) }
        var sorted: [String] = []
        try sorter.each { (line) throws(ArchiveError) in sorted.append(String(decoding: line, as: UTF8.self))
        }
        #expect(sorted == lines.sorted())
    }

    @Test(arguments: [
        ("https://www.example.com/A?c=2&b=1", "com,example)/a?b=1&c=2"),
        ("http://www2.a.test:8080/", "test,a:8080)/"),
        ("http://127.0.0.1/x", "1,0,0,127)/x"), ("https://www.test/", "test)/"),
        ("http://a.test/?b&a&b=", "test,a)/?a&b&b="), ("http://a.test/foo/", "test,a)/foo"),
        ("http://a.test/foo/?x=1", "test,a)/foo?x=1"), ("http://a.test/foo?", "test,a)/foo"),
        ("http://a.test/a%20b/%C3%A9?q=%41", "test,a)/a%20b/%c3%a9?q=a"), ("http://a.test//b", "test,a)/b"),
        ("https://a.test:443/", "test,a)/"), ("http://[2001:db8::1]/x", "2001:db8::1)/x"),
    ])
    // The expected keys were computed by pywb's `canonicalize`.
    func `a URL is converted to its CDX key`(address: String, key: String) {
        #expect(CDXLine.key(address) == key)
    }
}
