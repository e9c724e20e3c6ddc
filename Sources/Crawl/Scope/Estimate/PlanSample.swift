package import Web

/// A few pages of a site, chosen so that each pattern of URLs is among them, from which the rest is estimated.
package struct PlanSample: Sendable {
    /// What was seen of a page.
    package struct Page: Sendable {
        package var url: WebURL
        package var byteCount: Int
        package var latency: Duration
        /// What it needs that no page before it needed.
        package var newRequisites: Int
        package var newRequisiteByteCount: Int
        /// Pages in scope that no page before it linked to.
        package var newPages: [WebURL]

        package init(
            url: WebURL, byteCount: Int, latency: Duration, newRequisites: Int = 0, newRequisiteByteCount: Int = 0,
            newPages: [WebURL] = []
        ) {
            self.url = url
            self.byteCount = byteCount
            self.latency = latency
            self.newRequisites = newRequisites
            self.newRequisiteByteCount = newRequisiteByteCount
            self.newPages = newPages
        }
    }

    package let mostPages: Int
    package let mostOfPattern: Int
    package private(set) var pages: [Page] = []
    /// How many of each shape were sampled.
    private var sampled: [UInt64: Int] = [:]
    /// Of each folder, since many sites have a name of its own for each page.
    private var sampledOfFolder: [String: Int] = [:]

    package init(mostPages: Int = 120, mostOfPattern: Int = 6) {
        self.mostPages = mostPages
        self.mostOfPattern = mostOfPattern
    }

    /// The sample is large enough.
    package var isFull: Bool { pages.count >= mostPages }

    /// Whether fetching the page would tell anything new.
    package func wants(_ url: WebURL) -> Bool {
        guard !isFull else { return false }
        let shape = URLShape(url)
        return sampled[shape.key, default: 0] < mostOfPattern
            && sampledOfFolder[PatternName(shape).text(folders: .max), default: 0] < mostOfPattern
    }

    package mutating func fetched(_ page: Page) {
        let shape = URLShape(page.url)
        sampled[shape.key, default: 0] += 1
        sampledOfFolder[PatternName(shape).text(folders: .max), default: 0] += 1
        pages.append(page)
    }
}
