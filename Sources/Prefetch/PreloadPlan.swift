internal import Bundles
internal import Check
internal import Crawl
internal import Digest
internal import Store
internal import Web

/// The step to take for each bundle of a manifest, decided from its stored copies without any I/O.
struct PreloadPlan: Sendable, Equatable {
    /// The step to take for a bundle.
    enum Step: Sendable, Equatable {
        /// The site's own snapshot already serves the required body. Makes no request and writes nothing.
        case reuse
        /// The required body is stored, but the site does not serve it from its own snapshot. The next
        /// snapshot does. Makes no request.
        case adopt
        /// The bundle is requested from the origin.
        case fetch(Reason)
    }

    /// The reason why a bundle is fetched.
    enum Reason: Sendable, Equatable {
        /// No response is stored.
        case new
        /// The stored body is a different one.
        case differs
        /// The required body was stored, but its bytes have changed or are gone.
        case damaged
        /// The manifest gives no usable digest, so the stored response is revalidated with the origin.
        case unproven
    }

    /// The stored copies of a bundle.
    struct StoredCopies: Sendable, Equatable {
        /// The body that is served at the bundle's URL; nil if there is none.
        var served: ServedBody?
        /// Whether a snapshot of the bundle's own site serves it.
        var isFromOwnSnapshot = false
        /// Whether a newer snapshot of the site that is not live has another response at the URL, which would
        /// be served once a later snapshot is published.
        var isSuperseded = false
        /// Whether the required body is stored elsewhere. Only determined if the served body does not
        /// suffice.
        var isStoredElsewhere = false

        /// The body that is served, with its known digests.
        struct ServedBody: Sendable, Equatable {
            var digests: [Digest]
            var byteCount: Int
            /// The digests and signatures in the header fields of the response; nil if they are not needed.
            var stated: ResponseIntegrity?
            /// Whether the bytes are stored and, as far as is known, unchanged.
            var isSound = true
        }
    }

    let steps: [Step]
    /// Whether there is nothing to request and nothing to write.
    let isCurrent: Bool

    init(_ bundles: [(bundle: Bundle, copies: StoredCopies)]) {
        let steps = bundles.map { Self.step($0.bundle, $0.copies) }
        let isCurrent = steps.allSatisfy { $0 == .reuse }
        self.isCurrent = isCurrent
        self.steps = zip(steps, bundles).map { step, bundle in
            step == .reuse && bundle.copies.isSuperseded && !isCurrent ? .adopt : step
        }
    }

    /// Decides the step for one bundle.
    static func step(_ bundle: Bundle, _ copies: StoredCopies) -> Step {
        guard bundle.canBeVerified else { return .fetch(copies.served == nil ? .new : .unproven) }
        guard let served = copies.served else { return copies.isStoredElsewhere ? .adopt : .fetch(.new) }
        let finding = bundle.finding(
            knowing: served.digests, byteCount: served.byteCount, served.stated)
        let isRight = finding?.verdict == .verified
        if isRight, served.isSound { return copies.isFromOwnSnapshot ? .reuse : .adopt }
        return copies.isStoredElsewhere ? .adopt : .fetch(isRight ? .damaged : .differs)
    }
}

extension PreloadPlan {
    /// The number of bundles that are looked up with one query of the database.
    private static let bundlesPerQuery = 1000

