import Glibc
import Store
import System
import TestOrigin
import Testing
import Web

@testable import Archives

@Suite struct TarTests {
    private let site: ArchiveTestSite
    private var home: TemporaryFolder { site.home }

    init() throws {
        site = try ArchiveTestSite()
        mkdir(home.file("f"), 0o755)
        mkdir(home.file("f/example.com"), 0o755)
        try home.write("<title>x</title><a href=b.html>b</a>", to: "f/example.com/index.html")
        try home.write("<title>b</title>", to: "f/example.com/b.html")
    }

    /// Packs the folder with the tar program of the system.
    @discardableResult
    private func tar(_ name: String, _ arguments: [String], in folder: String = "f") throws -> String {
        let ending = try ChildProcess(
            "/usr/bin/tar", arguments + ["-cf", home.file(name), "-C", home.file(folder), "."],
            environment: ["PATH": "/usr/bin:/bin"]
        ).wait()
        guard ending.status == 0 else { throw TestError("tar: \(ending)") }
        return home.file(name)
    }

    private func importTar(_ path: String) throws -> ImportReport { try site.importFiles([path]) }

    @Test(arguments: [
        ("f.tar", []), ("f.tar.gz", ["-z"]), ("f.v7", ["--format=v7"]), ("f.pax", ["--format=pax"]),
        ("f.tar.zst", ["--zstd"]), ("f.tar.xz", ["-J"]),
    ])
    func `a tar file is imported like its folder`(name: String, arguments: [String]) throws {
        guard name != "f.tar.zst" || WholeFile.exists("/usr/bin/zstd") else { return }
        guard name != "f.tar.xz" || WholeFile.exists("/usr/bin/xz") else { return }
        let long = String(repeating: "n", count: 180)
        if name != "f.v7" { try home.write("1", to: "f/example.com/\(long).js") }
        let report = try importTar(tar(name, arguments))
        #expect(report.isComplete && report.responses == (name == "f.v7" ? 2 : 3), "\(report)")
        #expect(try site.storedResponses().contains { $0.hasPrefix("https://example.com/b.html ") })
    }

