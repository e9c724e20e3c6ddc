internal import Check
internal import Crawl
internal import Fetch
internal import Store
internal import Web

/// TUF repositories in place of manifests.
extension SiteRun {
    /// Updates the trusted metadata of a repository and loads its targets. If the repository cannot be reached or its
    /// metadata has expired, returns the targets that are stored for it, if there are any.
    ///
    /// Each change of the trusted metadata is stored at once with the site, if there is one already, so that a
    /// later failure does not undo the protection against older metadata.
    ///
    /// - Parameters:
    ///   - values: the values of `--trust`: at most the file of a trusted root.
    ///   - now: the start of the update in seconds since 1970.
    /// - Throws: `LarderError` of kind `.refused` if the metadata is not trusted.
    func loadRepository(
        _ location: TUFLocation, _ manifest: ManifestPlan, _ nearestZone: NetworkZone,
        _ network: NetworkOptions,
        trusting values: [String], now: Int64
    ) throws(LarderError) -> LoadedManifest {
        let options = manifest.checkOptions(network)
        let site = site(of: manifest)
        let stored = manifest.storedRepository(among: sites)
        var latest = try TUFTrust.start(values, stored: stored, of: manifest.place)
        var plan = manifest
        // The keys of a manifest that this repository takes the place of.
        plan.trustedKeys = []
        do throws(LarderError) {
            let fetcher = TUFFetcher(network, nearestZone: nearestZone, interruption)
            let targets = try TUFManifest(location, base: manifest.base, latest, fetcher, now: now) {
                (trust) throws(LarderError) in
                latest = trust
                if let site { try store(trust, with: site) }
            }
            plan.repository = targets.trust
            let source = try ManifestSource(targets, at: manifest.place, fetcher.zone, options: options)
            return LoadedManifest(
                verifier: try ManifestVerifier(source, options: options, folder: folder), plan: plan,
                failure: nil, requiresSignature: true, hasNewKeys: stored == nil)
        } catch {
            guard error.kind == .machine || error.isExpired,
                var loaded = try storedVersion(of: manifest, options, error)
            else {
                throw error
            }
            loaded.plan.repository = latest
            loaded.requiresSignature = true
            return loaded
        }
    }

    /// Stores the trusted metadata with the site.
    private func store(_ trust: RepositoryTrust, with site: Site) throws(LarderError) {
        try mapStoreError { () throws(StoreError) in
            // The settings may have changed since the run began.
            let current = try StoreReader(folder).sites().first { $0.name == site.name } ?? site
            var settings = SitePlan(text: current.settings)
            settings.manifest?.repository = trust
            try StoreWriter(folder).storeSettings(settings.text, ofSite: site.name)
        }
    }
}
