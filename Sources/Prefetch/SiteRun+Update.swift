internal import Bundles
package import Check
internal import Crawl
internal import Digest
internal import Store
package import Updates
package import Web

/// Applying an update file: a preload whose manifest and bundles come from the file and from the store, without any request.
extension SiteRun {
    /// Applies an update file. The set goes live only as a whole.
    ///
    /// - Throws: `LarderError` of kind `.refused` for a damaged file, `.input` if its site is unknown.
    package func preload(
        updateFile path: String, _ options: PreloadOptions, by principal: Principal
    ) throws(LarderError) -> PreloadReport {
        let update = try mapUpdateError { () throws(UpdateError) in try UpdateReader(path) }
        var (site, plan) = try target(of: update, options)
        plan.hasAssets = plan.hasAssets && options.includesAssets
        return try preload(plan, named: path, options, by: principal, from: update, ofSite: site)
    }

    /// The error of a command that would load the manifest of a site again, which came in an update file.
    static func updateFilesError(_ site: String) -> LarderError {
        LarderError(.input, updateFilesText(site))
    }

    /// The text for a site whose manifest came in an update file: why it cannot be updated from its origin, and what to do.
    package static func updateFilesText(_ site: String) -> String {
        "\(site) is updated by update files: apply the next one with: larder preload FILE"
    }

    /// Returns the name of the site that the update belongs to, and the site's stored plan. So the keys of that site and the
    /// age of its manifest decide, and later runs load its manifest from the place that they used before. For a new site,
    /// the plan is new.
    func target(
        of update: UpdateReader, _ options: PreloadOptions
    ) throws(LarderError) -> (site: String, plan: ManifestPlan) {
        var new = ManifestPlan(place: ManifestPlan.absoluteLocation(of: update.path), base: options.base)
        new.isUpdateFile = true
        let checkOptions = new.checkOptions()
        // The manifest is not verified yet. It only chooses the site whose keys then verify it.
        let source = try ManifestSource(
            inUpdate: update.manifest, at: new.place, .publicNetwork, signer: nil, options: checkOptions)
        let name: String
        var foundBase: String?
        if let declared = source.manifest.site {
            name = try WebURL.start(declared, allowsSingleWord: true).href
        } else if source.bases[0].url == nil,
            let first = update.list.files.first(where: { $0.base != nil })?.base
        {
            guard let found = try siteWithBody(first) else {
                throw LarderError(
                    .input,
                    "the update file \(update.path) does not name its site, and no stored site has \(first.url) as the update expects it: "
                        + "name the URL of its files, or apply the earlier updates first", remedy: .base)
            }
            (name, foundBase) = (found.site, found.base)
        } else {
            let verifier = try ManifestVerifier(source, options: checkOptions, folder: folder)
            name =
                if let start = try verifier.startURLs().first { start.href } else {
                    try verifier.defaultSite().key.href
                }
        }
        guard let known = storedPlan(of: name)?.manifest else { return (name, new) }
        guard known.repository == nil else {
            throw LarderError(
                .refused,
                "the update file \(update.path) is refused: \(name) belongs to the TUF repository \(known.place), whose metadata an "
                    + "update file does not have: preload it from there")
        }
        let named = try ManifestTrust(options.trustedKeys, storedKeys: known.trustedKeys)
        let stored = try ManifestTrust([], storedKeys: known.trustedKeys)
        let acceptsOthers = !named.requiresSignature || !named.signers.isSubset(of: stored.signers)
        if known.requiresSignature, acceptsOthers {
            // The update itself says to which site it belongs. `resolveSite` decides whether other keys may count for that.
            var plan = new
            plan.accepted = known.accepted
            return (name, plan)
        }
        var plan = known
        plan.format = nil
        plan.base = options.base ?? known.base ?? foundBase
        return (name, plan)
    }

    /// Refuses an update of a mirrored site that it does not name, such as one of an app at the same origin: an update has
    /// all files of its site, so the pages would be gone.
    func requireNoPages(
        of site: WebURL, _ verifier: ManifestVerifier, _ update: UpdateReader
    ) throws(LarderError) {
        // An update between folders names the base of its files, which may be that of an app on the site.
        let start = try verifier.startURLs()
        guard verifier.site == nil || start.isEmpty, let known = storedPlan(of: site.href),
            known.manifest?.isAlone != true
        else { return }
        throw LarderError(
            .refused,
            "the update file \(update.path) is refused: \(site.href) has pages of its own, which the update would remove, and the "
                + "update does not name it: apply it in another store, or remove the site first"
        )
    }

