package import Store
internal import Web

/// How a person names a site.
package enum SiteName {
    /// The place of a site by its name, by its address as a person writes it, or by its host when only one site has that.
    package static func place(of text: String, among names: [String]) -> Int? {
        let href = (try? WebURL.typed(text))?.href
        if let place = names.firstIndex(where: { $0 == text || $0 == href }) { return place }
        let onHost = names.indices.filter { WebURL(names[$0])?.host == text }
        return onHost.count == 1 ? onHost.first : nil
    }

    package static func unknown(_ text: String, among names: [String]) -> StoreError {
        StoreError(
            .request, doing: "find the site", path: text, detail: "the larder does not hold it",
            advice: names.isEmpty
                ? "it holds none yet: stock one with: larder prefetch URL"
                : "it holds: \(names.joined(separator: ", "))")
    }

    /// The site that is meant.
    ///
    /// - Throws: `StoreError` for the reason `.request` when the larder holds none of the name.
    package static func site(_ text: String, in sites: [Site]) throws(StoreError) -> Site {
        let names = sites.map(\.name)
        guard let place = place(of: text, among: names) else { throw unknown(text, among: names) }
        return sites[place]
    }
}
