internal import Bundles
internal import Crawl
internal import Glibc
internal import Markup
internal import Reports
internal import Store
internal import System
package import Web

/// The documents of a link check, and the targets of their links that can be judged without a request.
protocol LinkSource: Sendable {
    /// The documents whose links are checked.
    var documents: [LinkDocument] { get }
    /// Notes for the report, such as about files that cannot be read.
    var notes: [String] { get }
    /// The network zone that the documents came from. Their links may be requested only from there or from a more public zone.
    var zone: NetworkZone { get }
    /// Reads documents on one thread.
    func makeReader() throws(LarderError) -> any LinkBodyReader
    /// Looks up a target, given without its fragment.
    func lookUp(_ url: WebURL) -> LocalTarget
}

/// Loads the bodies of documents. Belongs to one thread.
protocol LinkBodyReader {
    /// The body of a document; nil if it cannot be read.
    func body(of document: LinkDocument) throws(LarderError) -> [UInt8]?
}

/// The target of a link, as far as a source knows it without a request.
enum LocalTarget: Sendable, Equatable {
    /// The target exists. `document` has its fragments, unless its format has none.
    case exists(document: LinkDocument?)
    /// The target redirects; nil if its redirect has no valid target.
    case redirects(to: WebURL?, isPermanent: Bool)
    /// The target does not exist, or the source knows that its server refuses it: the verdict and the reason.
    case faulty(LinkCheckReport.Verdict, String)
    /// The target is a folder without an index file. A server has no page there, but GitHub and editors show its files.
    case folder
    /// The target redirects to itself, possibly through other URLs.
    case redirectsInLoop
    /// The target belongs to the site, but was not stored, such as because of a limit or robots.txt.
    case unstored
    /// The target is somewhere else.
    case unknown
}

// MARK: - Files

/// Files as documents, and the folder around them as a web server would serve it.
///
/// Without a base, the folder is the root of a server with an invalid name, so that `/about` means the file `about`,
/// `about.html` or `about/index.html` in the folder. With the base `https://example.com/docs/`, links to URLs below the base
/// mean files of the folder, and links to other URLs of that server lead outside.
struct FileLinkSource: LinkSource {
    let documents: [LinkDocument]
    private let folder: SiteFolder
    private let base: WebURL
    /// The beginning of the names of documents.
    private let prefix: String
    let notes: [String]
    /// Whether the documents belong to MkDocs, which renders them by Python-Markdown.
    private let isMkDocs: Bool
    /// The document that is in no file, and its body; nil if there is none.
    private var text: (url: WebURL, body: [UInt8])?

    /// The base of files if the user gives none. No real host has this name (RFC 6761).
    static let unnamedBase = "https://folder.invalid/"
    /// The name of a text that is in no file, without its extension. No file has this name, so that links to files of the
    /// folder keep their meaning.
    static let textName = ".larder-text"

    /// Checks the documents of a folder.
    ///
    /// The folder is the root of a server, unless it has only Markdown files, which are read on GitHub or in an editor: then the
    /// root is the folder of the repository.
    ///
    /// - Parameter excluded: patterns of files and folders that are not read for links. Links may still refer to them.
    /// - Throws: `LarderError` of kind `.input` for a folder that cannot be read or has no documents.
    init(folder path: String, base: String?, excluding excluded: [String] = []) throws(LarderError) {
        let files = try FolderFiles(path)
        let documents = files.paths.filter(Self.isDocument)
        let names = documents.filter { name in
            !excluded.contains { LinkIgnoreRule.matchesPath($0, name) }
        }
        let notes = files.skipped.first.map { first in
            let others =
                files.skipped.count > 1 ? ", and \(Wording.count(files.skipped.count - 1, "other file"))" : ""
            return ["left out of \(path): \(first.name), because \(first.reason)\(others)"]
        }
        guard !documents.isEmpty else {
            throw LarderError(.input, "\(path) has no HTML or Markdown files: name the build's output folder")
        }
        guard !names.isEmpty else {
            throw LarderError(.input, "all documents of \(path) are excluded: name fewer files to leave out")
        }
        let isMarkdown = names.allSatisfy(LinkDocumentReader.isMarkdown)
        let root = isMarkdown && base == nil ? Self.repository(around: path) ?? path : path
        let prefix = Self.shownPath(path)
        let inside = Self.path(of: path, below: root)
        try self.init(
            root: root, base: base, files: names.map { (prefix + $0, inside + $0) },
            prefix: Self.shownPath(root), isMkDocs: Self.isMkDocs(around: path), notes: notes ?? [])
    }

