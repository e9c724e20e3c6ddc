import Digest
import Glibc
import Store
import System
import TestOrigin
import Testing
import Web

@testable import Archives

/// Exports a site, reads the archive back, and imports it again.
@Suite struct RoundTripTests {
    @Test func `a link is followed, and pipes are neither replaced nor read`() throws {
        let site = try ArchiveTestSite([.page("/", "x")])
        let (real, link, pipe) = (
            site.home.file("real.warc"), site.home.file("link.warc"), site.home.file("pipe.warc")
        )
        try site.home.write("old", to: "real.warc")
        #expect(symlink(real, link) == 0 && mkfifo(pipe, 0o600) == 0)
        _ = try site.export("link.warc", .warc)
        #expect(try site.importFiles([real], site: ArchiveTestSite.name).responses == 1)
        var status = stat()
        #expect(lstat(link, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK)
        #expect(throws: ArchiveError.self) { try site.export("pipe.warc", .warc) }
        #expect(lstat(pipe, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO)
        #expect(throws: ArchiveError.self) { try site.importFiles([pipe], site: ArchiveTestSite.name) }
        #expect(throws: ArchiveError.self) { try site.importFiles(["-"], site: ArchiveTestSite.name) }
        let broken = site.home.file("broken.warc")
        #expect(symlink(site.home.file("none"), broken) == 0)
        #expect(throws: ArchiveError.self) { try site.export("broken.warc", .warc) }
        #expect(lstat(broken, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK)
    }

    @Test func `a changed byte at any position of a written file is detected`() throws {
        let home = try TemporaryFolder()
        let (path, block) = (home.file("out"), ArchiveOutput.blockBytes)
        let output = try ArchiveOutput(path)
        var bytes = (0..<2 * block + 1000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
        // Writes pieces that are smaller and larger than a block.
        for piece in [bytes[..<700], bytes[700..<block + 900], bytes[(block + 900)...]] {
            try output.write(Array(piece))
        }
        // Replaces bytes within a written block, across two blocks, and in the buffer.
        for place in [5, block - 3, 2 * block + 10] {
            try output.replace([1, 2, 3, 4, 5, 6], at: Int64(place))
            bytes.replaceSubrange(place..<place + 6, with: [1, 2, 3, 4, 5, 6])
        }
        let written = try output.finish()
        #expect(try WholeFile.read(path, atMost: 1 << 20) == bytes)
        #expect(try written.isAsWritten())
        for place in [0, 7, block - 1, block, 2 * block - 1, 2 * block, bytes.count - 1] {
            let file = try File(path, O_RDWR)
            try file.write([bytes[place] ^ 1], at: Int64(place))
            #expect(try !written.isAsWritten(), "\(place)")
            try file.write([bytes[place]], at: Int64(place))
        }
        #expect(try written.isAsWritten())
        try home.write(bytes + [0], to: "out")
        #expect(try !written.isAsWritten())
    }

    @Test func `the error for a full disk has advice`() {
        let error = ArchiveError(SystemError(ENOSPC, doing: "write", "/mnt/site.wacz"))
        #expect(error.description.hasSuffix("; free some space, or name a place on another disk"))
    }

    @Test(
        .enabled(if: Tmpfs.isPossible, "only root can mount a tmpfs"),
        arguments: ArchiveFormat.allCases.filter { !$0.isSinglePage && $0.isWritable })
    func `an export to a full disk leaves nothing behind and names the user's path`(form: ArchiveFormat)
        throws
    {
        let site = try ArchiveTestSite(Self.answers)
        let disk = try Tmpfs(byteCount: 4096)
        let path = form == .folder ? "\(disk.path)/out" : "\(disk.path)/out\(form.suffix)"
        let error = #expect(throws: ArchiveError.self) {
            try site.export("", form) { $0.path = path }
        }
        let text = error?.description ?? ""
        #expect(text.contains("\(path)") && !text.contains(".part"), "\(text)")
        #expect(text.hasSuffix("; free some space, or name a place on another disk"), "\(text)")
        #expect(Folder.names(in: disk.path) == [])
    }

    private static let noise: [UInt8] = {
        var state: UInt64 = 1
        return (0..<70_000).map { _ -> UInt8 in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return UInt8(truncatingIfNeeded: state >> 56)
        }
    }()

