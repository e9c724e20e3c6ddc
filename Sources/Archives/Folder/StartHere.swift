internal import Web

/// The page at the top of an exported folder. It explains the files to people who do not know Larder.
struct StartHere {
    static let name = "START-HERE.html"

    let site: String
    /// When the snapshot was fetched, in seconds since 1970. A later export of it writes the same page.
    let date: Int64
    let software: String
    /// The number of pages in the folder.
    var pages = 0
    /// The pages that the site starts with, by their files.
    var startPages: [Page] = []
    /// The pages that show everything only if a web server serves them.
    var pagesNeedingServer: [Page] = []
    /// The file that lists missing pages and assets; nil if none is missing.
    var missingList: String?

    struct Page {
        /// The title, or else the URL.
        let name: String
        let file: String
    }

    /// The maximum number of pages that are listed.
    private static let maxListedPages = 1000

    var text: String {
        let day = HTTPDate(secondsSinceEpoch: date).iso8601.prefix(10)
        let count = pages == 1 ? "1 page" : "\(pages) pages"
        return """
            <!doctype html>
            <html lang="en">
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width">
            <meta name="robots" content="noindex">
            <title>Start here: a copy of \(Self.escaped(site))</title>
            <style>
            body { font: 1rem/1.5 system-ui, sans-serif; max-width: 42rem; margin: 2rem auto; padding: 0 1rem; color: #222; background: #fff }
            h1 { font-size: 1.3rem } h2 { font-size: 1.1rem } a { color: #0645ad }
            </style>
            <h1>A copy of \(Self.escaped(site))</h1>
            <p>This folder contains \(count) of a website, copied on \(day) with \(Self.escaped(software)). It opens in a browser
            without the internet and without Larder. Links to pages that were not copied open the original pages on the internet.</p>
            <h2>Open</h2>
            <ul>
            \(Self.list(startPages))
            </ul>
            \(pagesNeedingServer.isEmpty ? "" : serverSection)\(missingList.map(Self.missingParagraph) ?? "")
            """
    }

    /// The part about pages that need a server.
    private var serverSection: String {
        let more =
            pagesNeedingServer.count > Self.maxListedPages
            ? "<p>And \(pagesNeedingServer.count - Self.maxListedPages) more.</p>\n" : ""
        return """
            <h2>Pages that need <code>larder serve</code></h2>
            <p>Parts of these pages stay empty when they are opened as files, because browsers do not load 3D models, some workers
            and some other content from files. To see all of them, install Larder, and run <code>larder import FOLDER</code> and
            <code>larder serve</code>. Most of them also work with any web server, such as
            <code>python3 -m http.server -d FOLDER</code>.</p>
            <ul>
            \(Self.list(pagesNeedingServer))
            </ul>
            \(more)
            """
    }

    private static func missingParagraph(_ file: String) -> String {
        "<p>Some pages, or parts of pages, were not copied: <a href=\"\(file)\">list</a>.</p>\n"
    }

    private static func list(_ pages: [Page]) -> String {
        pages.prefix(maxListedPages).map { "<li><a href=\"\($0.file)\">\(escaped($0.name))</a></li>" }
            .joined(separator: "\n")
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
            .replacing("\"", with: "&quot;")
    }
}
