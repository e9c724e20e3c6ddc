internal import Web

/// Where an answer came from, as its `Larder` field says.
enum AnswerSource {
    case hit(LookupCandidate.Change)
    case stale(LookupCandidate.Change)
    /// The server has just confirmed it.
    case validated
    case loaded
    case miss

    init(_ hit: CacheHit, _ change: LookupCandidate.Change) {
        switch hit {
        case .fresh: self = .hit(change)
        case .stale: self = .stale(change)
        case .validated: self = .validated
        }
    }

    var text: String {
        switch self {
        case .hit([]): "hit"
        case .hit(let change): "hit; by=\(change)"
        case .stale([]): "stale"
        case .stale(let change): "stale; by=\(change)"
        case .validated: "validated"
        case .loaded: "loaded"
        case .miss: "miss"
        }
    }
}
