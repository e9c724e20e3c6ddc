package import Bundles
internal import Digest
package import Reports
package import Store
package import System
internal import Web

/// A manifest that was generated, with its size.
public struct ManifestReport: Sendable, Equatable {
    /// The manifest, as JSON in Larder's own format, with a line feed at its end.
    public let text: String
    /// The number of bundles.
    public let bundles: Int
    /// The total size of the bundles.
    public let byteCount: Int64
    /// Files or URLs that could not be included.
    public let skipped: [Skipped]

    /// A file or URL that could not be included.
    public struct Skipped: Sendable, Equatable {
        /// The path of the file, or the URL.
        public let name: String
        /// Why it could not be included.
        public let reason: String

        package init(name: String, reason: String) {
            self.name = name
            self.reason = reason
        }
    }
}

extension ManifestReport {
    /// Creates a manifest of the files of a folder, which are hashed on all cores. Blocks.
    ///
    /// - Parameter output: the file that the manifest will be written to, which it does not list.
    /// - Throws: `LarderError` of kind `.input` if the folder cannot be read or has no files, `.interrupted`.
    package init(
        ofFolder path: String, output: String? = nil, _ interruption: Interruption
    ) throws(LarderError) {
        let files = try FolderFiles(path, without: output)
        guard !files.paths.isEmpty || !files.skipped.isEmpty else {
            throw LarderError(.input, "\(path) has no files: name the build's output folder")
        }
        let found = ParallelWork.share(files.paths.count, named: "larder-files", interruption) { next, give in
            while let number = next() {
                let name = files.paths[number]
                let content = BodyContent.file(path: path + "/" + name)
                give(
                    number,
                    Result { () throws(StoreError) in
                        try Bundle(PathReference.reference(to: name), of: content)
                    })
            }
        }
        guard !interruption.isRequested else { throw .interrupted }
        var manifest = Manifest()
        var skipped = files.skipped
        for (name, entry) in zip(files.paths, found) {
            switch entry {
            case .success(let bundle): manifest.bundles.append(bundle)
            case .failure(let failure): skipped.append(.init(name: name.visible, reason: failure.detail))
            case nil: break
            }
        }
        self.init(manifest, skipped: skipped)
    }

    /// Creates a manifest of the stored responses of a site. Blocks.
    package init(ofStoredSite site: Site, _ types: TypeFilter?, _ reader: StoreReader) throws(StoreError) {
        self = try StoredSiteManifest(site, types).manifest(reader, reader.folder)
    }

    /// The report with further skipped files or URLs.
    package func adding(skipped others: [Skipped]) -> ManifestReport {
        ManifestReport(text: text, bundles: bundles, byteCount: byteCount, skipped: skipped + others)
    }
}

/// Lists the stored responses of a site as a manifest.
struct StoredSiteManifest {
    private let site: Site
    private let types: TypeFilter?

    init(_ site: Site, _ types: TypeFilter?) {
        self.site = site
        self.types = types
    }

    /// The manifest. Missing MD5s are computed and stored.
    func manifest(_ reader: StoreReader, _ folder: StoreFolder) throws(StoreError) -> ManifestReport {
        let base = WebURL(site.name)
        var hrefs: [String] = []
        try reader.eachListedResponse(site: site.id) { row in
            if row.byteCount != nil, row.status < 300, types?.matches(row.type) ?? true {
                hrefs.append(row.href)
            }
            return true
        }
        var manifest = Manifest()
        manifest.site = site.name
        manifest.start = site.start
        var skipped: [ManifestReport.Skipped] = []
        var md5s = KnownMD5s(reader)
        for href in hrefs {
            guard let body = try reader.response(for: href)?.body,
                let sha256 = Digest(.sha256, bytes: body.sha256),
                let md5 = try md5s.md5(of: body)
            else {
                skipped.append(.init(name: href, reason: "its bytes are gone or cut short; see: larder fsck"))
                continue
            }
            manifest.bundles.append(
                Bundle(
                    reference: Self.reference(to: href, base), digests: [md5, sha256],
                    byteCount: body.byteCount))
        }
        try md5s.store(in: folder)
        return ManifestReport(manifest, skipped: skipped)
    }

    /// The path of a URL on the site's own origin, so that the manifest also applies to staging; else the
    /// URL.
    private static func reference(to href: String, _ base: WebURL?) -> String {
        guard let url = WebURL(href), url.origin == base?.origin else { return href }
        // A path that begins with two slashes would be read as a host name.
        return url.target.hasPrefix("//") ? href : url.target
    }
}

extension Bundle {
    /// Reads a body once for both digests.
    package init(_ reference: String, of content: BodyContent) throws(StoreError) {
        var md5 = DigestStream(.md5)
        var sha256 = DigestStream(.sha256)
        var byteCount = 0
        try content.eachPiece { piece in
            md5.update(piece)
            sha256.update(piece)
            byteCount += piece.count
        }
        self.init(reference: reference, digests: [md5.finish(), sha256.finish()], byteCount: byteCount)
    }
}

extension ManifestReport {
    package init(_ manifest: Manifest, skipped: [Skipped]) {
        self.init(
            text: manifest.json, bundles: manifest.bundles.count,
            byteCount: manifest.bundles.reduce(0) { $0 + Int64($1.byteCount ?? 0) }, skipped: skipped)
    }
}
