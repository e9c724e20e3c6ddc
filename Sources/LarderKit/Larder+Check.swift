internal import Check
internal import Fetch
internal import Glibc
internal import Reports
internal import Store
internal import System
internal import Web

extension Larder {
    /// Compares every bundle of a manifest with the digests that it gives, at every place that is asked for.
    ///
    /// - Parameter manifest: the path of a file, or an http or https URL.
    /// - Throws: `LarderError` of kind `.input` for a manifest that is not there or says what it must not,
    ///   `.machine` when the store or this machine fails, `.interrupted` when the task is cancelled. A bundle
    ///   that differs or is missing is no error; it is in the report, as is a manifest that its server does
    ///   not give.
    public func check(
        _ manifest: String, options: CheckOptions = CheckOptions()
    ) async throws(LarderError) -> CheckReport {
        let folder = folder
        let interruption = Interruption()
        return try await Self.onThread("larder-check", onCancel: interruption.request) {
            () throws(LarderError) in
            try BundleCheck.report(on: manifest, options, in: folder, interruption, by: .localUser)
        }
    }

    /// Proves that a site can be had offline: walks from its start everything that its pages need, by the
    /// links as they are kept, and compares every body with its size and SHA-256. What is missing is told
    /// with the pages that lead to it, and apart from what the site itself says is gone. Opens no socket.
    /// What is damaged is marked: the next who fetches loads it again.
    ///
    /// - Parameter site: by its name, its address or its host.
    /// - Throws: `LarderError` of kind `.input` when the larder does not hold the site, `.machine` when there
    ///   is no larder, or it cannot be read, `.interrupted` when the task is cancelled.
    public func checkOffline(
        _ site: String, options: OfflineCheckOptions = OfflineCheckOptions()
    ) async throws(LarderError) -> CheckReport {
        try await checkOffline(site, options: options, hidesPrivate: false)
    }

    /// - Parameter hidesPrivate: Responses that were fetched with credentials do not exist for the report.
    func checkOffline(
        _ site: String, options: OfflineCheckOptions = OfflineCheckOptions(), hidesPrivate: Bool
    ) async throws(LarderError) -> CheckReport {
        let larder = self
        let interruption = Interruption()
        return try await Self.onThread("larder-offline", onCancel: interruption.request) {
            () throws(LarderError) in
            let report = try OfflineCheck.report(
                onSite: site, options, in: larder.folder, hidesPrivate: hidesPrivate, interruption)
            guard let showing = options.showing else { return report }
            return try OfflineShow(larder, site: report.name, showing).adding(to: report, interruption)
        }
    }

    /// Writes down what a site or a build consists of, as a manifest of our form that `check` reads.
    ///
    /// - Parameters:
    ///   - source: a folder; a site that is held, by its name, address or host; or a URL, whose site is
    ///     fetched into a larder that is removed again.
    ///   - types: of a site, only what is of these types.
    ///   - isLive: an URL is fetched even where it is held.
    /// - Throws: `LarderError` of kind `.input` for what is neither a folder, a site nor an URL, `.machine`
    ///   when the network, the store or this machine fails, `.interrupted` when the task is cancelled.
    public func manifest(
        of source: String, types: TypeFilter? = nil, isLive: Bool = false
    ) async throws(LarderError) -> ManifestReport {
        var status = stat()
        if !isLive, stat(source, &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
            let interruption = Interruption()
            return try await Self.onThread("larder-manifest", onCancel: interruption.request) {
                () throws(LarderError) in
                try ManifestReport(ofFolder: source, interruption)
            }
        }
        guard isLive || status.st_mode & S_IFMT != S_IFREG else {
            throw LarderError(
                .input, "\(source) is a file: name the folder that it is in, or check it as it is")
        }
        if !isLive, folder.exists, let held = try await manifest(ofHeld: source, types) { return held }
        let url = try WebURL.start(source)
        let temporary = try TemporaryLarder()
        defer { temporary.remove() }
        var options = PrefetchOptions()
        options.indexes = false
        let report = try await temporary.larder.prefetch([url.href], options: options)
        guard !report.isInterrupted else { throw .interrupted }
        guard report.isPublished, let manifest = try await temporary.larder.manifest(ofHeld: url.href, types)
        else {
            let reason = report.missing.first.map { "\($0.url): \($0.reason)" } ?? "no start URL was reached"
            let other = isLive || source.contains("://") ? "" : "; a folder of that name is not there either"
            throw LarderError(
                .machine, "cannot read \(url.href): \(reason); check the address and the network\(other)")
        }
        let missing = report.missing.map { ManifestReport.Skipped(name: $0.url, reason: $0.reason) }
        return manifest.adding(skipped: missing)
    }

    /// Nil when the larder holds no such site.
    private func manifest(ofHeld name: String, _ types: TypeFilter?) async throws(LarderError)
        -> ManifestReport?
    {
        try await reading("larder-manifest") { (reader) throws(StoreError) in
            let sites = try reader.sites()
            guard let place = SiteName.place(of: name, among: sites.map(\.name)) else { return nil }
            return try ManifestReport(ofHeld: sites[place], types, reader)
        }
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
