internal import Store
internal import Web

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

    init(site: String, from: Int64, to: Int64, _ difference: VisitDifference) {
        self.site = site
        self.from = from
        self.to = to
        added = difference.added
        changed = difference.changed
        gone = difference.gone
        moved = difference.moved.map { Move(from: $0.from, to: $0.to) }
    }

    /// The report for programs.
    public var json: String {
        var writer = JSONWriter(.pretty)
        writer.object { object in
            object.member("site", site)
            object.member("from", from)
            object.member("to", to)
            object.member("added", added)
            object.member("changed", changed)
            object.member("gone", gone)
            object.member("moved") { list in
                list.array { array in
                    for move in moved {
                        array.object { object in
                            object.member("from", move.from)
                            object.member("to", move.to)
                        }
                    }
                }
            }
        }
        return writer.text
    }
}
