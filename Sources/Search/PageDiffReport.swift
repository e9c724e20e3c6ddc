public import Store
package import Web

/// The differences between the texts of one page in two snapshots of a site.
public struct PageDiffReport: Sendable, Equatable {
    /// The name of the site.
    public let site: String
    /// The URL of the page.
    public let url: String
    /// The earlier snapshot.
    public let from: SnapshotName
    /// The later snapshot.
    public let to: SnapshotName
    /// Whether the earlier snapshot has the page.
    public let isInEarlier: Bool
    /// Whether the later snapshot has the page.
    public let isInLater: Bool
    /// The differences. Nil if the page is in one snapshot only, is too large or damaged, or has no text.
    public let difference: TextDifference?

    /// Returns nil if none of the snapshots has the page.
    package init?(
        of url: String, _ site: Site, from: Snapshot, to: Snapshot, _ reader: StoreReader
    ) throws(StoreError) {
        let old = try reader.response(for: url, ofSnapshot: from.id)
        let new = try reader.response(for: url, ofSnapshot: to.id)
        guard old != nil || new != nil else { return nil }
        self.site = site.name
        self.url = url
        self.from = from.name
        self.to = to.name
        isInEarlier = old != nil
        isInLater = new != nil
        difference =
            if let old = old?.body, let new = new?.body {
                try TextDifference.between(old, new, reader)
            } else {
                nil
            }
    }

    /// The report as JSON.
    public var json: String { members.text() }
}

extension PageDiffReport: JSONObject {
    package var members: JSONMembers {
        [
            "site": site, "url": url, "from": from.number,
            "fromOverlay": IfAny(from.isOverlay ? true : nil), "to": to.number,
            "toOverlay": IfAny(to.isOverlay ? true : nil), "compared": difference != nil,
            "lines": difference?.lines ?? [],
        ]
    }
}
