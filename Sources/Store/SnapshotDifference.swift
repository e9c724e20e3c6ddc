internal import Web

/// The differences between two snapshots of a site, for readers of one snapshot after the other.
package struct SnapshotDifference: Sendable, Equatable {
    /// URLs that exist only in the second snapshot, except the new URLs of `moved`.
    package var added: [String] = []
    /// URLs whose status, body or redirect changed.
    package var changed: [String] = []
    /// URLs that exist only in the first snapshot, except the old URLs of `moved`. If the second snapshot is newer, the
    /// origin declared them gone (404 or 410): readers still see a URL that it only did not reach.
    package var gone: [String] = []
    /// Bodies that moved to a new URL, byte for byte.
    package var moved: [Move] = []

    package struct Move: Sendable, Equatable {
        package var from: String
        package var to: String

        package init(from: String, to: String) {
            self.from = from
            self.to = to
        }
    }

    package var isEmpty: Bool { added.isEmpty && changed.isEmpty && gone.isEmpty && moved.isEmpty }

    package init() {}

    /// The response that a snapshot has for a URL.
    struct ComparedResponse: Equatable {
        let status: Int
        let body: Int64?
        /// The `Location` of a redirect.
        var location: String?

        /// The URL to which the response redirects; nil if it is no redirect.
        ///
        /// - Parameter href: the URL of the response.
        func redirectTarget(from href: String) -> String? {
            location.flatMap { WebURL($0, base: WebURL(href)) }?.key.href
        }

        /// Whether the response is not an error, such as a stored 404.
        var exists: Bool { status < 400 }
    }

    /// Compares the responses of two snapshots. The lists are in the order of URLs.
    ///
    /// A body that is missing at its old URL and new at another one has moved. So has a body whose old URL now
    /// redirects to the new one. All other differences are additions, changes and removals.
    init(from old: [String: ComparedResponse], to new: [String: ComparedResponse]) {
        /// The URLs that are new, by the body that they have, in descending order: `popLast` takes the first one.
        var newURLs: [Int64: [String]] = [:]
        for (href, response) in new where response.exists && !(old[href]?.exists ?? false) {
            if let body = response.body { newURLs[body, default: []].append(href) }
        }
        for body in newURLs.keys { newURLs[body]?.sort(by: >) }
        var moveTargets: Set<String> = []
        for (href, before) in old.sorted(by: { $0.key < $1.key }) where before.exists {
            guard let now = new[href], now.exists else {
                guard let body = before.body, let target = newURLs[body]?.popLast() else {
                    gone.append(href)
                    continue
                }
                moved.append(Move(from: href, to: target))
                moveTargets.insert(target)
                continue
            }
            if now == before { continue }
            if before.location == nil, let body = before.body, let target = now.redirectTarget(from: href),
                let index = newURLs[body]?.firstIndex(of: target)
            {
                newURLs[body]?.remove(at: index)
                moved.append(Move(from: href, to: target))
                moveTargets.insert(target)
            } else {
                changed.append(href)
            }
        }
        added = new.filter { href, response in
            response.exists && !(old[href]?.exists ?? false) && !moveTargets.contains(href)
        }.keys.sorted()
    }
}
