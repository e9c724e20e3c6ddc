internal import Reports
internal import Store
internal import Web

/// A value that is computed from all rows of a snapshot, and stored as JSON for the next server.
protocol KeyedFigure: Sendable {
    /// The name under which it is stored. Change it when the format or the way of counting changes.
    static var kind: String { get }
    /// The value as a JSON object.
    var members: JSONMembers { get }
    /// Reads a stored value; nil if it is not one.
    init?(_ stored: JSONValue)
}

/// The figures of one kind that the portal knows.
struct KeyedFigures<Figure: KeyedFigure> {
    /// A state of a snapshot. The key is nil while its run is in progress.
    private struct State: Hashable {
        let snapshot: Int64
        let key: String?

        init(_ snapshot: Int64, _ key: String?) { (self.snapshot, self.key) = (snapshot, key) }
    }

    private var known: [State: Figure] = [:]

    /// Adds stored figures of this kind.
    mutating func add(_ stored: [SnapshotFigure]) {
        for one in stored where one.kind == Figure.kind {
            let figure = (try? JSONValue.parse(one.value.utf8.span)).flatMap { Figure($0) }
            if let figure { known[State(one.snapshot, one.key)] = figure }
        }
    }

    /// Drops the figures that a change of the store may have made outdated: those of runs in progress.
    mutating func dropUnfinished() { known = known.filter { $0.key.key != nil } }

    /// The figure of a snapshot; nil if it is not known.
    subscript(_ snapshot: Snapshot) -> Figure? {
        get { known[State(snapshot.id, snapshot.figureKey)] }
        set { known[State(snapshot.id, snapshot.figureKey)] = newValue }
    }
}

extension SnapshotTally: KeyedFigure {
    // The size includes the texts and copies of rendered pages since version 2.
    static let kind = "tally2-\(PortalLimits.maxCountedResponses)"

    var members: JSONMembers {
        [
            "pages": pages, "assets": assets, "redirects": redirects, "isCapped": isCapped,
            "bytes": byteCount, "isEstimate": isEstimate,
        ]
    }

    init?(_ stored: JSONValue) {
        guard let pages = stored["pages"]?.int, let assets = stored["assets"]?.int,
            let redirects = stored["redirects"]?.int, let bytes = stored["bytes"]?.int
        else { return nil }
        self.init()
        (self.pages, self.assets, self.redirects) = (pages, assets, redirects)
        (byteCount, isCapped) = (Int64(bytes), stored["isCapped"]?.bool ?? false)
        isEstimate = stored["isEstimate"]?.bool ?? false
    }
}

/// The media types of a snapshot.
struct TypeTallies: KeyedFigure {
    let types: [TypeTally]
    // The bodies of other responses than pages and assets have tallies of their own since version 2.
    static let kind = "types2-\(PortalLimits.maxCountedResponses)"

    init(_ types: [TypeTally]) { self.types = types }

    var members: JSONMembers {
        [
            "types": types.map { type -> JSONMembers in
                ["type": type.type, "count": type.count, "bytes": type.byteCount]
            }
        ]
    }

    init?(_ stored: JSONValue) {
        guard let list = stored["types"]?.array else { return nil }
        types = list.compactMap { type in
            guard let count = type["count"]?.int, let bytes = type["bytes"]?.int else { return nil }
            return TypeTally(type: type["type"]?.string, count: count, byteCount: Int64(bytes))
        }
    }
}

/// The URL of the icon of a site, in a snapshot.
struct IconURL: KeyedFigure {
    /// Nil if no icon is stored.
    let href: String?
    static let kind = "icon"

    init(_ href: String?) { self.href = href }

    var members: JSONMembers { ["url": href] }

    init?(_ stored: JSONValue) { href = stored["url"]?.string }
}

/// The numbers of URLs that differ between a snapshot and the one before.
struct ChangesSinceEarlier: KeyedFigure, Equatable {
    /// The state of the earlier snapshot. With another one, the numbers are outdated.
    let earlier: String
    let added: Int
    let changed: Int
    let gone: Int
    let moved: Int
    static let kind = "changes"

    var isEmpty: Bool { added + changed + gone + moved == 0 }

    init(earlier: String, added: Int, changed: Int, gone: Int, moved: Int) {
        (self.earlier, self.added, self.changed) = (earlier, added, changed)
        (self.gone, self.moved) = (gone, moved)
    }

    var members: JSONMembers {
        ["earlier": earlier, "added": added, "changed": changed, "gone": gone, "moved": moved]
    }

    init?(_ stored: JSONValue) {
        guard let earlier = stored["earlier"]?.string, let added = stored["added"]?.int,
            let changed = stored["changed"]?.int, let gone = stored["gone"]?.int,
            let moved = stored["moved"]?.int
        else { return nil }
        self.init(earlier: earlier, added: added, changed: changed, gone: gone, moved: moved)
    }
}