    private static let answers: [ArchiveTestSite.Response] = {
        var answers: [ArchiveTestSite.Response] = [
            .page("/", "<title>Home</title><a href=/b>b</a>"),
            .page("/b", String(repeating: "jam and bread ", count: 500)),
            .page("/same", String(repeating: "jam and bread ", count: 500)),
            .page("/%C3%B6%20?q=1&p=%C3%A4", "ä, ö; \u{1F353}"),
            .file("/noise.png", "image/png", noise), .file("/empty.css", "text/css", []),
            .file(
                "/large.bin", "application/octet-stream", Array(repeating: noise, count: 40).flatMap { $0 }),
            .file("/latin.txt", "text/plain; charset=iso-8859-1", [0x67, 0xFC, 0x74, 0]),
        ]
        answers[1].fields = [("Content-Encoding", "br"), ("Content-Length", "77"), ("X-Odd", "caf\u{EFE9}")]
        answers[2].fields = [("Transfer-Encoding", "chunked"), ("Vary", "Accept-Language")]
        answers[2].variant = "accept-language: de"
        var redirect = ArchiveTestSite.Response(path: "/old", status: 301)
        redirect.fields = [("Location", "/b")]
        var gone = ArchiveTestSite.Response(path: "/gone", status: 404)
        gone.fields = [("Content-Length", "312")]
        var sent = ArchiveTestSite.Response.file("/api", "application/json", Array(#"{"a": 1}"#.utf8))
        sent.request = RequestKey(method: "POST", body: Array("{}".utf8).span)
        var secret = ArchiveTestSite.Response.page("/account", "mine")
        secret.flags = .isPrivate
        var failure = ArchiveTestSite.Response(path: "/busy", status: 503, body: Array("later".utf8))
        failure.role = 1
        return answers + [redirect, gone, sent, secret, failure]
    }()

    @Test(arguments: ArchiveFormat.responseFormats)
    func `an exported archive imports to the same responses`(form: ArchiveFormat) throws {
        let site = try ArchiveTestSite(Self.answers)
        let report = try site.export("out\(form.suffix)", form)
        #expect(report.responses == Self.answers.count)
        #expect(report.isVerified == true)
        #expect(report.files.map(\.path) == [site.home.file("out\(form.suffix)")])
        let other = try ArchiveTestSite()
        let taken = try other.importFiles(report.files.map(\.path), site: ArchiveTestSite.name)
        #expect(taken.refused == [] && taken.doubtful == [] && taken.isPublished)
        #expect(taken.responses == Self.answers.count)
        // A body that occurs twice counts twice, as in the export.
        #expect(taken.byteCount == report.byteCount)
        #expect(try other.storedResponses() == site.storedResponses())
    }

    @Test(arguments: [ArchiveFormat.warc, .wacz, .zip, .tar])
    func `an extremely compressible body survives export and import`(form: ArchiveFormat) throws {
        let zeros = [UInt8](repeating: 0, count: 80 << 20)
        let site = try ArchiveTestSite([
            .page("/", "<a href=zeros.bin>z</a>"), .file("/zeros.bin", "application/octet-stream", zeros),
        ])
        let report = try site.export("out\(form.suffix)", form)
        #expect(report.isVerified == true && report.files[0].byteCount < 400_000, "\(report)")
        let taken = try ArchiveTestSite().importFiles([site.home.file("out\(form.suffix)")])
        #expect(taken.isComplete && taken.byteCount > zeros.count, "\(taken)")
    }

    @Test(arguments: ArchiveFormat.responseFormats)
    func `Set-Cookie headers are left out and counted`(form: ArchiveFormat) throws {
        var page = ArchiveTestSite.Response.page("/", "home")
        page.fields = [("Set-Cookie", "id=secret"), ("X-Kept", "1"), ("set-cookie", "b=2")]
        let site = try ArchiveTestSite([page])
        let report = try site.export("out\(form.suffix)", form) { $0.hasPrivate = false }
        #expect(report.leftOutCookies == 2 && report.isVerified == true)
        let other = try ArchiveTestSite()
        _ = try other.importFiles([site.home.file("out\(form.suffix)")], site: ArchiveTestSite.name)
        let held = try other.storedResponses().joined()
        #expect(
            held.contains("X-Kept") && !held.contains("secret") && !held.lowercased().contains("set-cookie"))
        #expect(try site.export("all\(form.suffix)", form).leftOutCookies == 0)
        _ = try other.importFiles([site.home.file("all\(form.suffix)")], site: ArchiveTestSite.name)
        #expect(try other.storedResponses() == site.storedResponses())
    }

    @Test(arguments: ArchiveFormat.responseFormats)
    func `imported bodies have the same formats as the originals`(form: ArchiveFormat) throws {
        let site = try ArchiveTestSite(Self.answers)
        try site.export("out\(form.suffix)", form)
        _ = try site.importFiles([site.home.file("out\(form.suffix)")], site: ArchiveTestSite.name)
        let snapshots = try site.site().snapshots.map(\.id)
        let reader = try StoreReader(site.folder)
        #expect(try reader.difference(from: snapshots[0], to: snapshots[1]).isEmpty)
        let forms = try [nil, snapshots[0]].map { snapshot in
            var forms: [String] = []
            try reader.eachVisibleResponse(ofSite: try site.site().id, asOf: snapshot) { row in
                // Large bodies are stored as files and not scanned.
                if let body = row.response.body, body.byteCount <= Limits.maxPackedBodyBytes {
                    forms.append(body.form)
                }
                return true
            }
            return forms
        }
        #expect(forms[0] == forms[1])
    }

    @Test(arguments: ArchiveFormat.responseFormats)
    func `the same snapshot gives the same file, and no draft is left behind`(form: ArchiveFormat) throws {
        let site = try ArchiveTestSite(Self.answers)
        try site.export("one\(form.suffix)", form)
        try site.export("two\(form.suffix)", form)
        let one = try WholeFile.read(site.home.file("one\(form.suffix)"), atMost: 1 << 24)
        let two = try WholeFile.read(site.home.file("two\(form.suffix)"), atMost: 1 << 24)
        // A WARC contains its own file name.
        #expect(form == .warc || one == two)
        try site.export("one\(form.suffix)", form)
        #expect(one == (try WholeFile.read(site.home.file("one\(form.suffix)"), atMost: 1 << 24)))
        let names = Folder.names(in: site.home.path) ?? []
        #expect(names.count == 3)
    }

    @Test func `an export of an earlier snapshot contains its responses only`() throws {
        let site = try ArchiveTestSite([.page("/", "first"), .page("/b", "b")])
        try site.add(
            [.page("/", "second"), ArchiveTestSite.Response(path: "/b", status: 404)],
            at: ArchiveTestSite.time + 100)
        let first = try #require(try site.site().snapshots.first)
        try site.export("first.warc.gz", .warc) { $0.snapshot = first.id }
        try site.export("now.warc.gz", .warc)
        let (then, now) = (try ArchiveTestSite(), try ArchiveTestSite())
        _ = try then.importFiles([site.home.file("first.warc.gz")])
        _ = try now.importFiles([site.home.file("now.warc.gz")])
        #expect(try then.storedResponses().filter { $0.contains(" 200 ") }.count == 2)
        #expect(try now.storedResponses().filter { $0.contains(" 404 ") }.count == 1)
        #expect(try now.storedResponses() == site.storedResponses())
    }

    @Test func `private responses and those excluded by patterns are left out and counted`() throws {
        let site = try ArchiveTestSite(Self.answers)
        let report = try site.export("out.warc.gz", .warc) { plan in
            plan.hasPrivate = false
            plan.isWanted = { $0.path != "/b" }
        }
        #expect(report.leftOutPrivate == 1)
        #expect(report.leftOutByPattern == 1)
        #expect(report.responses == Self.answers.count - 2)
        #expect(throws: ArchiveError.self) {
            try site.export("none.warc.gz", .warc) { $0.isWanted = { _ in false } }
        }
        #expect(!WholeFile.exists(site.home.file("none.warc.gz")))
    }

