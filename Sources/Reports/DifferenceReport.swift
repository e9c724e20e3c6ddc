package import Store
package import Web

/// What changed of a site from one visit to another, as its readers see it.
public struct DifferenceReport: Sendable, Equatable {
    public let site: String
    public let from: Int64
    public let to: Int64
    public let added: [String]
    /// The body is another one.
    public let changed: [String]
    /// The origin says that it is gone.
    public let gone: [String]
    public let moved: [Move]

    /// What was at one address is, byte for byte, at another.
    public struct Move: Sendable, Equatable {
        public let from: String
        public let to: String
    }

    public var isEmpty: Bool { added.isEmpty && changed.isEmpty && gone.isEmpty && moved.isEmpty }

    package init(of site: Site, from: Visit, to: Visit, _ reader: StoreReader) throws(StoreError) {
        let difference = try reader.difference(from: from.id, to: to.id)
        self.site = site.name
        self.from = from.id
        self.to = to.id
        added = difference.added
        changed = difference.changed
        gone = difference.gone
        moved = difference.moved.map { Move(from: $0.from, to: $0.to) }
    }

    /// The report for programs.
    public var json: String { members.text() }
}

extension DifferenceReport: JSONObject {
    package var members: JSONMembers {
        [
            "site": site, "from": from, "to": to, "added": added, "changed": changed, "gone": gone,
            "moved": moved,
        ]
    }
}

extension DifferenceReport.Move: JSONObject {
    package var members: JSONMembers { ["from": from, "to": to] }
}

/// How the pages of a site looked in one visit and in another, as far as pictures of them were kept.
public struct PictureReport: Sendable, Equatable {
    public let site: String
    public let from: Int64
    public let to: Int64
    /// In the order of their addresses.
    public let pages: [Page]

    public struct Page: Sendable, Equatable {
        public let url: String
        public let state: State
        /// The visits that took its pictures; nil where there is none.
        public let from: Int64?
        public let to: Int64?
    }

    public enum State: String, Sendable, CaseIterable {
        case changed
        /// There was no picture of it before.
        case added
        /// The page is gone, or no picture of it is left.
        case gone
        /// It was taken again, and is the same byte for byte.
        case same
        /// It was not taken again: what there is of both visits is one picture.
        case kept
    }

    package init(of site: Site, from: Visit, to: Visit, _ reader: StoreReader) throws(StoreError) {
        self.site = site.name
        (self.from, self.to) = (from.id, to.id)
        let (before, after) = (try reader.pictures(shownBy: from.id), try reader.pictures(shownBy: to.id))
        pages = Set(before.keys).union(after.keys).sorted().map { url in
            let (old, new) = (before[url], after[url])
            let state: State =
                switch (old, new) {
                case (nil, _): .added
                case (_, nil): .gone
                case (let old?, let new?) where old.visit == new.visit: .kept
                case (let old?, let new?): old.body?.id == new.body?.id ? .same : .changed
                }
            return Page(url: url, state: state, from: old?.visit, to: new?.visit)
        }
    }

    public func count(_ state: State) -> Int { pages.count { $0.state == state } }

    /// Those that look another way now, or of which only one visit has a picture.
    public var differing: [Page] { pages.filter { $0.state != .same && $0.state != .kept } }

    /// The report for programs.
    public var json: String { members.text() }
}

extension PictureReport: JSONObject {
    package var members: JSONMembers { ["site": site, "from": from, "to": to, "pages": pages] }
}

extension PictureReport.Page: JSONObject {
    package var members: JSONMembers {
        ["url": url, "state": state.rawValue, "from": from, "to": to]
    }
}

extension Site {
    /// The two visits that a person wants compared: as a rule what is served, with what servers loaded on top
    /// of it, and the complete visit before it.
    ///
    /// - Throws: `StoreError` for the reason `.request` when the site has no such visit.
    package func visitsToCompare(
        from first: Int64? = nil, to second: Int64? = nil
    ) throws(StoreError) -> (from: Visit, to: Visit) {
        let to = try visit(second ?? overlay ?? published ?? visits.last?.id ?? 1)
        let from = if let first { try visit(first) } else { try visit(before: to.id) }
        return (from, to)
    }

    package func visit(_ number: Int64) throws(StoreError) -> Visit {
        guard let visit = visits.first(where: { $0.id == number }) else {
            throw StoreError(
                .request, doing: "find a visit of", path: name, detail: "it has no visit \(number)",
                advice: "see its visits with: larder visits")
        }
        return visit
    }

    /// The last that is complete, of a prefetch, and was not held back.
    package func visit(before number: Int64) throws(StoreError) -> Visit {
        guard
            let before = visits.last(where: {
                $0.id < number && $0.finished != nil && !$0.isHeldBack && $0.base == nil
            })
        else {
            throw StoreError(
                .request, doing: "find an earlier visit of", path: name,
                detail: "there is none that is complete",
                advice: "see its visits with: larder visits")
        }
        return before
    }
}
