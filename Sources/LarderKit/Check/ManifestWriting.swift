internal import Bundles
internal import Digest
internal import Fetch
internal import Glibc
internal import Store
internal import System
internal import Web

extension Larder {
    /// Writes down what a site or a build consists of, as a manifest of our form that `check` reads.
    ///
    /// - Parameters:
    ///   - source: a folder; a site that is held, by its name, address or host; or a URL, whose site is fetched into a larder
    ///     that is removed again.
    ///   - types: of a site, only what is of these types.
    ///   - isLive: an URL is fetched even where it is held.
    /// - Throws: `LarderError` of kind `.input` for what is neither a folder, a site nor an URL, `.machine` when the network,
    ///   the store or this machine fails, `.interrupted` when the task is cancelled.
    public func manifest(
        of source: String, types: TypeFilter? = nil, isLive: Bool = false
    ) async throws(LarderError) -> ManifestReport {
        var status = stat()
        if !isLive, stat(source, &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
            let interruption = Interruption()
            return try await Self.onThread("larder-manifest", onCancel: interruption.request) {
                () throws(LarderError) in
                try Self.manifest(ofFolder: source, interruption)
            }
        }
        guard isLive || status.st_mode & S_IFMT != S_IFREG else {
            throw LarderError(.input, "\(source) is a file: name the folder that it is in, or check it as it is")
        }
        if !isLive, folder.exists, let held = try await manifest(ofHeld: source, types) { return held }
        let url = try Self.startURL(source)
        let temporary = try TemporaryLarder()
        defer { temporary.remove() }
        let report = try await temporary.larder.prefetch([url.href])
        guard !report.isInterrupted else { throw .interrupted }
        guard report.isPublished, let manifest = try await temporary.larder.manifest(ofHeld: url.href, types) else {
            let reason = report.missing.first.map { "\($0.url): \($0.reason)" } ?? "no start URL was reached"
            let other = isLive || source.contains("://") ? "" : "; a folder of that name is not there either"
            throw LarderError(
                .machine, "cannot read \(url.href): \(reason); check the address and the network\(other)")
        }
        let missing = report.missing.map { ManifestReport.Skipped(name: $0.url, reason: $0.reason) }
        return ManifestReport(
            text: manifest.text, bundles: manifest.bundles, byteCount: manifest.byteCount,
            skipped: manifest.skipped + missing)
    }

    private static func manifest(
        ofFolder path: String, _ interruption: Interruption
    ) throws(LarderError) -> ManifestReport {
        let files = try FolderFiles(path)
        guard !files.paths.isEmpty || !files.skipped.isEmpty else {
            throw LarderError(.input, "\(path) has no files: name the folder that the build wrote")
        }
        let found = WorkTeam.share(files.paths.count, named: "larder-files", interruption) { next, give in
            while let number = next() {
                let name = files.paths[number]
                let content = BodyContent.file(path: path + "/" + name)
                give(
                    number,
                    Result { () throws(StoreError) in try Bundle(PathReference.reference(to: name), of: content) })
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
        return ManifestReport(manifest, skipped: skipped)
    }

    /// Nil when the larder holds no such site.
    private func manifest(ofHeld name: String, _ types: TypeFilter?) async throws(LarderError) -> ManifestReport? {
        let folder = folder
        return try await Self.onThread("larder-manifest") { () throws(LarderError) in
            do throws(StoreError) {
                let reader = try StoreReader(folder)
                let sites = try reader.sites()
                guard let place = SiteName.place(of: name, among: sites.map(\.name)) else { return nil }
                return try HeldSite(sites[place], types).manifest(reader, folder)
            } catch {
                throw LarderError(error)
            }
        }
    }
}

/// A manifest that was written, and of what.
public struct ManifestReport: Sendable, Equatable {
    /// JSON of our own form, with a line feed at its end.
    public let text: String
    public let bundles: Int
    public let byteCount: Int64
    /// What was found and could not be listed, with the reason.
    public let skipped: [Skipped]

    public struct Skipped: Sendable, Equatable {
        public let name: String
        public let reason: String
    }
}

/// What a held site consists of, as a manifest lists it.
struct HeldSite {
    private let site: Site
    private let types: TypeFilter?

    init(_ site: Site, _ types: TypeFilter?) {
        self.site = site
        self.types = types
    }

    /// Its MD5s are computed where nobody did before, and kept.
    func manifest(_ reader: StoreReader, _ folder: StoreFolder) throws(StoreError) -> ManifestReport {
        let base = WebURL(site.name)
        var hrefs: [String] = []
        try reader.eachListed(site: site.id) { row in
            if row.byteCount != nil, row.status < 300, types?.matches(row.type) ?? true { hrefs.append(row.href) }
            return true
        }
        var manifest = Manifest()
        manifest.site = site.name
        manifest.start = site.start
        var skipped: [ManifestReport.Skipped] = []
        var md5s = KnownMD5s(reader)
        for href in hrefs {
            guard let body = try reader.response(for: href)?.body, let sha256 = Digest(.sha256, bytes: body.sha256),
                let md5 = try md5s.md5(of: body)
            else {
                skipped.append(.init(name: href, reason: "its bytes are gone or cut short; see: larder fsck"))
                continue
            }
            manifest.bundles.append(
                Bundle(reference: Self.reference(to: href, base), digests: [md5, sha256], byteCount: body.byteCount))
        }
        try md5s.keep(in: folder)
        return ManifestReport(manifest, skipped: skipped)
    }

    /// What is on the site's own origin moves with it: staging has the same paths.
    private static func reference(to href: String, _ base: WebURL?) -> String {
        guard let url = WebURL(href), url.origin == base?.origin else { return href }
        // A path that begins with two slashes would name a host.
        return url.target.hasPrefix("//") ? href : url.target
    }
}

/// A larder that is gone when it is done with.
struct TemporaryLarder {
    let larder: Larder

    /// - Throws: `LarderError` of kind `.machine` when there is no place for it.
    init() throws(LarderError) {
        do throws(SystemError) {
            larder = Larder(at: try Folder.makeTemporary(named: "larder"))
        } catch {
            throw LarderError(error)
        }
    }

    func remove() {
        Folder.remove(larder.path)
    }
}

extension Bundle {
    /// Reads a body once for both digests.
    init(_ reference: String, of content: BodyContent) throws(StoreError) {
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
    init(_ manifest: Manifest, skipped: [Skipped]) {
        self.init(
            text: manifest.json, bundles: manifest.bundles.count,
            byteCount: manifest.bundles.reduce(0) { $0 + Int64($1.byteCount ?? 0) }, skipped: skipped)
    }
}
