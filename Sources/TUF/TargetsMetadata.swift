/// The targets role, or a delegated one: digests of files, and delegations to other roles.
package struct TargetsMetadata: RoleMetadata {
    package static let type = "targets"
    package static let memberNames: Set<String> = ["targets", "delegations"]

    package var header: MetadataHeader
    /// The targets by their paths.
    package var targets: [String: TargetFile]
    package var delegations: Delegations?

    package init(
        header: MetadataHeader, targets: [String: TargetFile] = [:], delegations: Delegations? = nil
    ) {
        self.header = header
        self.targets = targets
        self.delegations = delegations
    }

    package init(_ node: MetadataNode, header: MetadataHeader) throws(TUFError) {
        self.header = header
        targets = [:]
        for member in try node.member("targets").members() {
            guard !member.name.isEmpty, member.name.utf8.count <= TUFLimits.maxTargetPathBytes else {
                throw member.node.error("is empty or too long for the path of a target")
            }
            targets[member.name] = try TargetFile(member.node)
        }
        if let node = node["delegations"] { delegations = try Delegations(node) }
    }

    package var roleMembers: [String: CanonicalJSON] {
        var members: [String: CanonicalJSON] = ["targets": .object(targets.mapValues(\.json))]
        if let delegations { members["delegations"] = delegations.json }
        return members
    }
}

/// The description of a target in targets metadata.
package struct TargetFile: Sendable, Equatable {
    /// The size in bytes. A longer body is refused.
    package var byteCount: Int
    package var hashes: FileHashes
    /// Data of the application, which TUF does not interpret.
    package var custom: CanonicalJSON?
    private var others: [String: CanonicalJSON] = [:]

    package init(byteCount: Int, hashes: FileHashes, custom: CanonicalJSON? = nil) {
        self.byteCount = byteCount
        self.hashes = hashes
        self.custom = custom
    }

    init(_ node: MetadataNode) throws(TUFError) {
        byteCount = try node.member("length").integer(atLeast: 0)
        hashes = try FileHashes(node.member("hashes"))
        if let custom = node["custom"] {
            _ = try custom.object()
            self.custom = custom.value
        }
        others = try node.others(than: "length", "hashes", "custom")
    }

    var json: CanonicalJSON {
        var members = others
        members["length"] = .integer(byteCount)
        members["hashes"] = hashes.json
        if let custom { members["custom"] = custom }
        return .object(members)
    }

    /// Throws unless the bytes are the target's.
    package func require(_ bytes: [UInt8], path: String) throws(TUFError) {
        guard bytes.count == byteCount else {
            throw TUFError(.mismatch, path, "has \(bytes.count) bytes, expected \(byteCount)")
        }
        try hashes.require(bytes, file: path)
    }
}

/// The delegations of a targets role, in order of trust.
package struct Delegations: Sendable, Equatable {
    package var keys: KeyTable
    package var roles: Roles
    private var others: [String: CanonicalJSON] = [:]

    /// Delegations have one of two forms.
    package enum Roles: Sendable, Equatable {
        case listed([DelegatedRole])
        /// Many roles for equal shares of all targets (TAP 15).
        case succinct(SuccinctRoles)
    }

    package init(keys: KeyTable, roles: [DelegatedRole]) {
        self.keys = keys
        self.roles = .listed(roles)
    }

    package init(keys: KeyTable, succinct roles: SuccinctRoles) {
        self.keys = keys
        self.roles = .succinct(roles)
    }

    init(_ node: MetadataNode) throws(TUFError) {
        keys = try KeyTable(node.member("keys"))
        switch (node["roles"], node["succinct_roles"]) {
        case (let list?, nil):
            var roles: [DelegatedRole] = []
            var names: Set<String> = []
            for element in try list.elements() {
                let role = try DelegatedRole(element)
                guard names.insert(role.name).inserted else {
                    throw element.error("is a second role \"\(role.name)\"")
                }
                roles.append(role)
            }
            self.roles = .listed(roles)
        case (nil, let succinct?):
            roles = .succinct(try SuccinctRoles(succinct))
        default:
            throw node.error("expected either \"roles\" or \"succinct_roles\"")
        }
        others = try node.others(than: "keys", "roles", "succinct_roles")
    }

    var json: CanonicalJSON {
        var members = others
        members["keys"] = keys.json
        switch roles {
        case .listed(let roles): members["roles"] = .array(roles.map(\.json))
        case .succinct(let roles): members["succinct_roles"] = roles.json
        }
        return .object(members)
    }

    /// The delegated roles that may describe a target, in order of trust.
    func roles(for query: inout TargetQuery) -> [(name: String, isTerminating: Bool)] {
        switch roles {
        case .listed(let roles):
            return roles.filter { $0.covers(&query) }.map { ($0.name, $0.isTerminating) }
        case .succinct(let roles):
            // TAP 15: all of these roles are terminating.
            return [(roles.name(for: query.path), true)]
        }
    }

    /// The keys of a delegated role; nil if there is no such role.
    func keys(of role: String) -> RoleKeys? {
        switch roles {
        case .listed(let roles): roles.first { $0.name == role }?.keys
        case .succinct(let roles): roles.contains(role) ? roles.keys : nil
        }
    }

    /// The delegated roles that are listed one by one, in order of trust.
    package var listed: [DelegatedRole] {
        if case .listed(let roles) = roles { roles } else { [] }
    }

    /// The number of delegated roles.
    var roleCount: Int {
        switch roles {
        case .listed(let roles): roles.count
        case .succinct(let roles): roles.count
        }
    }

    /// The names of all delegated roles, in order of trust.
    var roleNames: [String] {
        switch roles {
        case .listed(let roles): roles.map(\.name)
        case .succinct(let roles): roles.names
        }
    }
}
