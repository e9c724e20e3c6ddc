internal import Bundles
internal import Crawl
internal import Store
internal import Synchronization
internal import Web

/// A manifest as a visit keeps it.
struct KeptManifest: Sendable, Equatable {
    /// Where it was, after whatever led to it.
    var place: String
    var declaredBase: String?
    var bytes: [UInt8]

    init(_ source: ManifestSource) {
        place = source.name
        declaredBase = source.declaredBase
        bytes = source.bytes
    }

    init?(_ response: StoredResponse, _ reader: StoreReader) throws(StoreError) {
        let fields = HTTPFields(block: response.fields.utf8.span)
        guard let place = fields["Content-Location"], let body = response.body,
            let bytes = try reader.content(of: body)?.load()
        else { return nil }
        self.place = place
        self.bytes = bytes
        declaredBase = fields["Content-Base"]
    }

    var fields: HTTPFields {
        var fields: HTTPFields = ["Content-Location": place]
        if let declaredBase { fields.append("Content-Base", declaredBase) }
        return fields
    }
}

extension Larder {
    /// The manifest that is in force for what a site shows: the one that its published visit was held against. Nil for none.
    func keptManifest(of site: String) throws(LarderError) -> KeptManifest? {
        do throws(StoreError) {
            return try keptManifest(of: site, StoreReader(folder))
        } catch {
            throw LarderError(error)
        }
    }

    private func keptManifest(of site: String, _ reader: StoreReader) throws(StoreError) -> KeptManifest? {
        try reader.response(for: site, request: .manifest).flatMap { (row) throws(StoreError) in
            try KeptManifest(row, reader)
        }
    }

    /// What the manifests that are in force require of bodies, whoever brings them in.
    ///
    /// - Parameter own: a site that speaks for itself.
    func requirements(besides own: String? = nil) throws(LarderError) -> Requirements {
        var requirements = Requirements()
        guard folder.exists else { return requirements }
        do throws(StoreError) {
            let reader = try StoreReader(folder)
            for manifest in try ManifestInForce.all(reader) where manifest.site != own {
                guard let kept = try KeptManifest(manifest.row, reader) else { continue }
                requirements.add(try manifest.plan.requirements(of: kept))
            }
            return requirements
        } catch {
            if error.reason == .missing { return requirements }
            throw LarderError(error)
        }
    }
}

/// The manifest by which a site's bundles are held against their digests, and where it is kept.
private struct ManifestInForce {
    let site: String
    let settings: String
    let plan: ManifestPlan
    let row: StoredResponse

    /// Of two that require different things of one body, the younger visit is the one that readers see: it comes first.
    static func all(_ reader: StoreReader) throws(StoreError) -> [ManifestInForce] {
        var all: [ManifestInForce] = []
        for site in try reader.siteSettings() {
            guard let plan = SitePlan(text: site.settings).manifest,
                let row = try reader.response(for: site.name, request: .manifest)
            else { continue }
            all.append(ManifestInForce(site: site.name, settings: site.settings, plan: plan, row: row))
        }
        return all.sorted { $0.row.visit > $1.row.visit }
    }
}

/// What the manifests in force require, read again when they have changed. Any thread may ask.
final class RequirementsInForce: Sendable {
    private let known = Mutex<(key: [String], requirements: Requirements)>(([], Requirements()))

    func read(_ reader: StoreReader) throws(StoreError) -> Requirements {
        let manifests = try ManifestInForce.all(reader)
        let key = manifests.flatMap { [$0.site, $0.settings, "\($0.row.visit) \($0.row.body?.id ?? 0)"] }
        if let requirements = known.withLock({ $0.key == key ? $0.requirements : nil }) { return requirements }
        var requirements = Requirements()
        for manifest in manifests {
            guard let kept = try KeptManifest(manifest.row, reader) else { continue }
            // One that cannot be read any more requires nothing of what is shown; whoever fetches says so.
            if let required = try? manifest.plan.requirements(of: kept) { requirements.add(required) }
        }
        known.withLock { $0 = (key, requirements) }
        return requirements
    }
}

extension ManifestPlan {
    /// What a manifest that was kept says of bodies.
    func requirements(of kept: KeptManifest) throws(StoreError) -> Requirements {
        do throws(LarderError) {
            let source = try ManifestSource(kept, options: checkOptions())
            var requirements = Requirements()
            for target in try CheckTarget.all(of: source) { requirements.require(target.bundle, at: target.urls[0]) }
            return requirements
        } catch {
            throw StoreError(
                .unusable, doing: "read the kept manifest", path: kept.place, detail: error.description,
                advice: "prefetch it again, or remove its site")
        }
    }
}
