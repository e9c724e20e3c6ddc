internal import Bundles
internal import Crawl
internal import Glibc
internal import Markup
internal import Reports
internal import Store
internal import System
internal import Web

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

    /// The base of files if the user gives none. No real host has this name (RFC 6761).
    static let unnamedBase = "https://folder.invalid/"

    /// Checks the documents of a folder.
    ///
    /// The folder is the root of a server, unless it has only Markdown files, which are read on GitHub or in an editor: then the
    /// root is the folder of the repository.
    ///
    /// - Throws: `LarderError` of kind `.input` for a folder that cannot be read or has no documents.
    init(folder path: String, base: String?) throws(LarderError) {
        let files = try FolderFiles(path)
        let names = files.paths.filter(Self.isDocument)
        let notes = files.skipped.first.map { first in
            let others =
                files.skipped.count > 1 ? ", and \(Wording.count(files.skipped.count - 1, "other file"))" : ""
            return ["left out of \(path): \(first.name), because \(first.reason)\(others)"]
        }
        guard !names.isEmpty else {
            throw LarderError(.input, "\(path) has no HTML or Markdown files: name the build's output folder")
        }
        let isMarkdown = names.allSatisfy(LinkDocumentReader.isMarkdown)
        let root = isMarkdown && base == nil ? Self.repository(around: path) ?? path : path
        let prefix = Self.shownPath(path)
        let inside = Self.path(of: path, below: root)
        try self.init(
            root: root, base: base, files: names.map { (prefix + $0, inside + $0) },
            prefix: Self.shownPath(root), notes: notes ?? [])
    }

    /// Checks the named files.
    ///
    /// - Parameter root: the folder that links beginning with a slash refer to; nil for that of the repository, else the current
    ///   folder, else that of all files.
    /// - Throws: `LarderError` of kind `.input` for a file that does not exist, cannot be read, or has no links.
    init(files: [String], root: String?, base: String?) throws(LarderError) {
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
        try self.init(root: root, base: base, files: documents, prefix: Self.shownPath(root))
    }

    private init(
        root: String, base: String?, files: [(shown: String, name: String)], prefix: String,
        notes: [String] = []
    ) throws(LarderError) {
        self.notes = notes
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
                LinkDocument(name: file.shown, url: $0)
            }
        }
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

    func makeReader() throws(LarderError) -> any LinkBodyReader { FileBodyReader(folder: folder, base: base) }

    func lookUp(_ url: WebURL) -> LocalTarget {
        // A site is usually published by http and https alike.
        let isSameHost = url.host == base.host && url.port == nil && base.port == nil
        guard url.origin == base.origin || isSameHost, url.path.utf8.starts(with: base.path.utf8) else {
            return .unknown
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
        return LinkDocument(name: prefix + path, url: url)
    }
}

/// Reads the files of a folder.
private struct FileBodyReader: LinkBodyReader {
    let folder: SiteFolder
    let base: WebURL

    func body(of document: LinkDocument) throws(LarderError) -> [UInt8]? {
        guard case .file(let path) = folder.lookUp(folder.relativePath(of: document.url, base: base)) else {
            return nil
        }
        return try? BodyContent.file(path: path).load()
    }
}

// MARK: - Stored sites

/// The pages of a stored site.
struct StoredLinkSource: LinkSource {
    let documents: [LinkDocument]
    let zone: NetworkZone
    let notes: [String] = []
    private let targets: [String: LocalTarget]
    private let origin: String?
    private let failures: StoredFailures
    private let folder: StoreFolder
    private let snapshot: Int64
    private let hidesPrivate: Bool

    /// - Throws: `LarderError` of kind `.input` if the site has no complete snapshot.
    init(_ site: Site, _ reader: StoreReader, hidesPrivate: Bool = false) throws(LarderError) {
        guard let snapshot = site.published else {
            throw LarderError(
                .input, "\(site.name) has no complete snapshot; run: larder update \(site.name)")
        }
        var documents: [LinkDocument] = []
        var targets: [String: LocalTarget] = [:]
        try mapStoreError { () throws(StoreError) in
            try reader.eachResponse(ofSnapshot: snapshot) { response in
                guard response.request == .get, let url = WebURL(response.href) else { return }
                let fields = HTTPFields(block: response.fields.utf8.span)
                if let redirect = Redirect(response.status, fields, from: url) {
                    targets[response.href] = .redirects(
                        to: redirect.url, isPermanent: response.status == 301 || response.status == 308)
                    return
                }
                guard response.status < 300 else {
                    targets[response.href] = Self.target(ofStatus: response.status)
                    return
                }
                let format = response.body.flatMap { BodyFormat(form: $0.form) }
                let document = LinkDocument(name: response.href, url: url, type: fields.contentType)
                let isDocument =
                    format.map {
                        $0.isDocument || $0 == .css || $0 == .webManifest || $0 == .feed || $0 == .sitemap
                    } ?? false
                if isDocument { documents.append(document) }
                targets[response.href] = .exists(document: format?.isDocument == true ? document : nil)
            }
        }
        self.documents = documents.sorted { $0.name < $1.name }
        zone = try mapStoreError { () throws(StoreError) in
            try WebURL(site.name).flatMap { url throws(StoreError) in
                try reader.mostPublicZone(ofOrigin: url.origin)
            }
                ?? .publicNetwork
        }
        (self.targets, self.snapshot, self.hidesPrivate) = (targets, snapshot, hidesPrivate)
        origin = WebURL(site.name)?.origin
        failures = StoredFailures(of: site)
        folder = reader.folder
    }

    private static func target(ofStatus status: Int) -> LocalTarget {
        let detail = "the server answered \(status)"
        switch status {
        case 404, 410: return .faulty(.dead, detail)
        // Another request may be answered otherwise.
        default: return .unknown
        }
    }

    func makeReader() throws(LarderError) -> any LinkBodyReader {
        StoredBodyReader(
            reader: try mapStoreError { () throws(StoreError) in
                try StoreReader(folder, hidesPrivate: hidesPrivate)
            }, snapshot: snapshot)
    }

    func lookUp(_ url: WebURL) -> LocalTarget {
        let href = url.key.href
        if let known = targets[href] { return known }
        // The crawl does not store the redirect that closes a loop.
        if failures.reason(for: href) == Failure.redirects.description {
            return .redirectsInLoop
        }
        return url.origin == origin ? .unstored : .unknown
    }
}

/// Reads the bodies of a snapshot.
private struct StoredBodyReader: LinkBodyReader {
    let reader: StoreReader
    let snapshot: Int64

    func body(of document: LinkDocument) throws(LarderError) -> [UInt8]? {
        try mapStoreError { () throws(StoreError) in
            guard let body = try reader.response(for: document.url.href, ofSnapshot: snapshot)?.body else {
                return nil
            }
            return try reader.content(of: body)?.load()
        }
    }
}
