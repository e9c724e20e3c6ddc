import Markup
import Store
import System
import TestOrigin
import Testing
import Web

@testable import Archives

/// Exports hosts and paths whose names are not valid file names, and extracts the archives.
@Suite struct HostileNamesTests {
    private static let start = "https://example.com/"

    /// URLs whose preferred names would be outside the folder, devices of Windows, or both a file and a folder.
    private static let addresses = [
        "https://example.com/", "https://example.com/index.html", "https://example.com/index.html/x",
        "https://example.com/INDEX.html/y", "https://../index.html", "https://../../x", "https://./x",
        "https://.../x", "https://con/x", "https://nul/", "https://aux./x", "https://com1.tar.gz/x",
        "https://LPT9/x", "https://example.com./x", "https://EXAMPLE.com../x", "https://-rf/x",
        "https://\(String(repeating: "long.", count: 40))test/x", "https://example.com/con",
        "https://example.com/nul.txt", "https://example.com/con.tar.gz", "https://example.com/%63on.a.b",
        "https://example.com/~con.a.b", "https://example.com/Prn/x", "https://example.com/com1",
        "https://example.com/a.",
        "https://example.com/a.%20", "https://example.com/%20", "https://example.com/%2E%2E%2Fx",
        "https://example.com/..%5Cx", "https://example.com/a", "https://example.com/A",
        "https://example.com/a.html", "https://example.com/a.html/b", "https://example.com/~web/con/x",
        "https://example.com/~larder.jsonl", "https://example.com/.nojekyll",
        "https://example.com/~missing.txt",
        "https://example.com/~data/d.json.js", "https://example.com/d.json",
        "https://example.com/d.json.js/e.json",
    ]

    /// Returns the site, and those of its addresses that are valid URLs.
    private func site() throws -> (site: ArchiveTestSite, urls: [WebURL]) {
        let site = try ArchiveTestSite()
        var urls: [WebURL] = []
        for address in Self.addresses {
            if let url = WebURL(address)?.key, !urls.contains(url) { urls.append(url) }
        }
        let writer = try StoreWriter(site.folder)
        let snapshot = try writer.begin(site: Self.start, start: [Self.start], now: ArchiveTestSite.time)
        for url in urls {
            let isData = url.path.contains(".json")
            let type = isData ? "application/json" : "text/html; charset=utf-8"
            // The first page fetches data from the root, so that the export writes twins.
            let links = urls.dropFirst().map { "<a href=\"\($0.href)\">\($0.href)</a>\n" }.joined()
            let scripts = "<script>fetch('/d.json');fetch('/d.json.js/e.json')</script>"
            let text =
                isData ? "{\"url\": \"\(url.href)\"}" : url.href == Self.start ? links + scripts : url.href
            let fields = HTTPFields([.init(name: "Content-Type", value: type)])
            let bytes = Array(text.utf8)
            let reading = LinkScanner().read(bytes.span, of: url, as: fields.contentType)
            let body = try NewBody(
                .bytes(bytes), form: reading.form, title: nil, links: reading.table.encoded(), in: site.folder
            )
            var new = NewResponse(
                href: url.href, referrer: nil, status: 200, role: isData ? 1 : 0, fields: fields.block,
                fetched: ArchiveTestSite.time, body: .new(body))
            new.type = fields.contentType?.essence
            try writer.add([new], to: snapshot)
        }
        try writer.end(snapshot, .publish(now: ArchiveTestSite.time))
        return (site, urls)
    }

    /// Returns the contents of the files in a folder by name.
    private func files(_ site: ArchiveTestSite, _ folder: String) throws -> [String: [UInt8]] {
        var files: [String: [UInt8]] = [:]
        var waiting = [""]
        while let below = waiting.popLast() {
            for name in site.home.names(in: "\(folder)/\(below)") {
                let path = below.isEmpty ? name : "\(below)/\(name)"
                if WholeFile.exists(site.home.file("\(folder)/\(path)")) {
                    files[path] = try WholeFile.read(site.home.file("\(folder)/\(path)"), atMost: 1 << 20)
                } else {
                    waiting.append(path)
                }
            }
        }
        return files
    }