    /// One of two pages is exported with its assets: a style sheet, the assets of the style sheet, and an asset that is
    /// reached by a redirect.
    private static let pages: [ArchiveTestSite.Response] = [
        .page("/", "<a href=/docs/>docs</a><img src=/home.png>"),
        .page("/docs/", "<link rel=stylesheet href=/a.css><script src=/moved.js></script><a href=/>home</a>"),
        .file("/a.css", "text/css", Array("b{background:url(/b.png)}".utf8)),
        .file("/b.png", "image/png", [1, 2, 3]), .file("/home.png", "image/png", [4, 5, 6]),
        ArchiveTestSite.Response(path: "/moved.js", status: 302, role: 1, fields: [("Location", "/new.js")]),
        .file("/new.js", "text/javascript", Array("f()".utf8)),
    ]

    @Test(arguments: [ArchiveFormat.warc, .zip])
    func `assets of wanted pages are exported unless they are excluded`(form: ArchiveFormat) throws {
        let site = try ArchiveTestSite(Self.pages)
        func exported(without excluded: String? = nil) throws -> Set<String> {
            let name = "out\(excluded?.count ?? 0)\(form.suffix)"
            try site.export(name, form) { plan in
                let mayGo: @Sendable (WebURL) -> Bool = { $0.path != excluded }
                plan.isWanted = { $0.path.hasPrefix("/docs/") && mayGo($0) }
                plan.canIncludeIfNeeded = mayGo
            }
            let other = try ArchiveTestSite()
            _ = try other.importFiles([site.home.file(name)])
            return Set(
                try other.storedResponses().map {
                    String($0.prefix { $0 != " " }.dropFirst(ArchiveTestSite.name.count - 1))
                })
        }
        let needed: Set<String> = ["/docs/", "/a.css", "/b.png", "/moved.js", "/new.js"]
        #expect(try exported() == needed)
        #expect(try exported(without: "/b.png") == needed.subtracting(["/b.png"]))
    }

