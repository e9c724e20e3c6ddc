internal import Bundles
internal import Check
internal import Crawl
internal import Digest
internal import Fetch
internal import Glibc
internal import Store
internal import Web

/// The manifest of a run: loading and verifying it, and finding the site that it belongs to.
extension SiteRun {
    /// The manifest that applies to a run.
    struct LoadedManifest {
        let verifier: ManifestVerifier
        /// The location of the manifest, with the keys that are stored with its site from now on: those that accepted it.
        var plan: ManifestPlan
        /// Why the manifest could not be loaded, so that the stored version applies; nil if it was loaded.
        var failure: LarderError?
        /// The age of the manifest, which is stored with the site once a snapshot with it is live; nil if the stored version
        /// applies.
        var age: ManifestAge?
        /// Why the time of the manifest does not fit the clock of this machine; nil if it does.
        var warning: String?
        /// Whether keys are trusted. Only the stored version of a manifest may then have no signature: it was stored
        /// before.
        var requiresSignature = false
        /// Whether the trusted keys differ from those that are stored.
        var hasNewKeys = false
    }

    /// Loads a manifest for a run that fetches pages too. A manifest that is refused ends the run before anything else is
    /// requested: its server, or someone on the way to it, cannot be trusted now.
    ///
    /// - Throws: `LarderError` of kind `.refused` that says what stays live.
    func loadAcceptedManifest(
        _ manifest: ManifestPlan, _ nearestZone: NetworkZone, _ options: PrefetchOptions, isNew: Bool = false
    ) throws(LarderError) -> LoadedManifest {
        let loaded: LoadedManifest
        do throws(LarderError) {
            loaded = try loadManifest(
                manifest, nearestZone, options.network, trusting: options.trustedKeys,
                options.manifestAgeRules,
                isNew: isNew)
        } catch  where error.kind == .refused {
            throw error.addingClause(liveSetText(of: manifest))
        }
        if let failure = loaded.failure, loaded.requiresSignature, loaded.verifier.signer == nil {
            throw failure.addingClause(
                "the stored manifest has no signature, so that it does not take the place of the current one"
            )
        }
        guard options.requiresStrongDigests else { return loaded }
        let weak = loaded.verifier.weakBundles
        guard let first = weak.first else { return loaded }
        let others = weak.count > 1 ? " and \(weak.count - 1) more" : ""
        throw LarderError(
            .refused,
            "the manifest \(manifest.place) is refused: \(first.url)\(others): \(first.reason), but SHA-256 or better is "
                + "required: have its publisher list such digests"
        ).addingClause(liveSetText(of: manifest))
    }

    /// The beginning of a message about a refused manifest: the snapshot that stays live.
    private func liveSetText(of manifest: ManifestPlan) -> String {
        liveSetText(ofSite: site(of: manifest)?.name)
    }

    func liveSetText(ofSite name: String?) -> String {
        guard let site = sites.first(where: { $0.name == name }),
            let live = site.snapshots.first(where: { $0.id == site.published })
        else { return "nothing was fetched" }
        return "snapshot \(live.number) of \(site.name) stays live"
    }

    /// The stored site of a manifest; nil if there is none.
    func site(of manifest: ManifestPlan) -> Site? {
        sites.first { storedPlan(of: $0.name)?.manifest?.hasSameLocation(as: manifest) ?? false }
    }

