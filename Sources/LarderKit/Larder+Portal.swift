internal import Check
internal import Crawl
internal import Digest
internal import Mirror
internal import Portal
internal import Reports
internal import Store
internal import Web

extension Larder {
    /// Changes the settings of a site for its next update.
    func changeSettings(of site: String, to form: SiteSettingsForm) async throws(LarderError) {
        try await readStore("larder-settle") { (reader) throws(StoreError) in
            let storedSite = try SiteName.site(site, in: reader.sites())
            var plan = SitePlan(text: storedSite.settings)
            form.apply(to: &plan)
            plan.scope.include = form.include
            plan.scope.exclude = form.exclude
            plan.scope.depth = form.depth
            plan.maxPages = form.maxPages
            plan.connectionsPerHost = form.connectionsPerHost
            (plan.tags, plan.note, plan.title) = (form.tags, form.note, form.title)
            let writer = try StoreWriter(reader.folder)
            try writer.storeSettings(plan.text, ofSite: storedSite.name)
            // Lists of sites show the stored counts, and the page of the site follows the links: both must agree.
            let fresh = try StoreReader(reader.folder)
            if let changed = try fresh.sites().first(where: { $0.name == storedSite.name }),
                let live = changed.name(ofSnapshot: changed.published)?.number,
                let index = plan.missing.lastIndex(where: { $0.snapshot == live }),
                let needs = try OfflineCheck.needs(of: changed, limit: Self.maxRecountedURLs, fresh)
            {
                plan.missing[index].broken = needs.counts.broken
                plan.missing[index].failed = needs.counts.failed
                try writer.storeSettings(plan.text, ofSite: storedSite.name)
            }
            if let updateInterval = form.updateInterval {
                try writer.storeSchedule(UpdateSchedule(updateInterval), ofSite: storedSite.name)
            }
        }
    }

    /// The maximum number of URLs that are visited to count missing ones again after a change of settings. Larger sites keep
    /// the counts of their last update.
    private static let maxRecountedURLs = 20_000

    /// Sets the password with which other machines open the portal of a server that listens beyond loopback. The
    /// store contains only its scrypt hash, in a file that no other user may read.
    ///
    /// ```swift
    /// try larder.setPortalPassword("correct horse battery staple")
    /// ```
    ///
    /// - Throws: `LarderError` of kind `.input` if the password has fewer than eight characters or more than 1,024
    ///   bytes, `.machine` if it cannot be stored.
    public func setPortalPassword(_ password: String) throws(LarderError) {
        guard password.unicodeScalars.count >= 8 else {
            throw LarderError(.input, "the password is too short; use eight characters or more")
        }
        guard password.utf8.count <= 1024 else {
            throw LarderError(.input, "the password is too long; use 1,024 bytes or less")
        }
        guard let hash = PasswordHash(password) else {
            throw LarderError(
                .machine, "cannot hash the password: out of memory; end other programs, then try again")
        }
        try mapStoreError { () throws(StoreError) in try folder.storePortalPassword(hash.text) }
    }

    /// Removes the password. Other machines can no longer open the portal.
    ///
    /// - Returns: Whether there was a password.
    /// - Throws: `LarderError` of kind `.machine` if it cannot be removed.
    @discardableResult
    public func forgetPortalPassword() throws(LarderError) -> Bool {
        try mapStoreError { () throws(StoreError) in try folder.removePortalPassword() }
    }
}

extension SiteSettingsForm {
    /// Applies the fields of the form that are filled in to a plan.
    func apply(to plan: inout SitePlan) {
        if let extent = scope.flatMap(SiteExtent.init) { plan.scope.extent = extent }
        if let depth { plan.scope.depth = depth }
        if let maxPages { plan.maxPages = maxPages }
        if let connectionsPerHost { plan.connectionsPerHost = connectionsPerHost }
        if let robots = robots.flatMap(RobotsPolicy.init) { plan.robots = robots }
        if let mode = render.flatMap(RenderMode.init) {
            var settings = plan.render ?? RenderSettings()
            settings.mode = mode
            plan.render = settings
        }
        if !include.isEmpty { plan.scope.include = include }
        if !exclude.isEmpty { plan.scope.exclude = exclude }
    }
}