    /// Checks the named files.
    ///
    /// - Parameter root: the folder that links beginning with a slash refer to; nil for that of the repository, else the current
    ///   folder, else that of all files.
    /// - Throws: `LarderError` of kind `.input` for a file that does not exist, cannot be read, or has no links.
    init(files: [String], root: String?, base: String?, excluding excluded: [String] = [])
        throws(LarderError)
    {
        let files = files.filter { file in
            !excluded.contains { LinkIgnoreRule.matchesPath($0, Self.shownFile(file)) }
        }
        guard !files.isEmpty else {
            throw LarderError(.input, "all files are excluded: name fewer files to leave out")
        }
        for file in files {
            guard Self.isDocument(file) else {
                throw LarderError(
                    .input,
                    "links are not read from \(file): name HTML, Markdown, CSS, SVG, XML or feed files")
            }
            if let reason = WholeFile.unreadableReason(file) {
                throw LarderError(.input, "cannot read \(file): \(reason); make it readable")
            }
        }
        let candidates =
            root.map { [$0] } ?? [files.first.flatMap(Self.repository), ".", "/"].compactMap { $0 }
        var found: String?
        for candidate in candidates where found == nil {
            let folder = try SiteFolder(candidate)
            if files.allSatisfy({ folder.relativePath(ofFile: $0) != nil }) { found = candidate }
        }
        guard let root = found else {
            throw LarderError(
                .input, "not all files are below \(candidates.first ?? "."): name a folder around them")
        }
        let folder = try SiteFolder(root)
        var documents: [(shown: String, name: String)] = []
        for file in files {
            guard let name = folder.relativePath(ofFile: file),
                !documents.contains(where: { $0.name == name })
            else { continue }
            documents.append((Self.shownFile(file), name))
        }
        try self.init(
            root: root, base: base, files: documents, prefix: Self.shownPath(root),
            isMkDocs: files.first.map { Self.isMkDocs(around: $0) } ?? false)
    }

    /// Checks a text that is in no file. It is read as HTML if it begins like that, else as Markdown. Relative links refer to the
    /// root.
    ///
    /// - Parameter name: the name of the text in reports.
    init(text body: [UInt8], name: String, root: String?, base: String?) throws(LarderError) {
        let root = root ?? Self.repository(around: ".") ?? "."
        let isMarkup =
            body.first { $0 != 0x20 && $0 != 0x0A && $0 != 0x0D && $0 != 0x09 } == UInt8(ascii: "<")
        let file = Self.textName + (isMarkup ? ".html" : ".md")
        try self.init(
            root: root, base: base, files: [(name, file)], prefix: Self.shownPath(root), isMkDocs: false)
        text = documents.first.map { ($0.url, body) }
    }

    private init(
        root: String, base: String?, files: [(shown: String, name: String)], prefix: String,
        isMkDocs: Bool, notes: [String] = []
    ) throws(LarderError) {
        self.notes = notes
        self.isMkDocs = isMkDocs
        folder = try SiteFolder(root)
        self.prefix = prefix
        guard let url = base == nil ? WebURL(Self.unnamedBase) : try WebURL.start(base ?? "") else {
            throw LarderError(.input, "\"\(base ?? "")\" is not a URL; write it like https://example.com/")
        }
        // https://example.com/docs means the folder, while https://example.com/docs/index.html is a file in it.
        let isFolder = !url.path.split(separator: "/").contains { $0.contains(".") }
        let origin = WebURL(isFolder && !url.path.hasSuffix("/") ? url.path + "/" : ".", base: url) ?? url
        self.base = origin
        documents = files.compactMap { file in
            WebURL(PathReference.reference(to: file.name), base: origin).map {
                LinkDocument(name: file.shown, url: $0, collapsesHyphens: isMkDocs)
            }
        }
    }

    /// Whether a path, or a folder around it in the same repository, has a configuration of MkDocs.
    private static func isMkDocs(around path: String) -> Bool {
        var folder = Folder.resolved(path)
        while let slash = folder.lastIndex(of: "/") {
            let names = ["mkdocs.yml", "mkdocs.yaml", "zensical.toml"]
            if names.contains(where: { WholeFile.exists(folder + "/" + $0) }) { return true }
            if Folder.exists(folder + "/.git") || WholeFile.exists(folder + "/.git") { return false }
            folder = String(folder[..<slash])
        }
        return false
    }

    /// The nearest folder around a path that is the root of a Git repository; nil if there is none.
    private static func repository(around path: String) -> String? {
        var folder = Folder.resolved(path)
        while let slash = folder.lastIndex(of: "/") {
            if Folder.exists(folder), Folder.exists(folder + "/.git") || WholeFile.exists(folder + "/.git") {
                return folder
            }
            folder = String(folder[..<slash])
        }
        return nil
    }

    /// The path of a folder below another one, with a slash at its end; empty if they are the same.
    private static func path(of folder: String, below root: String) -> String {
        let (folder, root) = (Folder.resolved(folder), Folder.resolved(root))
        guard folder != root, folder.hasPrefix(root == "/" ? root : root + "/") else { return "" }
        return folder.dropFirst(root == "/" ? 1 : root.count + 1) + "/"
    }

    /// The path of a folder in reports, with a slash at its end: relative to the current folder if it is there, so that a
    /// baseline fits however the folder is written.
    private static func shownPath(_ folder: String) -> String {
        let shown = shownFile(folder)
        return shown.isEmpty || shown.hasSuffix("/") ? shown : shown + "/"
    }

