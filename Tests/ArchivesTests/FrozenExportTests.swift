import Store
import System
import TestOrigin
import Testing
import Web

@testable import Archives

/// Exports of pages that the mirror serves as frozen copies.
@Suite struct FrozenExportTests {
    private let site: ArchiveTestSite

    init() throws {
        let page = "<!doctype html><title>t</title><p id=p><script>p.append(navigator.onLine)</script>"
        let copy = "<!doctype html><title>t</title><p>As it was seen <a href=/other>Other</a>"
        site = try ArchiveTestSite([
            .page("/", page),
            ArchiveTestSite.Response(path: "/", body: Array(copy.utf8), request: .frozen),
            .page("/other", "<!doctype html><title>o</title><a href=/>Start</a>"),
        ])
    }

    /// Exports the site, or one page of it, with its start page as a frozen copy.
    private func export(
        _ file: String, _ form: ArchiveFormat, page: String? = nil
    ) throws -> ExportReport {
        try site.export(file, form) { plan in
            plan.frozenPages = [ArchiveTestSite.name]
            if let page { plan.page = WebURL(page) }
        }
    }

    private func text(of file: String) throws -> String {
        String(decoding: try WholeFile.read(site.home.file(file), atMost: 1 << 20), as: UTF8.self)
    }

    @Test("A folder contains the frozen copy in the place of the page")
    func folder() throws {
        let report = try export("out/", .folder)
        #expect(report.frozenPages == 1 && report.pagesWithScripts == 0 && report.isVerified == true)
        let page = try text(of: "out/index.html")
        #expect(page.contains("As it was seen") && page.contains("href=other.html"))
        #expect(!page.contains("navigator.onLine"))
    }

    @Test("A single page is exported as its frozen copy", arguments: [ArchiveFormat.html, .mhtml])
    func singlePage(form: ArchiveFormat) throws {
        let report = try export("page\(form.suffix)", form, page: ArchiveTestSite.name)
        #expect(report.frozenPages == 1)
        let page = try text(of: "page\(form.suffix)")
        #expect(page.contains("As it was seen") && !page.contains("navigator.onLine"))
    }

    @Test("An archive of responses contains the page, and the report counts it")
    func responses() throws {
        let report = try export("a.warc", .warc)
        #expect(report.frozenPages == 0 && report.pagesWithScripts == 1 && report.isVerified == true)
        let archive = try text(of: "a.warc")
        #expect(archive.contains("navigator.onLine") && !archive.contains("As it was seen"))
    }

    @Test("A page that has changed since is exported as it is")
    func changed() throws {
        try site.add([.page("/", "<!doctype html><title>new</title>")], at: ArchiveTestSite.time + 100)
        let report = try export("out/", .folder)
        #expect(report.frozenPages == 0 && report.pagesWithScripts == 0)
        let page = try text(of: "out/index.html")
        #expect(page.contains("<title>new</title>"))
    }
}
