import Glibc
import System
import TestOrigin
import Testing

@testable import Archives

/// Uses a program of the system in place of the `larder` command, because the file format is the same for any program.
@Suite struct ProgramTests {
    private func site() throws -> ArchiveTestSite {
        try ArchiveTestSite([
            .page("/", "<title>Home</title><a href=/b>b</a>"), .page("/b", "b"),
            .file("/a.png", "image/png", [UInt8](repeating: 7, count: 5000)),
        ])
    }

    /// Exports the site as a program, and returns its bytes.
    private func write(_ site: ArchiveTestSite, _ name: String, by program: String = "/bin/true") throws
        -> [UInt8]
    {
        let report = try site.export(name, .program) { $0.program = program }
        #expect(report.isVerified == true && report.responses == 3 && report.pages == 2, "\(report)")
        return try WholeFile.read(site.home.file(name), atMost: 64 << 20)
    }

    @Test func `a program with a site is reproducible and still runs`() throws {
        let site = try site()
        let (one, two) = (try write(site, "one"), try write(site, "two"))
        #expect(one == two)
        #expect(one.starts(with: try WholeFile.read("/bin/true", atMost: 64 << 20)))
        var status = stat()
        #expect(stat(site.home.file("one"), &status) == 0 && status.st_mode & 0o111 == 0o111)
        #expect(try ChildProcess(site.home.file("one"), [], environment: [:]).wait().status == 0)
        #expect(try ProgramFile("/bin/true").hasSite == false)
        #expect(try ProgramFile("/bin/true").libraries == ["libc.so.6"])
        let file = try ProgramFile(site.home.file("one"))
        #expect(file.hasSite && file.libraries == ["libc.so.6"])
        let unpacked = try file.unpack(to: site.home.file("site.warc.gz"))
        #expect(
            unpacked
                == ProgramFile.Site(
                    name: ArchiveTestSite.name, start: [ArchiveTestSite.name], date: ArchiveTestSite.time))
        let other = try ArchiveTestSite()
        #expect(try other.importFiles([site.home.file("site.warc.gz")]).responses == 3)
    }

    @Test func `a program that already contains a site is copied without it`() throws {
        let site = try site()
        let one = try write(site, "one")
        #expect(try write(site, "two", by: site.home.file("one")) == one)
        let other = try ArchiveTestSite([.page("/", "other"), .page("/1", "1"), .page("/2", "2")])
        let report = try other.export("three", .program) { $0.program = site.home.file("two") }
        #expect(report.isVerified == true)
        let three = try WholeFile.read(other.home.file("three"), atMost: 64 << 20)
        #expect(three.count < one.count && three.firstRange(of: Array("https://example.com/b".utf8)) == nil)
    }

    @Test func `a damaged program is refused with the reason`() throws {
        let site = try site()
        let whole = try write(site, "one")
        func error(_ bytes: [UInt8]) throws -> String {
            try site.home.write(bytes, to: "damaged")
            let path = site.home.file("damaged")
            let error = #expect(throws: ArchiveError.self) {
                _ = try ProgramFile(path).unpack(to: site.home.file("out"))
            }
            #expect(error?.kind == .machine)
            return error?.description.replacing(path, with: "it") ?? ""
        }
        let program = try WholeFile.read("/bin/true", atMost: 64 << 20).count
        for count in [program + 16, program + 100, whole.count - 64, whole.count - 1] {
            #expect(
                try error(Array(whole[..<count])) == "it is damaged: its end is missing; copy the file again")
        }
        for place in [program + 20, program + 200, whole.count - 66, whole.count - 1] {
            var bytes = whole
            bytes[place] ^= 1
            #expect(
                try error(bytes) == "it is damaged: its site does not match its digest; copy the file again",
                "\(place)")
        }
        #expect(!Folder.exists(site.home.file("out")) && !WholeFile.exists(site.home.file("out")))
    }

    @Test(arguments: [
        "", "#!/bin/sh\n", "\u{7F}ELF", "\u{7F}ELF\u{2}\u{1}" + String(repeating: "z", count: 90),
    ])
    func `a file that is not a program, or an unusual one, has no site`(text: String) throws {
        let home = try TemporaryFolder()
        try home.write(text, to: "file")
        #expect(try ProgramFile(home.file("file")).hasSite == false)
    }

    @Test func `a program export without the path of a program fails`() throws {
        let site = try site()
        let error = #expect(throws: ArchiveError.self) {
            try site.export("x", .program) { $0.program = nil }
        }
        #expect(error?.description.contains("the path of the larder command") == true)
    }
}