    @Test func `a WARC is split by size, and its parts can be imported together`() throws {
        let site = try ArchiveTestSite(Self.answers)
        let report = try site.export("out.warc.gz", .warc) { $0.maxFileBytes = 30_000 }
        try #require(report.files.count > 2)
        #expect(report.files[1].path == site.home.file("out-00001.warc.gz"))
        #expect(report.isVerified == true)
        let other = try ArchiveTestSite()
        _ = try other.importFiles(report.files.map(\.path), site: ArchiveTestSite.name)
        #expect(try other.storedResponses() == site.storedResponses())
    }

    /// Other programs choose the compression by the file name.
    @Test(arguments: [nil, 30_000] as [Int64?])
    func `a WARC without .gz in its name is plain, and one with it is compressed by record`(split: Int64?)
        throws
    {
        let site = try ArchiveTestSite(Self.answers)
        for (name, mark) in [("out.warc", Array("WARC/1.1\r\n".utf8)), ("out.WARC.GZ", [0x1F, 0x8B])] {
            let report = try site.export(name, .warc) { $0.maxFileBytes = split }
            #expect(report.isVerified == true && (report.files.count > 1) == (split != nil))
            for file in report.files {
                #expect(file.path.hasSuffix(name.dropFirst(3)))
                let bytes = try WholeFile.read(file.path, atMost: 8 << 20)
                #expect(Array(bytes.prefix(mark.count)) == mark, "\(file.path)")
            }
            let other = try ArchiveTestSite()
            let taken = try other.importFiles(report.files.map(\.path), site: ArchiveTestSite.name)
            #expect(taken.refused == [] && taken.doubtful == [] && (taken.revisits > 0) == (split == nil))
            #expect(try other.storedResponses() == site.storedResponses())
        }
    }

    @Test(arguments: ["out.warc.gz", "out.warc"])
    func `surplus parts of an earlier export are removed, and no other files`(name: String) throws {
        let site = try ArchiveTestSite(Self.answers)
        func part(_ number: String) -> String { name.replacing("out", with: "out-\(number)") }
        let first = try site.export(name, .warc) { $0.maxFileBytes = 30_000 }
        try #require(first.files.count > 2 && first.removedFiles.isEmpty)
        // Files by Larder that are not parts of the export: dated copies, another number of digits, after a gap.
        let bytes = try WholeFile.read(first.files[1].path, atMost: 8 << 20)
        let kept = [
            part("20241125"), part("7"), part("000002"), part("00900"), "out-x.warc", "other-00003.warc.gz",
        ]
        for name in kept { try site.home.write(bytes, to: name) }
        let second = try site.export(name, .warc) { $0.maxFileBytes = 100_000_000 }
        #expect(second.files.map(\.path) == [site.home.file(part("00000"))])
        #expect(second.removedFiles == first.files.dropFirst().map(\.path))
        #expect(Set(site.home.names(in: "")) == Set(kept + [part("00000"), "store"]))
    }

