internal import Bundles
internal import Crawl
internal import Glibc
internal import Markup
internal import Store
internal import System
internal import Web

/// The documents of a link check, and what is known about the targets of their links without a request.
protocol LinkSource: Sendable {
    /// The documents whose links are checked.
    var documents: [LinkDocument] { get }
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

    /// The base of files if the user gives none. No real host has this name (RFC 6761).
    static let unnamedBase = "http://folder.invalid/"

    /// Checks the documents of a folder.
    ///
    /// - Throws: `LarderError` of kind `.input` for a folder that cannot be read or has no documents.
    init(folder path: String, base: String?) throws(LarderError) {
        let names = try FolderFiles(path).paths.filter(Self.isDocument)
        guard !names.isEmpty else {
            throw LarderError(.input, "\(path) has no HTML or Markdown files: name the build's output folder")
        }
        try self.init(folder: path, names: names, base: base, prefix: path.hasSuffix("/") ? path : path + "/")
    }

    /// Checks the named files. Links that begin with a slash mean files below `root`.
    init(files: [String], root: String, base: String?) throws(LarderError) {
        let folder = try SiteFolder(root)
        var names: [String] = []
        for file in files {
            guard let name = folder.relativePath(ofFile: file) else {
                throw LarderError(
                    .input,
                    "cannot read \(file) below \(root): name an existing file below this folder")
            }
            names.append(name)
        }
        try self.init(folder: root, names: names, base: base, prefix: root == "." ? "" : root + "/")
    }

    private init(folder path: String, names: [String], base: String?, prefix: String) throws(LarderError) {
        folder = try SiteFolder(path)
        self.prefix = prefix
        guard let url = base == nil ? WebURL(Self.unnamedBase) : try WebURL.start(base ?? "") else {
            throw LarderError(.input, "\"\(base ?? "")\" is not a URL; write it like https://example.com/")
        }
        // https://example.com/docs means the folder, while https://example.com/docs/index.html is a file in it.
        let isFolder = !url.path.split(separator: "/").contains { $0.contains(".") }
        self.base = WebURL(isFolder && !url.path.hasSuffix("/") ? url.path + "/" : ".", base: url) ?? url
        let root = self.base
        documents = names.compactMap { name in
            WebURL(PathReference.reference(to: name), base: root).map {
                LinkDocument(name: prefix + name, url: $0)
            }
        }
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
        guard url.origin == base.origin, url.path.utf8.starts(with: base.path.utf8) else { return .unknown }
        let name = folder.relativePath(of: url, base: base)
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
            // GitHub and editors show the files of a folder that a Markdown document links to.
            return LinkDocumentReader.isMarkdown(documents.first?.name ?? "")
                ? .exists(document: nil) : .faulty(.dead, "the folder has no \(SiteFolder.index)")
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
                    format.map { $0.isDocument || $0 == .css || $0 == .webManifest || $0 == .feed } ?? false
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
