/// The search for a target in delegated roles: pre-order and depth-first, in the order in which roles delegate (5.6.7).
struct DelegationSearch: Sendable {
    private(set) var query: TargetQuery
    private let maxRoles: Int
    /// The delegations to follow; the last one is next.
    private var stack = [TrustedMetadata.Delegation.targets]
    private var visited: Set<String> = []
    /// The target; nil until the search ends, or if no role describes it.
    private(set) var target: TUFTarget?

    /// - Parameter maxRoles: ends the search after this number of roles, so that a repository cannot cause endless work.
    init(_ path: String, maxRoles: Int) {
        query = TargetQuery(path)
        self.maxRoles = maxRoles
    }

    /// Goes on until metadata is needed that is not loaded, and returns its delegation; nil at the end of the search.
    ///
    /// - Throws: also if the patterns of a role take too long to compare.
    mutating func advance(
        _ trusted: inout TrustedMetadata
    ) throws(TUFError) -> TrustedMetadata.Delegation? {
        while target == nil, let next = stack.last, visited.count < maxRoles {
            // A cycle, or a role that several others delegate to.
            guard !visited.contains(next.role) else {
                stack.removeLast()
                continue
            }
            guard let metadata = try trusted.metadata(of: next) else { return next }
            stack.removeLast()
            visited.insert(next.role)
            if let file = metadata.targets[query.path] {
                target = TUFTarget(path: query.path, file: file, role: next.role)
                return nil
            }
            let roles = metadata.delegations?.roles(for: &query) ?? []
            follow(roles, of: next.role)
            guard !query.isTooExpensive else {
                throw TUFError(.tooLarge, "\(next.role).json", "its patterns take too long to compare")
            }
        }
        return nil
    }

    private mutating func follow(_ roles: [(name: String, isTerminating: Bool)], of delegator: String) {
        var roles = roles[...]
        if let last = roles.firstIndex(where: \.isTerminating) {
            // Only this role and those that it delegates to may still describe the target.
            roles = roles[...last]
            stack = []
        }
        stack += roles.reversed().map { TrustedMetadata.Delegation(role: $0.name, delegator: delegator) }
    }
}

/// The listing of all targets: loads all roles, then looks for each path that any of them describes, so that the list has
/// exactly the targets that `DelegationSearch` finds.
struct DelegationListing: Sendable {
    private let maxRoles: Int
    private var stack = [TrustedMetadata.Delegation.targets]
    private var visited: Set<TrustedMetadata.Delegation> = []
    private var roles: Set<String> = []
    private var paths: Set<String> = []

    init(maxRoles: Int) { self.maxRoles = maxRoles }

    /// Goes on until metadata is needed that is not loaded, and returns its delegation; nil if all roles are loaded.
    mutating func advance(
        _ trusted: inout TrustedMetadata
    ) throws(TUFError) -> TrustedMetadata.Delegation? {
        while let next = stack.last {
            guard let metadata = try trusted.metadata(of: next) else { return next }
            stack.removeLast()
            guard visited.insert(next).inserted, roles.insert(next.role).inserted else { continue }
            paths.formUnion(metadata.targets.keys)
            guard let delegations = metadata.delegations else { continue }
            guard roles.count + stack.count + delegations.roleCount <= maxRoles else {
                throw TUFError(
                    .tooLarge, "\(next.role).json", "the repository has over \(maxRoles) delegated roles")
            }
            stack += delegations.roleNames.reversed().map {
                TrustedMetadata.Delegation(role: $0, delegator: next.role)
            }
        }
        return nil
    }

    /// The targets of all loaded roles, in the order of the bytes of their paths.
    func targets(_ trusted: inout TrustedMetadata, maxRoles: Int) throws(TUFError) -> [TUFTarget] {
        var targets: [TUFTarget] = []
        var cost = 0
        for path in paths.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
            var search = DelegationSearch(path, maxRoles: maxRoles)
            // All roles are loaded, so that the search needs none.
            _ = try search.advance(&trusted)
            if let target = search.target { targets.append(target) }
            cost += search.query.cost
            guard cost <= TUFLimits.maxPatternCost else {
                throw TUFError(
                    .tooLarge, "targets.json",
                    "the patterns of delegations take too long to compare with all targets")
            }
        }
        return targets
    }
}
