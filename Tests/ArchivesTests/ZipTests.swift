import Store
import System
import TestOrigin
import Testing

@testable import Archives

@Suite struct ZipTests {
    private let home: TemporaryFolder

    init() throws { home = try TemporaryFolder() }

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

    @Test func `what was put in comes out`() throws {
        _ = try zip()
        let file = try ZipFile(home.file("a.zip"))
        #expect(file.faults == [])
        #expect(file.entries.map(\.name) == ["a/stored.txt", "a/packed.txt"])
        #expect(try file.bytes(file.entries[0], atMost: 100) == Array("stored".utf8))
        #expect(try file.bytes(file.entries[1], atMost: 1000)?.count == 900)
        #expect(try file.bytes(file.entries[1], atMost: 899) == nil)
    }

    @Test func `another program finds it whole`() throws {
        _ = try zip()
        guard WholeFile.isThere("/usr/bin/unzip") else { return }
        let ending = try ChildProcess("/usr/bin/unzip", ["-t", home.file("a.zip")], environment: [:]).wait()
        #expect(ending.status == 0, "\(ending)")
    }

    @Test func `no cut and no changed byte stops the reader`() throws {
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

    @Test func `lines come out in the order of their bytes, from however many parts`() throws {
        let sorter = LineSorter(in: home.path, most: 2000)
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
    // By pywb's own canonicalize.
    func `an address is turned around for the index`(address: String, key: String) {
        #expect(CDXLine.key(address) == key)
    }
}