    /// Creates the plan for the bundles of a manifest from the store.
    ///
    /// - Parameters:
    ///   - site: the site of the manifest; nil if it is not stored yet.
    ///   - provesBytes: whether stored bodies are read and hashed, whatever was computed before.
    static func plan(
        for verifier: ManifestVerifier, of site: Site?, in folder: StoreFolder, provesBytes: Bool
    ) throws(LarderError) -> PreloadPlan {
        let bundles = verifier.bundlesWithURLs
        do throws(StoreError) {
            guard folder.exists else { return PreloadPlan(bundles.map { ($0.bundle, .init()) }) }
            let reader = try StoreReader(folder)
            let finder = try BundleFinder(reader, folder, provesBytes: provesBytes)
            var md5s = KnownMD5s(reader)
            let own = Set(site?.snapshots.map(\.id) ?? [])
            // Responses of an unpublished snapshot are served once a later snapshot is published.
            let hidden = site.flatMap { site in
                site.snapshots.last { $0.id > site.published ?? 0 && !$0.isRejected }?.id
            }
            var storedCopies = [PreloadPlan.StoredCopies](repeating: .init(), count: bundles.count)
            // Sorted as in the store, so that neighbouring rows are read together.
            let hrefs = bundles.map(\.url.href)
            var rest = hrefs.indices.sorted { hrefs[$0] < hrefs[$1] }[...]
            while !rest.isEmpty {
                let batch = rest.prefix(Self.bundlesPerQuery)
                rest = rest.dropFirst(Self.bundlesPerQuery)
                // A transaction for each look-up takes longer than the look-up.
                try reader.inReadTransaction { () throws(StoreError) in
                    let available = try reader.availability(of: batch.map { hrefs[$0] })
                    for index in batch {
                        let (url, bundle) = bundles[index]
                        var copies = PreloadPlan.StoredCopies()
                        if let served = available[hrefs[index]], served.status < 400 {
                            copies.isFromOwnSnapshot = own.contains(served.snapshot)
                            if let hidden, copies.isFromOwnSnapshot {
                                let next = try reader.previewResponse(for: url.href, ifPublished: hidden)
                                copies.isSuperseded = next?.snapshot != served.snapshot
                            }
                            // Only the header fields can verify a body that a key must have signed.
                            let stated =
                                bundle.requiresSignature
                                ? try reader.responseWithBody(at: url)?.0.statedIntegrity : nil
                            if let body = served.body {
                                copies.served = try servedBody(
                                    of: body, isStored: served.isBodyStored, isImported: served.isImported,
                                    bundle, stated, finder, reader, &md5s)
                            } else if let (response, body) = try reader.responseWithBody(at: url) {
                                copies.served = try servedBody(
                                    of: body, isStored: reader.bodies.isStored(body),
                                    isImported: served.isImported || response.isImported, bundle, stated,
                                    finder, reader, &md5s)
                            }
                        }
                        if case .fetch = PreloadPlan.step(bundle, copies), bundle.canBeVerified {
                            copies.isStoredElsewhere = try finder.response(for: url, as: bundle) != nil
                            if !copies.isStoredElsewhere {
                                copies.isStoredElsewhere = try isEqualStored(
                                    to: bundle, at: url, site, finder)
                            }
                        }
                        storedCopies[index] = copies
                    }
                }
            }
            try md5s.store(in: folder)
            return PreloadPlan(zip(bundles, storedCopies).map { ($0.bundle, $1) })
        } catch {
            if error.reason == .missing { return PreloadPlan(bundles.map { ($0.bundle, .init()) }) }
            throw LarderError(error)
        }
    }

    /// Whether the site has the body of a bundle at another URL (`EqualBodies`).
    private static func isEqualStored(
        to bundle: Bundle, at url: WebURL, _ site: Site?, _ finder: BundleFinder
    ) throws(StoreError) -> Bool {
        guard let live = site?.published else { return false }
        return try finder.equalResponse(to: bundle, at: url, inSiteOfSnapshot: live) != nil
    }

    private static func servedBody(
        of body: StoredBody, isStored: Bool, isImported: Bool, _ bundle: Bundle, _ stated: ResponseIntegrity?,
        _ finder: BundleFinder, _ reader: StoreReader, _ md5s: inout KnownMD5s
    ) throws(StoreError) -> PreloadPlan.StoredCopies.ServedBody? {
        guard let sha256 = Digest(.sha256, bytes: body.sha256) else { return nil }
        var version = PreloadPlan.StoredCopies.ServedBody(
            digests: [sha256], byteCount: body.byteCount, stated: stated)
        // An imported body is always hashed: its stored digest is not trusted.
        version.isSound = try isStored ? finder.isSound(body, provesBytes: isImported) : false
        if isImported, version.isSound, let content = try reader.content(of: body) {
            version.digests = try content.measurement(for: bundle, stated).decoded.digests
            return version
        }
        guard version.isSound else { return version }
        let wanted =
            bundle.claims.filter { $0.subject == .decoded }.compactMap(\.algorithm)
            + (stated?.digestAlgorithms ?? [])
        if wanted.contains(.md5), let md5 = try md5s.md5(of: body) { version.digests.append(md5) }
        // The store keeps no other digests.
        if !wanted.allSatisfy({ $0 == .md5 || $0 == .sha256 }), let content = try reader.content(of: body) {
            version.digests = try content.measurement(for: bundle, stated).decoded.digests
        }
        return version
    }
}
