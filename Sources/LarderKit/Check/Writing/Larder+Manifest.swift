internal import Bundles
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
