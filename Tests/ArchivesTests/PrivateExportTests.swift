import Store
import System
import TestOrigin
import Testing
import Web

@testable import Archives

/// Without the option, an export contains no private responses, and nothing that refers to them.
@Suite struct PrivateExportTests {
    /// A word that all private responses contain, and nothing else.
    private static let secret = "xsecretx"

    /// A site with private responses of all kinds, each of which contains the secret, and public ones that refer to them.
    private func site() throws -> ArchiveTestSite {
        let page = "<title>\(Self.secret)</title><p>\(Self.secret)</p><img src=/logo.png>"
        var account = ArchiveTestSite.Response.page("/account?token=\(Self.secret)", page)
        account.flags = .isPrivate
        var picture = ArchiveTestSite.Response.file(
            account.path, "image/png", Array("PNG \(Self.secret)".utf8))
        picture.request = .renderedPicture
        var words = ArchiveTestSite.Response.file(account.path, "text/plain", Array(Self.secret.utf8))
        words.request = .renderedText
        var data = ArchiveTestSite.Response.file(
            "/data.json", "application/json", Array("\"\(Self.secret)\"".utf8))
        data.flags = .isPrivate
        var posted = ArchiveTestSite.Response.file(
            "/api", "application/json", Array("\"\(Self.secret)\"".utf8))
        (posted.request, posted.flags) = (RequestKey(method: "POST", body: Array("q".utf8).span), .isPrivate)
        var welcome = ArchiveTestSite.Response.page("/welcome", "hello")
        welcome.fields = [("Set-Cookie", "session=\(Self.secret)")]
        var moved = ArchiveTestSite.Response(path: "/moved", status: 302)
        (moved.fields, moved.flags) = ([("Location", account.path)], .isPrivate)
        let site = try ArchiveTestSite()
        try site.add([
            .page("/", "<title>home</title><a href=/welcome>w</a>"), welcome, account, picture, words, data,
            posted, moved,
        ])
        // A public asset whose referrer is the private page.
        let writer = try StoreWriter(site.folder)
        let snapshot = try writer.begin(
            site: ArchiveTestSite.name, start: [ArchiveTestSite.name], now: ArchiveTestSite.time + 100)
        let body = try NewBody(.bytes([1, 2, 3]), form: "opaque", links: [], in: site.folder)
        var logo = NewResponse(
            href: "https://example.com/logo.png", referrer: "https://example.com\(account.path)", status: 200,
            role: 1, fields: "Content-Type: image/png\r\n", fetched: ArchiveTestSite.time, body: .new(body))
        logo.type = "image/png"
        try writer.add([logo], to: snapshot)
        try writer.end(snapshot, .publish(now: ArchiveTestSite.time + 160))
        return site
    }

    /// Returns all bytes of an export, decompressed.
    private func unpacked(_ site: ArchiveTestSite, _ name: String) throws -> String {
        var texts = ""
        func add(_ place: String) throws {
            if WholeFile.exists(site.home.file(place)) {
                let bytes = try WholeFile.read(site.home.file(place), atMost: 8 << 20)
                if place.hasSuffix(".gz") {
                    texts += try ChildProcess("/bin/gzip", ["-dc", site.home.file(place)]).wait().output
                }
                texts += "\(place)\n" + String(decoding: bytes, as: UTF8.self)
                return
            }
            for name in site.home.names(in: place) { try add("\(place)/\(name)") }
        }
        guard name.hasSuffix(".zip") || name.hasSuffix(".wacz") else {
            try add(name)
            return texts
        }
        let ending = try ChildProcess(
            "/usr/bin/unzip", ["-q", site.home.file(name), "-d", site.home.file("unpacked")]
        )
        .wait()
        #expect(ending.status == 0)
        try add("unpacked")
        return texts
    }

    @Test(
        .enabled(if: WholeFile.exists("/usr/bin/unzip"), "unzip is not installed"),
        arguments: [
            ("out.warc", ArchiveFormat.warc), ("out.warc.gz", .warc), ("out.wacz", .wacz), ("out.har", .har),
            ("out", .folder), ("out.zip", .zip),
        ])
    func `an export without private responses contains no secret`(name: String, form: ArchiveFormat) throws {
        let site = try site()
        let report = try site.export(name, form) { $0.hasPrivate = false }
        #expect(report.responses >= 3, "\(report)")
        let text = try unpacked(site, name)
        #expect(text.contains("logo.png") && text.contains("hello"))
        #expect(
            !text.contains(Self.secret),
            "\(name) has \(text.split(separator: "\n").filter { $0.contains(Self.secret) })")

        // With the option, the export contains the secret, so the test can fail.
        if form == .warc, name == "out.warc" {
            try site.export("all.warc", .warc) { $0.hasPrivate = true }
            #expect(try unpacked(site, "all.warc").contains(Self.secret))
        }
    }

    @Test(arguments: [("out.html", ArchiveFormat.html), ("out.mhtml", .mhtml)])
    func `a page exported as one file contains no secret`(name: String, form: ArchiveFormat) throws {
        let site = try site()
        _ = try site.export(name, form) { $0.hasPrivate = false }
        #expect(try !unpacked(site, name).contains(Self.secret))
    }
}
