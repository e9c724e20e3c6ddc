internal import Bundles
package import Crawl
package import Store
internal import System
internal import TUF
internal import Web

extension ManifestSource {
    /// Loads the targets of a TUF repository for a check. Continues from the metadata that is stored with a site of the
    /// repository, but stores nothing: a check changes nothing that later runs depend on.
    ///
    /// - Throws: `LarderError` of kind `.refused` if the metadata is not trusted, `.input` if there is no trusted root.
    init(
        _ location: TUFLocation, named place: String, nearestZone: NetworkZone, options: CheckOptions,
        folder: StoreFolder, interruption: Interruption
    ) throws(LarderError) {
        let plan = ManifestPlan(place: place, base: options.bases.first, format: options.format)
        var sites: [Site] = []
        if folder.exists {
            do throws(StoreError) { sites = try StoreReader(folder).sites() } catch
                where error.reason == .missing
            {
                // A folder without a database stores no sites.
            } catch {
                throw LarderError(error)
            }
        }
        guard !options.readsManifestFromStore else {
            guard
                let site = sites.first(where: {
                    SitePlan(text: $0.settings).manifest?.hasSamePlace(as: ManifestPlan(place: place)) == true
                }),
                let stored = try mapStoreError({ () throws(StoreError) in
                    try StoredManifest.current(of: site.name, StoreReader(folder))
                })
            else { throw LarderError(.input, "the targets of \(place) are not stored: preload it first") }
            try self.init(stored, options: options)
            return
        }
        let trust = try TUFTrust.start(
            options.trustedKeys, stored: plan.storedRepository(among: sites), of: place)
        let fetcher = TUFFetcher(options.network, nearestZone: nearestZone, interruption)
        let targets = try TUFManifest(
            location, base: plan.base, trust, fetcher, now: options.secondsSinceEpoch(), save: { _ in })
        try self.init(targets, at: place, fetcher.zone, options: options)
    }
}

extension ManifestPlan {
    /// Returns the trusted metadata that is stored for this repository: that of a site with the same base, else of any site
    /// with the repository. Where the targets are is only known for the same base.
    package func storedRepository(among sites: [Site]) -> RepositoryTrust? {
        let plans = sites.compactMap { SitePlan(text: $0.settings).manifest }.filter {
            $0.hasSamePlace(as: self)
        }
        if let own = plans.first(where: { $0.hasSameLocation(as: self) })?.repository { return own }
        var other = plans.lazy.compactMap(\.repository).first
        other?.usesDigestNames = nil
        return other
    }
}