    @Test(arguments: ["", "x", "WARC/1.0\r\nWARC-Type: warcinfo\r\n\r\nsoftware: Wget/1.21\r\n", nil])
    func `files of other programs and links are not removed as parts of an earlier export`(text: String?)
        throws
    {
        let site = try ArchiveTestSite(Self.answers)
        let part = site.home.file("out-00001.warc")
        if let text {
            try site.home.write(text, to: "out-00001.warc")
        } else {
            try site.export("elsewhere.warc", .warc)
            #expect(symlink(site.home.file("elsewhere.warc"), part) == 0)
        }
        #expect(try site.export("out.warc", .warc) { $0.maxFileBytes = 100_000_000 }.removedFiles == [])
        #expect(access(part, F_OK) == 0)
    }

    @Test func `an interrupted export keeps the parts of an earlier one`() throws {
        let site = try ArchiveTestSite(Self.answers)
        let first = try site.export("out.warc.gz", .warc) { $0.maxFileBytes = 30_000 }
        let before = try first.files.map { try WholeFile.read($0.path, atMost: 8 << 20) }
        let interruption = Interruption()
        var plan = ExportPlan(site: try site.site(), path: site.home.file("out.warc.gz"), format: .warc)
        plan.maxFileBytes = 30_000
        plan.progress = { done, _ in if done == Self.answers.count - 3 { interruption.request() } }
        let broken = plan
        #expect(throws: ArchiveError.self) {
            try Export(broken, StoreReader(site.folder), interruption).run()
        }
        let isWhole = try first.files.map { try WholeFile.read($0.path, atMost: 8 << 20) } == before
        #expect(isWhole)
        #expect(Set(site.home.names(in: "")).count == first.files.count + 1)
    }

    @Test func `a damaged body is left out and reported`() throws {
        let site = try ArchiveTestSite([
            .page("/", "home"), .file("/large.bin", "video/mp4", Array(repeating: 7, count: 2 << 20)),
        ])
        try site.damageBodyFiles()
        let report = try site.export("out.warc.gz", .warc)
        #expect(report.damaged == ["https://example.com/large.bin"])
        #expect(!report.isComplete)
        #expect(report.responses == 1)
    }

    @Test(arguments: [ArchiveFormat.warc, .wacz, .har, .folder, .zip, .tar])
    func `drafts of killed exports are removed by the next export`(form: ArchiveFormat) throws {
        let site = try ArchiveTestSite([.page("/", "home")])
        let name = form == .folder ? "out" : "out\(form.suffix)"
        try site.home.write("half", to: "\(name).4000000.part")
        for _ in 0..<2 {
            if form == .folder { Folder.remove(site.home.file(name)) }
            try site.export(name, form)
            #expect(Set(site.home.names(in: "")) == ["store", name])
        }
    }

    @Test func `an interrupted export leaves nothing behind`() throws {
        let site = try ArchiveTestSite(Self.answers)
        let interruption = Interruption()
        interruption.request()
        for form in ArchiveFormat.responseFormats {
            let plan = ExportPlan(
                site: try site.site(), path: site.home.file("out\(form.suffix)"), format: form)
            #expect(throws: ArchiveError.self) {
                try Export(plan, StoreReader(site.folder), interruption).run()
            }
        }
        #expect(Folder.names(in: site.home.path)?.count == 1)
    }

    @Test func `an interrupted import leaves the site unchanged`() throws {
        let site = try ArchiveTestSite(Self.answers)
        try site.export("out.warc.gz", .warc)
        let before = try site.storedResponses()
        let interruption = Interruption()
        interruption.request()
        var plan = ImportPlan(site.folder, paths: [site.home.file("out.warc.gz")])
        plan.site = ArchiveTestSite.name
        #expect(throws: ArchiveError.self) {
            try Import(plan, interruption, now: ArchiveTestSite.time).run(now: ArchiveTestSite.time)
        }
        #expect(try site.storedResponses() == before)
        #expect(try site.site().snapshots.count == 1)
        #expect(Folder.names(in: site.folder.incoming)?.isEmpty == true)
    }
}
