internal import Store
internal import Web

/// The assets of an exported page: which were included, and which were not.
struct PageAssets {
    /// The URLs of the included bodies.
    private(set) var included: Set<String> = []
    /// The total size of the included bodies.
    private(set) var byteCount: Int64 = 0
    /// The URLs that are not stored, each with a page or asset that needs it.
    private(set) var missing: [String: String] = [:]
    /// The URLs that are stored but were left out because of their size, with the size in bytes.
    var tooLarge: [String: Int] = [:]

    /// The maximum size of `missing`. Further URLs are not reported.
    private static let maxMissing = 10_000

    mutating func addIncluded(_ resource: ExportedResource) {
        if included.insert(resource.url.href).inserted { byteCount += Int64(resource.body.byteCount) }
    }

    mutating func addMissing(_ target: WebURL, neededBy page: WebURL) {
        guard missing.count < Self.maxMissing else { return }
        missing[target.key.href] = missing[target.key.href] ?? page.href
    }
}

extension ResourceLookup {
    /// Returns the URLs of a page, its assets and their assets, including redirects, in breadth-first order. The
    /// page's own URL comes first.
    ///
    /// - Parameter maxCount: No further assets are followed when there are this many URLs.
    /// - Returns: The URLs, and the missing assets. The result's `assets.included` is empty.
    func neededURLs(of page: WebURL, maxCount: Int) throws(ArchiveError) -> (
        urls: [WebURL], assets: PageAssets
    ) {
        var (urls, pageAssets): ([WebURL], PageAssets) = ([page.key], PageAssets())
        var known: Set<String> = [page.key.href]
        var next = 0
        while next < urls.count {
            let chain = try redirectChain(from: urls[next])
            next += 1
            for response in chain.dropFirst() {
                guard let url = WebURL(response.href), known.insert(response.href).inserted else { continue }
                urls.append(url)
            }
            guard let resource = try resource(at: urls[next - 1]) else { continue }
            for target in try assets(of: resource)
            where !known.contains(target.key.href) && urls.count < maxCount {
                known.insert(target.key.href)
                if try self.resource(at: target) == nil {
                    pageAssets.addMissing(target, neededBy: resource.url)
                }
                urls.append(target.key)
            }
        }
        return (urls, pageAssets)
    }

    /// Adds the URLs of a page's assets, their assets and the redirects between them to `known`. URLs that are already
    /// known are not followed again.
    func addNeededURLs(of page: WebURL, to known: inout Set<String>) throws(ArchiveError) {
        var pending = [page.key]
        while let url = pending.popLast() {
            for response in try redirectChain(from: url).dropFirst() { known.insert(response.href) }
            guard let resource = try resource(at: url) else { continue }
            for target in try assets(of: resource) where known.insert(target.key.href).inserted {
                pending.append(target.key)
            }
        }
    }
}