    private static func shownFile(_ path: String) -> String {
        let (current, full) = (Folder.resolved("."), Folder.resolved(path))
        if full == current { return "" }
        return full.hasPrefix(current == "/" ? current : current + "/")
            ? String(full.dropFirst(current == "/" ? 1 : current.count + 1)) : full
    }

    /// Whether a file of a folder is read for its links.
    private static func isDocument(_ path: String) -> Bool {
        if LinkDocumentReader.isMarkdown(path) { return true }
        let path = path.lowercased()
        return [".html", ".htm", ".xhtml", ".css", ".svg", ".webmanifest", ".xml", ".rss", ".atom"].contains {
            path.hasSuffix($0)
        }
    }

    /// The user of this machine wrote the files.
    var zone: NetworkZone { Principal.localUser.nearestZone }

    func makeReader() throws(LarderError) -> any LinkBodyReader {
        FileBodyReader(folder: folder, base: base, text: text)
    }

    /// The files for a browser that opens their pages.
    var linkedFiles: LinkedFiles { LinkedFiles(folder: folder, base: base) }

    func lookUp(_ url: WebURL) -> LocalTarget {
        // A site is usually published by http and https alike.
        let isSameHost = url.host == base.host && url.port == nil && base.port == nil
        guard url.origin == base.origin || isSameHost, url.path.utf8.starts(with: base.path.utf8) else {
            return .unknown
        }
        if let text, text.url == url {
            return .exists(document: documents.first)
        }
        let name = folder.relativePath(of: WebURL(url.target, base: base) ?? url, base: base)
        // Servers of static sites add the extension of pages: https://example.com/about shows about.html.
        for candidate in [name, name + ".html"] {
            switch folder.lookUp(candidate) {
            case .file(let path):
                let isDirectory = folder.lookUp(candidate + "/" + SiteFolder.index) == .file(path)
                return .exists(document: document(candidate, url, isDirectory: isDirectory))
            case .refused(let reason): return .faulty(.failed, reason)
            case .nothing: continue
            }
        }
        if folder.isFolder(name)
            || name.hasSuffix(SiteFolder.index)
                && folder.isFolder(String(name.dropLast(SiteFolder.index.count)))
        {
            return .folder
        }
        return .faulty(.dead, "the file does not exist")
    }

    /// The document of a file whose format has fragments.
    private func document(_ name: String, _ url: WebURL, isDirectory: Bool) -> LinkDocument? {
        let path = isDirectory ? name + "/" + SiteFolder.index : name
        let lower = path.lowercased()
        guard
            LinkDocumentReader.isMarkdown(path)
                || [".html", ".htm", ".xhtml", ".svg"].contains(where: lower.hasSuffix),
            let url = WebURL(PathReference.reference(to: path), base: base)
        else { return nil }
        return LinkDocument(name: prefix + path, url: url, collapsesHyphens: isMkDocs)
    }
}

/// Reads the files of a folder.
private struct FileBodyReader: LinkBodyReader {
    let folder: SiteFolder
    let base: WebURL
    let text: (url: WebURL, body: [UInt8])?

    func body(of document: LinkDocument) throws(LarderError) -> [UInt8]? {
        if let text, text.url == document.url { return text.body }
        guard case .file(let path) = folder.lookUp(folder.relativePath(of: document.url, base: base)) else {
            return nil
        }
        return try? BodyContent.file(path: path).load()
    }
}

/// The files of a checked folder, for a server on this machine whose only client is a browser that opens their pages.
package struct LinkedFiles: Sendable {
    fileprivate let folder: SiteFolder
    fileprivate let base: WebURL

    /// The origin under which the browser sees the files. The host is not real, so that the browser reaches it only through the
    /// server, as its proxy.
    private static let origin = "http://folder.invalid"
    private static let maxFileBytes = 64 << 20

    /// The URL with which the browser opens a document; nil if the document is not one of the folder.
    package func address(of href: String) -> String? {
        guard let url = WebURL(href), url.origin == base.origin else { return nil }
        return Self.origin + url.target
    }

    /// The file for a request with this path; nil if there is none, or it is outside the folder.
    package func file(atPath path: String) -> (url: WebURL, body: [UInt8])? {
        guard let url = WebURL(path, base: base), url.path.utf8.starts(with: base.path.utf8) else {
            return nil
        }
        let name = folder.relativePath(of: url, base: base)
        for candidate in [name, name + ".html"] {
            guard case .file(let file) = folder.lookUp(candidate) else { continue }
            let isIndex = folder.lookUp(candidate + "/" + SiteFolder.index) == .file(file)
            let page = WebURL(PathReference.reference(to: candidate), base: base) ?? url
            let index = WebURL(PathReference.reference(to: candidate + "/" + SiteFolder.index), base: base)
            guard let body = try? WholeFile.read(file, atMost: Self.maxFileBytes) else { return nil }
            return (isIndex ? index ?? page : page, body)
        }
        return nil
    }
}