    @Test func `a tar file that Larder writes is read by tar`() throws {
        guard WholeFile.exists("/usr/bin/zstd") else { return }
        let long = "/" + (0..<12).map { "folder-of-\($0)/" }.joined() + "page"
        let origin = try ArchiveTestSite([
            .page("/", "<a href=\"\(long)\">l</a>"), .page(long, "<title>l</title>"),
        ])
        #expect(try origin.export("o.tar.zst", .tar).isVerified == true)
        let ending = try ChildProcess(
            "/usr/bin/tar", ["--zstd", "-tf", origin.home.file("o.tar.zst")],
            environment: ["PATH": "/usr/bin:/bin"]
        ).wait()
        #expect(ending.status == 0 && ending.output.contains("\(long.dropFirst()).html\n"), "\(ending)")
        let again = try origin.export("p.tar.zst", .tar)
        #expect(
            again.files[0].byteCount
                == (try WholeFile.read(origin.home.file("o.tar.zst"), atMost: 1 << 20)).count)
    }

    @Test func `broken links, pipes and sparse files are reported`() throws {
        #expect(symlink("/etc/passwd", home.file("f/example.com/p.html")) == 0)
        #expect(link(home.file("f/example.com/b.html"), home.file("f/example.com/c.html")) == 0)
        #expect(mkfifo(home.file("f/example.com/pipe"), 0o644) == 0)
        try home.write("", to: "f/example.com/s.bin")
        #expect(truncate(home.file("f/example.com/s.bin"), 4 << 20) == 0)
        let report = try importTar(tar("f.tar", ["--sparse"]))
        #expect(report.responses == 3, "\(report)")
        #expect(
            report.refused.map(\.reason).sorted() == [
                "it is a link to outside the folder", "it is a sparse file", "it is not a regular file",
            ])
    }

    @Test(arguments: ["f.tar", "f.zip"])
    func `links are imported as the files that they point to`(name: String) throws {
        let below = home.file("f/example.com")
        let long = String(repeating: "n", count: 120)
        mkdir("\(below)/v", 0o755)
        try home.write("1", to: "f/example.com/\(long).js")
        let links = [
            ("../b.html", "v/up.html"), ("./up.html", "v/twice.html"), ("../\(long).js", "v/\(long)2.js"),
            ("..", "v/folder"), ("none.html", "v/none.html"), ("../../../x", "v/out.html"),
            ("/etc/passwd", "v/far.html"), ("round2", "v/round1"), ("round1", "v/round2"),
        ]
        for (target, link) in links { #expect(symlink(target, "\(below)/\(link)") == 0) }
        if name == "f.zip" {
            guard WholeFile.exists("/usr/bin/zip") else { return }
            let ending = try ChildProcess(
                "/bin/sh", ["-c", "cd \(home.file("f")) && zip -qry \(home.file(name)) ."],
                environment: ["PATH": "/usr/bin:/bin"]
            ).wait()
            #expect(ending.status == 0, "\(ending)")
        } else {
            try tar(name, [])
        }
        let report = try importTar(home.file(name))
        #expect(report.responses == 6, "\(report)")
        #expect(
            report.refused.map(\.reason).sorted() == [
                "it is a broken link", "it is a broken link", "it is a broken link",
                "it is a link to a folder", "it is a link to outside the folder",
                "it is a link to outside the folder",
            ], "\(report)")
        let reader = try StoreReader(site.folder)
        let body = try #require(try reader.response(for: "https://example.com/v/twice.html")?.body)
        #expect(try reader.content(of: body)?.load() == Array("<title>b</title>".utf8))
    }

    /// Corrects the checksum of a changed header, so that only the change itself is tested.
    private static func correctChecksum(_ head: inout [UInt8]) {
        for place in 148..<156 { head[place] = 0x20 }
        let sum = String(head.reduce(0) { $0 + Int($1) }, radix: 8)
        let text = String(repeating: "0", count: 6 - sum.utf8.count) + sum + "\0 "
        head.replaceSubrange(148..<156, with: text.utf8)
    }

    @Test(arguments: [
        (124, "77777777777\0"), (124, "99999999999\0"), (124, "-0000000001\0"), (0, "../../../etc/x\0"),
        (0, "/etc/x\0"),
        (156, "g"), (156, "x"), (156, "L"), (156, "3"), (0, "\0"),
    ])
    func `an entry with a forged header is reported or ends the list`(place: Int, text: String) throws {
        var bytes = try WholeFile.read(tar("f.tar", ["--format=ustar", "--sort=name"]), atMost: 1 << 20)
        // The entry of b.html follows those of two folders.
        var head = Array(bytes[1024..<1536])
        #expect(head.starts(with: "./example.com/b.html".utf8))
        head.replaceSubrange(place..<place + text.utf8.count, with: text.utf8)
        Self.correctChecksum(&head)
        bytes.replaceSubrange(1024..<1536, with: head)
        try home.write(bytes, to: "bad.tar")
        let report = try? importTar(home.file("bad.tar"))
        #expect(report.map { $0.responses <= 1 } ?? true, "\(String(describing: report))")
    }

    @Test func `files after a damaged header are imported`() throws {
        // Zeros in the file with the damaged header do not look like the end of the archive.
        try home.write("<title>b</title>" + String(repeating: "\0", count: 4096), to: "f/example.com/b.html")
        try home.write("<title>c</title>", to: "f/example.com/c.html")
        var bytes = try WholeFile.read(tar("f.tar", ["--format=ustar", "--sort=name"]), atMost: 1 << 20)
        #expect(bytes[1024..<1536].starts(with: "./example.com/b.html".utf8))
        bytes[1024 + 150] ^= 1
        try home.write(bytes, to: "bad.tar")
        let report = try importTar(home.file("bad.tar"))
        #expect(report.responses == 2, "\(report)")
        #expect(report.refused.map(\.reason) == ["there is no header of an entry"], "\(report)")
        #expect(try site.storedResponses().contains { $0.hasPrefix("https://example.com/c.html ") })
    }

    @Test func `a truncated tar file gives its complete files`() throws {
        let bytes = try WholeFile.read(tar("f.tar", ["--sort=name"]), atMost: 1 << 20)
        try home.write(Array(bytes[..<2100]), to: "cut.tar")
        let report = try importTar(home.file("cut.tar"))
        #expect(report.responses == 1 && report.refused.map(\.reason) == ["it is truncated"], "\(report)")
    }

    @Test func `a tar file that expands too much is refused`() throws {
        try home.write([UInt8](repeating: 0, count: 20 << 20), to: "f/example.com/z.bin")
        let path = try tar("f.tar.gz", ["-z"])
        var limits = ArchiveLimits()
        limits.expansionAllowanceBytes = 1 << 20
        #expect(throws: ArchiveError.self) { try site.importFiles([path], limits: limits) }
        #expect(try importTar(path).responses == 3)
    }
}
