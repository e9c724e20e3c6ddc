package import Web

/// The hashed names of one release's scripts and style sheets, to hold pages against.
package struct ReleaseNames: Sendable {
    private var urls: Set<String> = []
    private var families: [String: [String]] = [:]

    /// - Parameter urls: what the manifest's references stand for.
    package init(_ urls: some Sequence<WebURL>) {
        for url in urls.map(\.withoutFragment) where self.urls.insert(url.href).inserted {
            guard let family = Self.family(of: url) else { continue }
            families[family, default: []].append(url.href)
        }
    }

    /// The names that a page asks for and that are of another release, in the page's order, each family once.
    ///
    /// That is so when the manifest knows the family, does not have that name, and the page asks for none of the names
    /// that the manifest has: several chunks may well be called `index`. What the manifest has no family for is not its
    /// matter. Only scripts and style sheets are looked at: of images there are many with one name.
    package func skews(onPage page: WebURL, references: [WebURL]) -> [Skew] {
        var asked: [(family: String, href: String)] = []
        var agreeing: Set<String> = []
        for url in references.map(\.withoutFragment) {
            guard let family = Self.family(of: url), families[family] != nil else { continue }
            if urls.contains(url.href) { agreeing.insert(family) } else { asked.append((family, url.href)) }
        }
        var told = agreeing
        return asked.compactMap { family, href in
            guard told.insert(family).inserted, let known = families[family] else { return nil }
            return .name(asked: href, page: page.href, known: known)
        }
    }

    private static func family(of url: WebURL) -> String? {
        let path = url.path
        guard [".js", ".mjs", ".css"].contains(where: { path.hasSuffix($0) }) else { return nil }
        return HashedName(url.href)?.family
    }
}