    /// Loads a manifest, and verifies its signature if keys are trusted, and its age. If it cannot be loaded or has expired,
    /// returns the manifest that is stored for the same place, if there is one.
    ///
    /// The stored manifest was verified before it was stored, and is not verified again.
    ///
    /// - Parameters:
    ///   - nearestZone: the nearest network zone that the request for it may connect to.
    ///   - names: the keys that the caller names; if empty, those that are stored with the site apply.
    ///   - rules: how its age is judged.
    ///   - isNew: whether the user named the manifest. An invalid one is then an error, and the stored one is
    ///     not used in its place.
    /// - Throws: the reason why loading failed, if no manifest is stored, or if the manifest is refused.
    func loadManifest(
        _ manifest: ManifestPlan, _ nearestZone: NetworkZone, _ network: NetworkOptions,
        trusting names: [String], _ rules: ManifestAgeRules, isNew: Bool = false
    ) throws(LarderError) -> LoadedManifest {
        guard !manifest.isUpdateFile else {
            throw Self.updateFilesError(site(of: manifest)?.name ?? manifest.place)
        }
        if let location = TUFLocation(manifest.place) {
            return try loadRepository(
                location, manifest, nearestZone, network, trusting: names, now: rules.secondsSinceEpoch())
        }
        var manifest = manifest
        manifest.accepted = manifest.lastAccepted(among: sites)
        var checkOptions = manifest.checkOptions(network)
        let storedKeys = manifest.storedKeys(among: sites.compactMap { SitePlan(text: $0.settings).manifest })
        let trust = try ManifestTrust(names, storedKeys: storedKeys)
        checkOptions.trust = trust
        checkOptions.secondsSinceEpoch = rules.secondsSinceEpoch
        let site = site(of: manifest)
        let current = try site.flatMap { (site) throws(LarderError) in try storedManifest(of: site.name) }
        checkOptions.expoUpdate = ExpoUpdate(current, manifest, trust)
        if let site, let current, !rules.allowsRollback {
            checkOptions.announcedRelease = try announcedRelease(of: current, site, manifest, trust)
        }
        do throws(LarderError) {
            let source = try ManifestSource(
                manifest.place, nearestZone: nearestZone, options: checkOptions, folder: folder,
                interruption: interruption)
            var plan = manifest
            plan.trustedKeys =
                trust.acceptsNamedKey ? source.signer.map { [$0.key] } ?? [] : trust.storedTexts
            let age = source.age
            let warning = try source.requireCurrent(
                age, after: manifest.accepted,
                trustedSigners: trust.acceptsNamedKey ? Set(plan.trustedKeys) : trust.signers, rules)
            return LoadedManifest(
                verifier: try ManifestVerifier(source, options: checkOptions, folder: folder), plan: plan,
                failure: nil, age: age, warning: warning,
                requiresSignature: trust.requiresSignature,
                hasNewKeys: plan.trustedKeys != storedKeys)
        } catch {
            guard error.kind == .machine || error.isExpired || error.kind == .input && !isNew else {
                throw error
            }
            guard var loaded = try storedVersion(of: manifest, checkOptions, error) else { throw error }
            if error.isUpToDate {
                guard
                    !trust.requiresSignature || trust.signers.contains(loaded.verifier.signer?.key ?? "")
                else {
                    throw error
                }
                loaded.failure = nil
            }
            // Only a verified manifest changes the stored keys.
            loaded.plan.trustedKeys = storedKeys
            loaded.requiresSignature = trust.requiresSignature
            return loaded
        }
    }

    /// Returns the release of the live snapshot, if the manifest comes from an update server.
    private func announcedRelease(
        of stored: StoredManifest, _ site: Site, _ manifest: ManifestPlan, _ trust: ManifestTrust
    ) throws(LarderError) -> AnnouncedRelease? {
        guard let live = site.published, let url = WebURL(manifest.place), url.isHTTP else { return nil }
        let response = try mapStoreError { () throws(StoreError) in
            try StoreReader(folder).response(for: url.key.href, ofSnapshot: live)
        }
        return response.flatMap {
            AnnouncedRelease(stored, at: url, HTTPFields(block: $0.fields.utf8.span), trust)
        }
    }

    /// Returns the version of a manifest that is stored with its site; nil if there is none.
    ///
    /// - Parameter failure: why it is used.
    func storedVersion(
        of manifest: ManifestPlan, _ options: CheckOptions, _ failure: LarderError
    ) throws(LarderError) -> LoadedManifest? {
        guard let site = site(of: manifest), let current = try storedManifest(of: site.name) else {
            return nil
        }
        let source = try ManifestSource(current, options: options)
        return LoadedManifest(
            verifier: try ManifestVerifier(source, options: options, folder: folder), plan: manifest,
            failure: failure)
    }

    /// The manifest that is stored with the live snapshot of a site; nil if there is none.
    func storedManifest(of site: String) throws(LarderError) -> StoredManifest? {
        try mapStoreError { () throws(StoreError) in try StoredManifest.current(of: site, StoreReader(folder))
        }
    }

    /// The site that a manifest belongs to, with its start URLs.
    struct ManifestSite {
        let site: WebURL
        let start: [WebURL]
        var manifest: ManifestPlan
    }

    /// Finds the site of a manifest and its start URLs: those in the manifest, else those of the stored site.
    /// If there are neither, the run starts with the bundles alone.
    ///
    /// - Parameter names: the keys that the caller names.
    /// - Throws: `LarderError` of kind `.refused` if the site trusts keys, but this manifest from another place is not
    ///   signed by one of them.
    func resolveSite(of loaded: LoadedManifest, trusting names: [String]) throws(LarderError) -> ManifestSite
    {
        let (verifier, manifest) = (loaded.verifier, loaded.plan)
        var target = try resolveSite(of: verifier, manifest)
        guard let known = storedPlan(of: target.site.href)?.manifest, known.requiresSignature,
            !known.hasSamePlace(as: manifest) || known.isUpdateFile
        else { return target }
        // Update files of different apps may have the same path, such as on a USB stick.
        // The manifest itself says to which site it belongs. A key that the user trusts for this manifest must not get
        // power over another site by that. With the base, the user names the site, too.
        let namesKey = !names.isEmpty && names != [ManifestTrust.firstUse]
        if namesKey, let base = manifest.base, try WebURL.start(base).key == target.site.key { return target }
        let trust = try ManifestTrust([], storedKeys: known.trustedKeys)
        if let signer = verifier.signer, trust.signers.contains(signer.key) {
            target.manifest.trustedKeys = known.trustedKeys
            return target
        }
        let required =
            known.repository != nil
            ? "belongs to the TUF repository \(known.place)"
            : "accepts only manifests signed by \(trust.names)"
        throw LarderError(
            .refused,
            "the manifest \(manifest.place) is refused: it claims to be that of \(target.site.href), which \(required): if it "
                + "takes the place of \(known.place), name its key and the site",
            remedy: .newManifest(of: target.site.href))
    }

