import Glibc
import Markup
import Store
import TestOrigin

extension RawResponse {
    /// The values of all header fields of the name.
    func all(_ name: String) -> [String] {
        fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    }
}

/// A store in a temporary folder, with responses that a test chooses.
struct StockedStore {
    struct Entry {
        var href: String
        var text: String?
        var type = "text/html"
        var status = 200
        /// Header lines besides Content-Type, each with its CRLF.
        var extra = ""
        var title: String?
        var flags: ResponseFlags = []
        var fetched: Int64 = 1
        var referrer: String?
        var request = RequestKey.get
        /// 0 for a page, 1 for a file.
        var role: UInt8 = 0
    }

    let scratch: TemporaryFolder
    let folder: StoreFolder

    init(_ entries: [Entry], settings: String = "", compresses: Bool = false) throws {
        scratch = try TemporaryFolder()
        var folder = StoreFolder(scratch.file("store"))
        folder.compresses = compresses
        self.folder = folder
        try publish(entries, settings: settings)
    }

    /// Adds a snapshot, and publishes it. Its run takes a second.
    func publish(
        _ entries: [Entry], settings: String = "", site: String = "https://example.test/", now: Int64 = 1
    ) throws {
        let writer = try StoreWriter(folder)
        let snapshot = try writer.begin(site: site, start: [site], now: now)
        try writer.add(entries.map(response), to: snapshot)
        try writer.storeSettings(settings, of: snapshot)
        try writer.end(snapshot, .publish(now: now + 1))
    }

    /// Adds a snapshot that is not published.
    func addUnpublished(_ entries: [Entry]) throws {
        let writer = try StoreWriter(folder)
        let snapshot = try writer.begin(
            site: "https://example.test/", start: ["https://example.test/"], now: 3)
        try writer.add(entries.map(response), to: snapshot)
    }

    /// Moves the store, so that its path does not exist any more.
    func moveAway() throws {
        guard rename(folder.path, scratch.file("taken")) == 0 else {
            throw TestError("moving \(folder.path)")
        }
    }

    private func response(_ entry: Entry) throws -> NewResponse {
        let formats: [String: BodyFormat] = [
            "text/html": .html, "text/javascript": .javaScript, "text/css": .css,
            "application/vnd.apple.mpegurl": .hls, "application/dash+xml": .dash,
        ]
        let format = formats[entry.type] ?? .opaque
        let table = LinkScanner().scan((entry.text ?? "").utf8.span, as: format, charset: "utf-8") { _, _ in }
        var response = NewResponse(
            href: entry.href, referrer: entry.referrer, status: entry.status, role: entry.role,
            fields: "Content-Type: \(entry.type)\r\n\(entry.extra)", fetched: entry.fetched,
            body: try entry.text.map {
                .new(
                    try NewBody(
                        .bytes(Array($0.utf8)), form: "\(format.name);utf-8", title: entry.title,
                        links: table.encoded(), in: folder))
            } ?? .none)
        response.flags = entry.flags
        response.request = entry.request
        return response
    }
}
