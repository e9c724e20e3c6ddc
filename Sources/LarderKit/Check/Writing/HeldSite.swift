internal import Bundles
internal import Digest
internal import Store
internal import Web

/// What a held site consists of, as a manifest lists it.
struct HeldSite {
    private let site: Site
    private let types: TypeFilter?

    init(_ site: Site, _ types: TypeFilter?) {
        self.site = site
        self.types = types
    }

    /// Its MD5s are computed where nobody did before, and kept.
    func manifest(_ reader: StoreReader, _ folder: StoreFolder) throws(StoreError) -> ManifestReport {
        let base = WebURL(site.name)
        var hrefs: [String] = []
        try reader.eachListed(site: site.id) { row in
            if row.byteCount != nil, row.status < 300, types?.matches(row.type) ?? true { hrefs.append(row.href) }
            return true
        }
        var manifest = Manifest()
        manifest.site = site.name
        manifest.start = site.start
        var skipped: [ManifestReport.Skipped] = []
        var md5s = KnownMD5s(reader)
        for href in hrefs {
            guard let body = try reader.response(for: href)?.body, let sha256 = Digest(.sha256, bytes: body.sha256),
                let md5 = try md5s.md5(of: body)
            else {
                skipped.append(.init(name: href, reason: "its bytes are gone or cut short; see: larder fsck"))
                continue
            }
            manifest.bundles.append(
                Bundle(reference: Self.reference(to: href, base), digests: [md5, sha256], byteCount: body.byteCount))
        }
        try md5s.keep(in: folder)
        return ManifestReport(manifest, skipped: skipped)
    }

    /// What is on the site's own origin moves with it: staging has the same paths.
    private static func reference(to href: String, _ base: WebURL?) -> String {
        guard let url = WebURL(href), url.origin == base?.origin else { return href }
        // A path that begins with two slashes would name a host.
        return url.target.hasPrefix("//") ? href : url.target
    }
}
