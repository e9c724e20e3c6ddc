package import Web

/// What is made of what pages ask of crawlers.
///
/// - `nofollow` of a page, in its head or its `X-Robots-Tag`, is said to whoever follows links by machine, and is kept as
///   robots.txt is. `rel=nofollow`, `ugc` and `sponsored` of single links only say that a page does not stand for where they
///   lead, so that they count where that is asked for.
/// - `noindex` is said to search engines. A larder is none, so that it counts where it is asked for: then a page is read
///   for its links and not kept. A start is always kept: a person named it.
/// - What a page needs is never affected.
package struct PageManners: Sendable, Equatable {
    package var nofollow = NofollowPolicy.pages
    package var noindex = RobotsPolicy.ignore

    package init(nofollow: NofollowPolicy = .pages, noindex: RobotsPolicy = .ignore) {
        self.nofollow = nofollow
        self.noindex = noindex
    }

    /// Whether a link to a page is left alone.
    func leaves(linkMarked isMarked: Bool, on page: PageDirectives) -> Bool {
        switch nofollow {
        case .ignore: false
        case .pages: page.contains(.nofollow)
        case .links: page.contains(.nofollow) || isMarked
        }
    }
}
