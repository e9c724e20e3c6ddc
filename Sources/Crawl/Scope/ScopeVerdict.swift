/// Whether something is asked for, and by which rule.
package enum ScopeVerdict: Sendable, Hashable, CustomStringConvertible {
    case followed(by: ScopeRule)
    case skipped(SkipReason)

    package var isFollowed: Bool {
        switch self {
        case .followed: true
        case .skipped: false
        }
    }

    package var description: String {
        switch self {
        case .followed(let rule): "followed: \(rule)"
        case .skipped(let reason): "skipped: \(reason.name)"
        }
    }
}

/// Why something is asked for.
package enum ScopeRule: Sendable, Hashable, CustomStringConvertible {
    case start
    /// What a page needs is followed wherever it is.
    case requisite
    case host(String)
    /// A host and a folder on it, `example.com/docs/`.
    case folder(String)
    case domain(String)
    /// The pattern that includes it, as the user wrote it.
    case included(String)

    package var description: String {
        switch self {
        case .start: "a start URL"
        case .requisite: "a page needs it"
        case .host(let host): "on \(host)"
        case .folder(let folder): "under \(folder)"
        case .domain(let domain): "on the domain \(domain)"
        case .included(let pattern): "included by \(pattern)"
        }
    }
}
