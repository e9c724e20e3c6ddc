internal import Check
internal import Fetch
internal import Glibc
internal import Prefetch
internal import Reports
internal import Store
internal import System
internal import Updates
internal import Web

extension Larder {
    /// Compares every bundle of a manifest with its digests, at every place that the options name.
    ///
    /// If `manifest` is an update file, the file itself is verified: its structure, its digests, and its signature if a key is
    /// known. If the only place is `stored`, `manifest` may also be the name of a site that is updated by such files, which
    /// checks the manifest of the last one.
    ///
    /// - Parameter manifest: the path of a file, or an http or https URL.
    /// - Throws: `LarderError` of kind `.input` if the manifest does not exist or is invalid, `.machine` if the store
    ///   or this machine fails, `.interrupted` if the task is cancelled. A bundle that differs or is missing, and a
    ///   manifest that its server does not deliver, are results in the report.
    public func check(
        _ manifest: String, options: CheckOptions = CheckOptions()
    ) async throws(LarderError) -> CheckReport {
        if UpdateReader.isUpdateFile(manifest) {
            return try await runSite { (run) throws(LarderError) in
                try run.check(
                    updateFile: manifest, trusting: options.trustedKeys, failsOn: options.failsOn)
            }
        }
        let folder = folder
        let interruption = Interruption()
        return try await Self.runOnThread("larder-check", onCancel: interruption.request) {
            () throws(LarderError) in
            try BundleCheck.report(on: manifest, options, in: folder, interruption, by: .localUser)
        }
    }

    /// Proves that a site is complete offline: follows the stored links from its start URLs to everything that its
    /// pages need, and compares every body with its size and SHA-256.
    ///
    /// Missing URLs are reported with the pages that link to them, separately from those that the site itself reports
    /// as gone. Makes no network requests. Damaged bodies are marked, so that the next prefetch loads them again.
    ///
    /// - Parameter site: the site's name, URL or host.
    /// - Throws: `LarderError` of kind `.input` if there is no such site, `.machine` if there is no store, or it
    ///   cannot be read, `.interrupted` if the task is cancelled.
    public func checkOffline(
        _ site: String, options: OfflineCheckOptions = OfflineCheckOptions()
    ) async throws(LarderError) -> CheckReport {
        try await checkOffline(site, options: options, hidesPrivate: false)
    }

    /// - Parameter hidesPrivate: leaves out responses that were fetched with credentials, as if they were not stored.
    func checkOffline(
        _ site: String, options: OfflineCheckOptions = OfflineCheckOptions(), hidesPrivate: Bool
    ) async throws(LarderError) -> CheckReport {
        let larder = self
        let interruption = Interruption()
        return try await Self.runOnThread("larder-offline", onCancel: interruption.request) {
            () throws(LarderError) in
            var report = try OfflineCheck.report(
                onSite: site, options, in: larder.folder, hidesPrivate: hidesPrivate, interruption)
            report.requires = options.requires
            let show = try OfflinePageCheck(
                larder, site: report.name, hidesPrivate: hidesPrivate, options)
            return try show.adding(to: report, interruption)
        }
    }

    /// Describes a site or a build as a manifest, which `check` reads.
    ///
    /// - Parameters:
    ///   - source: a folder; a stored site, by its name, URL or host; or a URL, whose site is then fetched into a
    ///     temporary store.
    ///   - types: for a site, only responses of these types.
    ///   - isLive: fetches a URL even if its site is stored.
    ///   - options: the format, and facts that the manifest contains besides the files.
    /// - Throws: `LarderError` of kind `.input` if the options contradict each other or the source is not a folder, a site or a URL, `.machine` if the
    ///   network, the store or this machine fails, `.interrupted` if the task is cancelled.
    public func manifest(
        of source: String, types: TypeFilter? = nil, isLive: Bool = false,
        options: ManifestOptions = ManifestOptions()
    ) async throws(LarderError) -> ManifestReport {
        try options.validate()
        var status = stat()
        if !isLive, stat(source, &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
            let interruption = Interruption()
            return try await Self.runOnThread("larder-manifest", onCancel: interruption.request) {
                () throws(LarderError) in
                try ManifestReport(ofFolder: source, options, interruption)
            }
        }
        guard isLive || status.st_mode & S_IFMT != S_IFREG else {
            throw LarderError(
                .input, "\(source) is a file; name its folder, or check the file itself with: larder check")
        }
        if !isLive, folder.exists, let stored = try await manifest(ofStoredSite: source, types, options) {
            return stored
        }
        let isWord = !source.utf8.contains { ".:/".utf8.contains($0) }
        guard isLive || !isWord || (try? WebURL.parseUserInput(source)) != nil else {
            throw LarderError(
                .input, "there is no folder \(source): name a folder, a stored site, or a URL to fetch")
        }
        let url = try WebURL.start(source)
        let temporary = try TemporaryStore()
        defer { temporary.remove() }
        var prefetch = PrefetchOptions()
        prefetch.indexes = false
        let report = try await temporary.larder.prefetch([url.href], options: prefetch)
        guard !report.isInterrupted else { throw .interrupted }
        guard report.isPublished,
            let manifest = try await temporary.larder.manifest(ofStoredSite: url.href, types, options)
        else {
            let reason =
                report.missing.first.map { "\($0.url): \($0.reason)" } ?? "no start URL could be loaded"
            let other = isLive || source.contains("://") ? "" : "; there is no folder of that name either"
            throw LarderError(
                .machine, "cannot read \(url.href): \(reason); check the address and the network\(other)")
        }
        let missing = report.missing.map { ManifestReport.Skipped(name: $0.url, reason: $0.reason) }
        return manifest.adding(skipped: missing)
    }

    /// The manifest of a stored site; nil if there is no such site.
    private func manifest(
        ofStoredSite name: String, _ types: TypeFilter?, _ options: ManifestOptions
    ) async throws(LarderError) -> ManifestReport? {
        try await readStore("larder-manifest") { (reader) throws(StoreError) in
            let sites = try reader.sites()
            guard let place = SiteName.index(of: name, among: sites.map(\.name)) else { return nil }
            return try ManifestReport(ofStoredSite: sites[place], types, options, reader)
        }
    }
}

/// A store in a temporary folder, which its owner removes.
struct TemporaryStore {
    let larder: Larder

    /// - Throws: `LarderError` of kind `.machine` if the folder cannot be created.
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
