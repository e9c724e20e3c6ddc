import Markup
import Store
import System
import TestOrigin
import Testing
import Web

@testable import Archives

/// Hosts and paths whose names no file may have, exported and really extracted.
@Suite struct HostileNamesTests {
    private static let start = "https://example.com/"

    /// Addresses whose plain names would lead out of the folder, be devices, or be both a file and a folder.
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

    /// The site, and the addresses of it that are URLs at all.
    private func site() throws -> (site: HeldSite, urls: [WebURL]) {
        let site = try HeldSite()
        var urls: [WebURL] = []
        for address in Self.addresses {
            if let url = WebURL(address)?.key, !urls.contains(url) { urls.append(url) }
        }
        let writer = try StoreWriter(site.folder)
        let snapshot = try writer.begin(site: Self.start, start: [Self.start], now: HeldSite.time)
        for url in urls {
            let isData = url.path.contains(".json")
            let type = isData ? "application/json" : "text/html; charset=utf-8"
            // The first page fetches data from the root, so that there are twins.
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
                fetched: HeldSite.time, body: .new(body))
            new.type = fields.contentType?.essence
            try writer.add([new], to: snapshot)
        }
        try writer.end(snapshot, .publish(now: HeldSite.time))
        return (site, urls)
    }

    /// What is below a folder: names with their contents.
    private func files(_ site: HeldSite, _ folder: String) throws -> [String: [UInt8]] {
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

    @Test func `every file has a name that every system takes, and links lead to it`() throws {
        let (site, urls) = try site()
        #expect(try site.export("out", .folder).isVerified == true)
        let files = try files(site, "out")
        // Beside what larder adds, a file for each address.
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
        // Each link of the first page leads to the file of its address.
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
    func `other programs extract what the folder has, and nothing else`(tool: String) throws {
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
        #expect(try files(site, "extracted") == files(site, "out"))
        #expect(Set(site.home.names(in: "")) == ["store", "out", archive, "extracted"])
    }
}