    private static let devices: Set<String> = Set(
        ["con", "prn", "aux", "nul"] + (0...9).flatMap { ["com\($0)", "lpt\($0)"] })

    @Test func `hostile URLs get names that are valid on every file system, and links refer to them`() throws
    {
        let (site, urls) = try site()
        #expect(try site.export("out", .folder).isVerified == true)
        let files = try files(site, "out")
        // Beside the files that Larder adds, the folder has a file for each URL.
        let own = files.keys.filter {
            !$0.hasPrefix("~larder") && !$0.hasPrefix("~data/") && $0 != ".nojekyll" && $0 != "~missing.txt"
                && $0 != "START-HERE.html"
        }
        #expect(own.count >= urls.count)
        #expect(Set(files.keys.map { $0.lowercased() }).count == files.count)
        for name in files.keys where name != ".nojekyll" {
            for segment in name.split(separator: "/", omittingEmptySubsequences: false) {
                #expect(
                    !segment.isEmpty && segment.first != "." && segment.last != "." && segment.last != " ",
                    "\(name)")
                #expect(!Self.devices.contains(String(segment.prefix { $0 != "." }).lowercased()), "\(name)")
                #expect(segment.utf8.count <= 100, "\(name)")
            }
            #expect(!files.keys.contains { $0.lowercased().hasPrefix(name.lowercased() + "/") }, "\(name)")
        }
        // Each link of the first page refers to the file of its URL.
        let first = try #require(files.values.first { $0.starts(with: "<".utf8) && $0.count > 2000 })
        let page = String(decoding: first, as: UTF8.self)
        var led = 0
        for line in page.split(separator: "\n") {
            guard let start = line.range(of: "<a href=\""), let end = line.range(of: "\">"),
                let last = line.range(of: "</a>")
            else { continue }
            let target = String(line[start.upperBound..<end.lowerBound])
            let address = String(line[end.upperBound..<last.lowerBound])
            let body = try #require(files[target], "\(address) leads to \(target)")
            #expect(String(decoding: body, as: UTF8.self).contains(address))
            led += 1
        }
        #expect(led == urls.count - 1)
        #expect(files.keys.contains { $0.hasPrefix("~data/") })
    }

    @Test(
        .enabled(
            if: ["unzip", "python3", "tar", "zstd"].allSatisfy { ExternalProgram.find($0) != nil },
            "a tool is not installed"),
        arguments: ["unzip", "python3", "tar"])
    func `other programs extract exactly the files of the folder`(tool: String) throws {
        let (site, _) = try site()
        try site.export("out", .folder)
        let isTar = tool == "tar"
        let archive = isTar ? "out.tar.zst" : "out.zip"
        try site.export(archive, isTar ? .tar : .zip)
        let (path, place) = (site.home.file(archive), site.home.file("extracted"))
        try Folder.make(place)
        let words: [String] =
            switch tool {
            case "unzip": ["-q", path, "-d", place]
            case "tar": ["--zstd", "-xf", path, "-C", place]
            default: ["-m", "zipfile", "-e", path, place]
            }
        let ending = try ChildProcess(
            try #require(ExternalProgram.find(tool)), words,
            environment: ["PATH": "/usr/bin:/bin:/usr/local/bin", "HOME": "/root"]
        ).wait()
        #expect(
            ending.status == 0 && ending.errors.isEmpty, "\(ending.status): \(ending.output) \(ending.errors)"
        )
        if !isTar { #expect(site.home.names(in: "extracted") == ["example.com"]) }
        let folder = isTar ? "extracted" : "extracted/example.com"
        #expect(try files(site, folder) == files(site, "out"))
        #expect(Set(site.home.names(in: "")) == ["store", "out", archive, "extracted"])
    }
}
