internal import Store
internal import Web

/// What there is of an URL that is not held.
public struct Absence: Sendable, Equatable {
    /// What answers for it offline, if anything does.
    public let standIn: StandIn?
    /// Held URLs of the same folder or, where it has none, of the nearest folder above it.
    public let nearby: [String]

    public struct StandIn: Sendable, Equatable {
        public let url: String
        /// In what it differs from the URL that was asked for; never empty.
        public let differences: [Difference]
    }

    public enum Difference: String, Sendable, CaseIterable {
        /// http for https, or https for http.
        case scheme
        /// With or without the slash at the path's end, where a redirect leads from one to the other.
        case slash
        /// Without known cache-busting parameters.
        case busters = "cache-busters"
        /// Without the query, as a rule of the site says.
        case query
        /// Without the query, which the page's own scripts read: a static page that searches.
        case search
    }

    func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("standIn") { writer in
                guard let standIn else { return writer.null() }
                writer.object { object in
                    object.member("url", standIn.url)
                    object.member("differences", standIn.differences.map(\.rawValue))
                }
            }
            object.member("nearby", nearby)
        }
    }
}

extension Absence {
    private static let mostNeighbours = 5

    init(of url: WebURL, in reader: StoreReader) throws(StoreError) {
        standIn = try reader.find(url).map { found in
            StandIn(url: found.response.href, differences: Self.differences(found.change))
        }
        nearby = try Self.neighbours(of: url, in: reader)
    }

    private static func differences(_ change: LookupCandidate.Change) -> [Difference] {
        Difference.allCases.filter { difference in
            switch difference {
            case .scheme: change.contains(.scheme)
            case .slash: change.contains(.slash)
            case .busters: change.contains(.busters)
            case .query: change.contains(.query)
            case .search: change.contains(.search)
            }
        }
    }

    /// From the URL's own folder up to its host's root.
    private static func neighbours(of url: WebURL, in reader: StoreReader) throws(StoreError) -> [String] {
        var path = url.path[...]
        while let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) {
            let folder = url.origin + path[...slash]
            let found = try reader.neighbours(of: url.href, below: folder, count: mostNeighbours)
            if !found.isEmpty { return found }
            path = path[..<slash]
        }
        return []
    }
}
