internal import Web

/// The differences between two snapshots of a site, as their readers see them.
package struct SnapshotDifference: Sendable, Equatable {
    package var added: [String] = []
    /// URLs whose body changed.
    package var changed: [String] = []
    /// URLs that the origin declared gone.
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
        /// The target of a redirect.
        var location: String?

        func target(from href: String) -> String? {
            location.flatMap { WebURL($0, base: WebURL(href)) }?.key.href
        }

        var exists: Bool { status < 400 }
    }

    /// Compares the responses of two snapshots. The lists are in the order of URLs.
    ///
    /// A body that is missing at its old URL and new at another one has moved. So has a body whose old URL now
    /// redirects to the new one. All other differences are additions, changes and removals.
    init(from old: [String: ComparedResponse], to new: [String: ComparedResponse]) {
        /// The URLs that are new, by the body that they have.
        var newURLs: [Int64: [String]] = [:]
        for (href, shown) in new where shown.exists && !(old[href]?.exists ?? false) {
            if let body = shown.body { newURLs[body, default: []].append(href) }
        }
        for body in newURLs.keys { newURLs[body]?.sort(by: >) }
        var moveTargets: Set<String> = []
        for (href, shown) in old.sorted(by: { $0.key < $1.key }) where shown.exists {
            guard let now = new[href], now.exists else {
                guard let body = shown.body, let target = newURLs[body]?.popLast() else {
                    gone.append(href)
                    continue
                }
                moved.append(Move(from: href, to: target))
                moveTargets.insert(target)
                continue
            }
            if now == shown { continue }
            if shown.location == nil, let body = shown.body, let target = now.target(from: href),
                let index = newURLs[body]?.firstIndex(of: target)
            {
                newURLs[body]?.remove(at: index)
                moved.append(Move(from: href, to: target))
                moveTargets.insert(target)
            } else {
                changed.append(href)
            }
        }
        added = new.filter { href, shown in
            shown.exists && !(old[href]?.exists ?? false) && !moveTargets.contains(href)
        }.keys.sorted()
    }
}