    /// Returns the name of the site with a manifest whose bundle at the URL of a base has its bytes, and the base of its URLs;
    /// nil if there is none or more than one.
    private func siteWithBody(
        _ base: UpdateList.Base
    ) throws(LarderError) -> (site: String, base: String?)? {
        guard folder.exists else { return nil }
        var found: [(site: String, base: String?)] = []
        for site in sites {
            guard let plan = storedPlan(of: site.name)?.manifest, plan.repository == nil,
                let stored = try storedManifest(of: site.name)
            else { continue }
            let source = try ManifestSource(stored, of: plan)
            guard let url = WebURL(base.url, base: source.bases[0].url) else { continue }
            let hasBody = try mapStoreError { () throws(StoreError) in
                try StoreReader(folder).versions(of: url.key.href).contains {
                    $0.site == site.name && $0.response.body?.sha256 == base.blob.sha256.bytes
                }
            }
            if hasBody { found.append((site.name, source.bases[0].url?.href)) }
        }
        return found.count == 1 ? found[0] : nil
    }

    /// The version of the release that is live; nil if the site is not stored, or its manifest has none.
    func storedVersion(ofSite name: String) throws(LarderError) -> String? {
        guard folder.exists, let plan = storedPlan(of: name)?.manifest,
            let stored = try storedManifest(of: name)
        else { return nil }
        return try ManifestSource(stored, of: plan).manifest.version
    }

    /// Returns the manifest of an update, after its signature and age have been verified.
    ///
    /// - Parameters:
    ///   - manifest: the plan of its site.
    ///   - names: the keys that the caller names; if empty, those that are stored with the site apply.
    func loadManifest(
        in update: UpdateReader, _ manifest: ManifestPlan, _ nearestZone: NetworkZone,
        trusting names: [String], _ rules: ManifestAgeRules
    ) throws(LarderError) -> LoadedManifest {
        var checkOptions = manifest.checkOptions()
        let storedKeys = manifest.trustedKeys
        checkOptions.trust = try ManifestTrust(names, storedKeys: storedKeys)
        let signer = try update.requireSignature(checkOptions.trust)
        let place = manifest.isUpdateFile ? ManifestPlan.absoluteLocation(of: update.path) : manifest.place
        let source = try ManifestSource(
            inUpdate: update.manifest, at: place, nearestZone, signer: signer, options: checkOptions)
        var plan = manifest
        plan.trustedKeys =
            checkOptions.trust.acceptsNamedKey
            ? signer.map { [$0.key] } ?? [] : checkOptions.trust.storedTexts
        let age = source.age
        let warning: String?
        do throws(LarderError) {
            warning = try source.requireCurrent(
                age, after: manifest.accepted, trustedSigners: Set(plan.trustedKeys), rules)
        } catch {
            // Else the message names the place from which the site otherwise loads its manifest.
            throw manifest.isUpdateFile ? error : error.addingClause(update.path)
        }
        return LoadedManifest(
            verifier: try ManifestVerifier(source, options: checkOptions, folder: folder), plan: plan,
            failure: nil, age: age, warning: warning, requiresSignature: checkOptions.trust.requiresSignature,
            hasNewKeys: plan.trustedKeys != storedKeys)
    }
}

extension UpdateReader {
    /// Verifies the signature of the list, and that of the manifest in it.
    ///
    /// - Returns: the trusted key that signed it; nil if none is required.
    /// - Throws: `LarderError` of kind `.refused` if it does not have the required signature.
    func requireSignature(_ trust: ManifestTrust) throws(LarderError) -> ManifestSigner? {
        let found =
            if let signature {
                ManifestTrust.FoundSignature.text(signature, of: listBytes)
            } else {
                ManifestTrust.FoundSignature.missing("it contains no update.json.minisig")
            }
        let unverified = try? Manifest(manifest, file: "manifest.json")
        do throws(ManifestRefusal) {
            var signer = try trust.verify(found, as: "update.json", namedKey: unverified?.key)
            // The manifest is stored without the list, and its own signature is verified again later.
            if signer != nil, let own = unverified?.signature {
                signer = try trust.verify(
                    .text(own.signature.text, of: own.signedBytes(of: manifest)), as: "manifest.json",
                    namedKey: unverified?.key)
            }
            return signer
        } catch {
            let place = "in \(path)"
            throw LarderError(error, of: place, trust)
        }
    }
}

extension LarderError {
    package init(_ error: UpdateError) {
        let kind: Kind =
            switch error.kind {
            case .input: .input
            case .refused: .refused
            case .machine: .machine
            case .interrupted: .interrupted
            }
        self.init(kind, error.description)
    }
}

/// Runs `body` and turns its `UpdateError` into a `LarderError`.
package func mapUpdateError<Value>(_ body: () throws(UpdateError) -> Value) throws(LarderError) -> Value {
    do throws(UpdateError) { return try body() } catch { throw LarderError(error) }
}
