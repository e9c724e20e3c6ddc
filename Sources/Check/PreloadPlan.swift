internal import Bundles
internal import Crawl
internal import Digest
package import Store
internal import Web

/// What there is to do about each bundle of a manifest, by what is held of it: a decision without any I/O.
package struct PreloadPlan: Sendable, Equatable {
    package enum Step: Sendable, Equatable {
        /// Readers see it as it has to be, by the site's own snapshot: nothing is asked, and nothing is written.
        case reuse
        /// It is held as it has to be, and the site itself does not show it: it does from the next snapshot on,
        /// and nothing is asked.
        case adopt
        /// The origin is asked.
        case fetch(Reason)
    }

    package enum Reason: Sendable, Equatable {
        /// Nothing of it is held.
        case new
        /// What is held is another one.
        case differs
        /// It is held, and its bytes are not what they were.
        case damaged
        /// No digest says what it has to be: the origin is asked whether it still holds.
        case unproven
    }

    /// What is held of a bundle.
    struct Holding: Sendable, Equatable {
        /// What readers see.
        var shown: Version?
        /// The site itself shows it.
        var isOwn = false
        /// A snapshot that is not served has another one, which would come to light with the next that is.
        var isCovered = false
        /// Other snapshots have it as it has to be. Only looked for where what is shown does not do.
        var isElsewhere = false

        struct Version: Sendable, Equatable {
            var digests: [Digest]
            var byteCount: Int
            /// Its bytes are there and, as far as anybody knows, as they came.
            var isSound = true
        }
    }

    package let steps: [Step]
    /// Nobody has to be asked, and nothing has to be written.
    package let isCurrent: Bool

    init(_ bundles: [(bundle: Bundle, holding: Holding)]) {
        let steps = bundles.map { Self.step($0.bundle, $0.holding) }
        let isCurrent = steps.allSatisfy { $0 == .reuse }
        self.isCurrent = isCurrent
        self.steps = zip(steps, bundles).map { step, bundle in
            step == .reuse && bundle.holding.isCovered && !isCurrent ? .adopt : step
        }
    }

    static func step(_ bundle: Bundle, _ holding: Holding) -> Step {
        guard bundle.isProvable else { return .fetch(holding.shown == nil ? .new : .unproven) }
        guard let shown = holding.shown else { return holding.isElsewhere ? .adopt : .fetch(.new) }
        let isRight = bundle.finding(knowing: shown.digests, byteCount: shown.byteCount)?.verdict == .verified
        if isRight, shown.isSound { return holding.isOwn ? .reuse : .adopt }
        return holding.isElsewhere ? .adopt : .fetch(isRight ? .damaged : .differs)
    }
}

extension PreloadPlan {
    private static let together = 1000

    /// Looks up what is held of a manifest's bundles.
    ///
    /// - Parameters:
    ///   - site: which they are of; nil for one that is not held yet.
    ///   - provesBytes: what is held is read, whatever is known of it.
    package static func plan(
        for gate: BundleGate, of site: Site?, in folder: StoreFolder, provesBytes: Bool
    ) throws(LarderError) -> PreloadPlan {
        let bundles = gate.expected
        do throws(StoreError) {
            guard folder.exists else { return PreloadPlan(bundles.map { ($0.bundle, .init()) }) }
            let reader = try StoreReader(folder)
            let shelf = try BundleShelf(reader, folder, provesBytes: provesBytes)
            var md5s = KnownMD5s(reader)
            let own = Set(site?.snapshots.map(\.id) ?? [])
            // What a snapshot has that was not published comes to light with the next that is.
            let hidden = site.flatMap { site in site.snapshots.last { $0.id > site.published ?? 0 }?.id }
            var held = [PreloadPlan.Holding](repeating: .init(), count: bundles.count)
            // In the store's own order, which reads neighbours together.
            let hrefs = bundles.map(\.url.href)
            var rest = hrefs.indices.sorted { hrefs[$0] < hrefs[$1] }[...]
            while !rest.isEmpty {
                let some = rest.prefix(Self.together)
                rest = rest.dropFirst(Self.together)
                // A transaction for each look-up takes longer than the look-up.
                try reader.steadily { () throws(StoreError) in
                    let shown = try reader.shown(some.map { hrefs[$0] })
                    for index in some {
                        let (url, bundle) = bundles[index]
                        var holding = PreloadPlan.Holding()
                        if let shown = shown[hrefs[index]], shown.status < 400 {
                            holding.isOwn = own.contains(shown.snapshot)
                            if let hidden, holding.isOwn {
                                let next = try reader.response(for: url.href, shownBy: hidden)
                                holding.isCovered = next?.snapshot != shown.snapshot
                            }
                            if let body = shown.body {
                                holding.shown = try version(
                                    of: body, isThere: shown.isThere, isImported: shown.isImported, bundle,
                                    shelf, reader, &md5s)
                            } else if let (response, body) = try reader.answer(at: url) {
                                holding.shown = try version(
                                    of: body, isThere: reader.isThere(body),
                                    isImported: shown.isImported || response.isImported, bundle, shelf,
                                    reader, &md5s)
                            }
                        }
                        if case .fetch = PreloadPlan.step(bundle, holding), bundle.isProvable {
                            holding.isElsewhere = try shelf.response(for: url, as: bundle) != nil
                        }
                        held[index] = holding
                    }
                }
            }
            try md5s.keep(in: folder)
            return PreloadPlan(zip(bundles, held).map { ($0.bundle, $1) })
        } catch {
            if error.reason == .missing { return PreloadPlan(bundles.map { ($0.bundle, .init()) }) }
            throw LarderError(error)
        }
    }

    private static func version(
        of body: StoredBody, isThere: Bool, isImported: Bool, _ bundle: Bundle, _ shelf: BundleShelf,
        _ reader: StoreReader, _ md5s: inout KnownMD5s
    ) throws(StoreError) -> PreloadPlan.Holding.Version? {
        guard let sha256 = Digest(.sha256, bytes: body.sha256) else { return nil }
        var version = PreloadPlan.Holding.Version(digests: [sha256], byteCount: body.byteCount)
        // Of an imported body nothing counts but its bytes as they are now.
        version.isSound = try isThere ? shelf.isSound(body, provesBytes: isImported) : false
        if isImported, version.isSound, let content = try reader.content(of: body) {
            version.digests = try content.measurement(for: bundle).decoded.digests
            return version
        }
        guard version.isSound else { return version }
        let wanted = bundle.claims.filter { $0.subject == .decoded }.compactMap(\.algorithm)
        if wanted.contains(.md5), let md5 = try md5s.md5(of: body) { version.digests.append(md5) }
        // Others are nowhere kept.
        if !wanted.allSatisfy({ $0 == .md5 || $0 == .sha256 }), let content = try reader.content(of: body) {
            version.digests = try content.measurement(for: bundle).decoded.digests
        }
        return version
    }
}
