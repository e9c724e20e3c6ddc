internal import Bundles
internal import Crawl
internal import Reports
package import Store
internal import Web

/// The stored files of a site with a signed manifest that the manifest does not list, such as images that bundles request.
/// No signature covers them, so that a report on the manifest must not be taken as one on the whole site.
package enum UnlistedFiles {
    /// Returns the number of these files. The targets of redirects from listed URLs count as listed, since they are verified.
    ///
    /// - Parameters:
    ///   - listed: the URLs that the manifest lists.
    ///   - places: the locations of the manifest. The responses with it and its signature are left out.
    package static func count(
        ofSite site: Site, listed: some Sequence<String>, manifestAt places: [String], _ reader: StoreReader
    ) throws(StoreError) -> Int {
        var known = Set(listed)
        let bundles = known
        for place in places {
            let location = ManifestLocation(place)
            for url in [location.url, location.signatureLocation?.url] {
                if let url { known.insert(url.key.href) }
            }
        }
        var others: Set<String> = []
        try reader.eachURLWithBody(ofSite: site.id) { href in
            if !known.contains(href) { others.insert(href) }
        }
        // The start page of a site that comes in update files is a copy of its index file.
        if SitePlan(text: site.settings).manifest?.isUpdateFile == true, others.contains(site.name),
            let index = WebURL("index.html", base: WebURL(site.name))?.key.href, bundles.contains(index),
            let page = try reader.response(for: index)?.body,
            try reader.response(for: site.name)?.body?.sha256 == page.sha256
        {
            others.remove(site.name)
        }
        guard !others.isEmpty else { return 0 }
        let redirects = try reader.availability(of: bundles.sorted()).filter {
            (300..<400).contains($0.value.status)
        }
        for href in redirects.keys { try removeTargets(ofRedirectAt: href, from: &others, reader) }
        return try reader.availability(of: others.sorted()).count { $0.value.status == 200 }
    }

    private static func removeTargets(
        ofRedirectAt href: String, from others: inout Set<String>, _ reader: StoreReader
    ) throws(StoreError) {
        guard var url = WebURL(href) else { return }
        for _ in 0..<maxRedirects {
            guard let response = try reader.response(for: url.key.href),
                let redirect = Redirect(
                    response.status, HTTPFields(block: response.fields.utf8.span), from: url),
                let target = redirect.url
            else { return }
            others.remove(target.key.href)
            url = target
        }
    }

    /// The maximum number of redirects that are followed from a listed URL. Targets beyond it count as unlisted.
    private static let maxRedirects = 20

    /// The sentence of a report about this number of files; nil if it is 0.
    package static func note(_ count: Int) -> String? {
        guard count > 0 else { return nil }
        let files = "\(Wording.count(count, "other file")) that the manifest does not list"
        return "\(files) \(count == 1 ? "is" : "are") stored and not verified"
    }

    /// The statement about the site whose manifest a check has read; nil if there are none.
    static func note(
        _ source: ManifestSource, named name: String, _ targets: [CheckTarget], _ folder: StoreFolder
    ) throws(LarderError) -> String? {
        guard source.signer != nil, folder.exists else { return nil }
        do throws(StoreError) {
            let reader = try StoreReader(folder)
            let plan = ManifestPlan(place: ManifestPlan.absoluteLocation(of: name))
            var count = 0
            for site in try reader.sites() {
                guard SitePlan(text: site.settings).manifest?.hasSamePlace(as: plan) == true else { continue }
                count += try Self.count(
                    ofSite: site, listed: targets.map { $0.urls[0].key.href },
                    manifestAt: [plan.place, source.name], reader)
            }
            return note(count)
        } catch  where error.reason == .missing {
            return nil
        } catch {
            throw LarderError(error)
        }
    }
}