    /// Compares a manifest with the one that its site accepted last, which may have come from another place.
    /// `loadManifest` has only compared it with those of its own place.
    ///
    /// - Throws: `LarderError` of kind `.refused` if it is older.
    func requireCurrent(
        _ loaded: LoadedManifest, _ target: inout ManifestSite, _ rules: ManifestAgeRules
    ) throws(LarderError) {
        guard let age = loaded.age, let last = storedPlan(of: target.site.href)?.manifest?.accepted,
            last != loaded.plan.accepted
        else { return }
        let signers = try ManifestTrust([], storedKeys: target.manifest.trustedKeys).signers
        try loaded.verifier.requireCurrent(age, after: last, trustedSigners: signers, rules)
        target.manifest.accepted = last
    }

    private func resolveSite(
        of verifier: ManifestVerifier, _ manifest: ManifestPlan
    ) throws(LarderError) -> ManifestSite {
        var manifest = manifest
        let named = try verifier.startURLs()
        let site: WebURL
        if let name = verifier.site {
            site = try WebURL.start(name, allowsSingleWord: true)
            try rejectTakeover(of: site, by: manifest)
        } else if let first = named.first {
            site = first
            try rejectTakeover(of: site, by: manifest)
        } else {
            site = try home(of: verifier, manifest)
        }
        if !named.isEmpty { return ManifestSite(site: site, start: named, manifest: manifest) }
        if let stored = sites.first(where: { $0.name == site.href }),
            storedPlan(of: stored.name)?.manifest?.isAlone != true
        {
            var start: [WebURL] = []
            for url in stored.start { start.append(try WebURL.start(url)) }
            if !start.isEmpty { return ManifestSite(site: site, start: start, manifest: manifest) }
        }
        manifest.isAlone = true
        return ManifestSite(site: site, start: [site], manifest: manifest)
    }

    /// Rejects a manifest from another origin that claims a stored site, unless it is already the site's
    /// manifest.
    private func rejectTakeover(of site: WebURL, by manifest: ManifestPlan) throws(LarderError) {
        guard let own = WebURL(manifest.place), own.isHTTP, own.origin != site.origin,
            sites.contains(where: { $0.name == site.href })
        else { return }
        let known = storedPlan(of: site.href)?.manifest
        guard known?.hasSamePlace(as: manifest) != true else { return }
        let before =
            known.map { ", which has another manifest, \($0.place)" }
            ?? ", which is stored without a manifest"
        throw LarderError(
            .input,
            "\(manifest.place) claims to be the manifest of \(site.href)\(before): to use it for that site, name it as a file, or remove the site first"
        )
    }

    /// Returns the site of a manifest that names none: the site that already has this manifest, else the
    /// manifest's home. If another manifest has that site, it is the manifest's own URL, or for a file its
    /// path below the home.
    private func home(of verifier: ManifestVerifier, _ manifest: ManifestPlan) throws(LarderError) -> WebURL {
        if let own = sites.first(where: {
            storedPlan(of: $0.name)?.manifest?.hasSameLocation(as: manifest) ?? false
        }
        ),
            let url = WebURL(own.name)
        {
            return url
        }
        let home = try verifier.defaultSite()
        let path = manifest.place.utf8.split(separator: UInt8(ascii: "/")).map { String($0) ?? "" }
        // Adds folders of the path until the name is free.
        let beside = (1...max(1, path.count)).lazy.compactMap { count in
            WebURL("./" + path.suffix(count).joined(separator: "/"), base: home)
        }
        let own = WebURL(manifest.place).flatMap { $0.isHTTP ? [$0] : nil } ?? Array(beside)
        return ([home] + own).first { !isTaken($0.key, by: manifest) }?.key ?? home
    }

    /// Whether the site has another manifest that still exists. A manifest at a URL counts as existing.
    private func isTaken(_ site: WebURL, by manifest: ManifestPlan) -> Bool {
        guard let known = storedPlan(of: site.href)?.manifest, !known.hasSameLocation(as: manifest) else {
            return false
        }
        // An update file is no place that the manifest is loaded from. The origin of the site may have one now.
        if known.isUpdateFile {
            return !manifest.isUpdateFile && WebURL(manifest.place).map { $0.origin != site.origin } ?? true
        }
        return WebURL(known.place)?.isHTTP ?? false || access(known.place, F_OK) == 0
    }
}
