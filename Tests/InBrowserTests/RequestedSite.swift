import Glibc
import Markup
import TestOrigin
import Web

/// The site in a folder: the requests that a browser makes for its pages, and the links that a scan of its files finds.
final class RequestedSite {
    /// The requested URLs, and those among them that the scan missed or the server lacks.
    struct Comparison {
        var requested: Set<String> = []
        /// URLs requested without any script, and not found by the scan.
        var missed: Set<String> = []
        /// URLs requested by scripts, and not found by the scan.
        var revealed: Set<String> = []
        /// Requested URLs that the server does not have.
        var absent: Set<String> = []
    }

    private struct Body {
        var format = BodyFormat.opaque
        var links: [WebURL] = []
    }

    private let origin: TestOrigin
    /// The same site with empty scripts and a security policy that blocks inline scripts: only the HTML and CSS parsers
    /// cause its requests.
    private let quiet: TestOrigin
    private let browser: Chromium
    private let scanner = LinkScanner()
    private var bodies: [String: Body] = [:]

    init(_ folder: String) throws {
        let origin = try TestOrigin()
        origin.serve(folder: folder)
        quiet = try TestOrigin()
        quiet.otherwise { [port = origin.port] in Self.quietAnswer(to: $0, from: port) }
        self.origin = origin
        browser = try Chromium()
    }

    func compare(_ page: String) throws -> Comparison {
        let found = try assets(of: page)
        let (unscripted, _) = try requests(for: page, of: quiet)
        let (scripted, absent) = try requests(for: page, of: origin)
        return Comparison(
            requested: unscripted.union(scripted), missed: unscripted.subtracting(found),
            revealed: scripted.subtracting(found).subtracting(unscripted), absent: absent)
    }

    // MARK: - Requests of the browser

    /// Returns the requests for a page: paths for the site itself, complete URLs for others.
    private func requests(for page: String, of origin: TestOrigin) throws -> (
        all: Set<String>, failed: Set<String>
    ) {
        let visit = try browser.open(origin.url(page))
        func names(_ requests: [ChromiumRequest]) -> Set<String> {
            Set(requests.compactMap { WebURL($0.url).map { name($0.withoutFragment, of: origin) } })
        }
        return (names(visit.requests.filter { !$0.isIconGuess }), names(visit.failures))
    }

    private func name(_ url: WebURL, of origin: TestOrigin) -> String {
        url.origin == origin.base ? url.target : url.href
    }

    /// Returns the response of the origin without its scripts.
    private static func quietAnswer(to request: OriginRequest, from port: Int) -> OriginAnswer {
        do throws(TestError) {
            let response = try RawClient(port: port).get(request.target)
            let type = MediaType(response["Content-Type"] ?? "")
            if type?.essence == "text/javascript" { return .file([], type: "text/javascript") }
            var fields: [(String, String)] = [("Content-Security-Policy", "script-src *")]
            for name in ["Content-Type", "Location"] {
                if let value = response[name] { fields.append((name, value)) }
            }
            return OriginAnswer(status: response.status, fields: fields, body: response.body)
        } catch {
            return .failure(500)
        }
    }

    // MARK: - Links that a scan finds

    /// Returns the assets of a page, including assets of assets.
    private func assets(of page: String) throws -> Set<String> {
        guard let start = WebURL(origin.url(page)) else { return [] }
        var found: Set<String> = [name(start, of: origin)]
        var open = [start]
        while let url = open.popLast() {
            for link in try body(of: url).links where found.insert(name(link, of: origin)).inserted {
                if link.origin == origin.base { open.append(link) }
            }
        }
        return found
    }

    private func body(of url: WebURL) throws -> Body {
        if let known = bodies[url.href] { return known }
        let response = try RawClient(port: origin.port).get(url.target)
        var body = Body()
        if let location = response["Location"].flatMap({ WebURL($0, base: url) }) {
            body.links.append(location)
        }
        let type = MediaType(response["Content-Type"] ?? "")
        body.format = BodyFormat(mediaType: type, url: url, body: response.body.span)
        var references: [(LinkOccurrence, [UInt8])] = []
        let table = scanner.scan(response.body.span, as: body.format, charset: type?.charset) {
            link, reference in
            guard Self.isRequested(link), !link.flags.contains(.isFragment) else { return }
            references.append((link, reference.withUnsafeBufferPointer { Array($0) }))
        }
        let base = table.base.flatMap { WebURL($0, base: url) } ?? url
        var targets = references.map { link, reference in
            let base = link.flags.contains(.ignoresBase) ? url : base
            return WebURL(utf8: reference.span, base: base, queryEncoding: table.encoding.outputEncoding)
        }
        targets += table.implied.map { WebURL($0.reference(fromBodyAt: url.path), base: base) }
        body.links += targets.compactMap { $0.flatMap { $0.isHTTP ? $0.withoutFragment : nil } }
        bodies[url.href] = body
        return body
    }

    /// Whether a browser requests the link by itself: an asset, a frame, a redirect or a prefetch.
    private static func isRequested(_ link: LinkOccurrence) -> Bool {
        link.role == .asset || [.frame, .refresh, .prefetch].contains(link.kind)
    }

    // MARK: - Pages

    /// Returns the pages that the environment chooses.
    static func pages(of folder: String) -> [String] {
        if let names = getenv("LARDER_REAL_PAGES") {
            return String(cString: names).split(separator: " ").map(String.init)
        }
        let all = files(of: folder, at: "/").filter { $0.hasSuffix(".html") }.sorted()
        let count = min(getenv("LARDER_REAL_COUNT").flatMap { Int(String(cString: $0)) } ?? 10, all.count)
        return (0..<count).map { all[$0 * all.count / count] }
    }

    private static func files(of folder: String, at path: String) -> [String] {
        guard let entries = opendir(folder + path) else { return [] }
        defer { closedir(entries) }
        var files: [String] = []
        while let entry = readdir(entries) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name.hasPrefix(".") { continue }
            if entry.pointee.d_type == UInt8(DT_DIR) {
                files += Self.files(of: folder, at: path + name + "/")
            } else {
                files.append(path + name)
            }
        }
        return files
    }
}
