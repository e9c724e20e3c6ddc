/// The root role: the keys of all top-level roles.
package struct RootMetadata: RoleMetadata {
    package static let type = "root"
    package static let memberNames: Set<String> = ["keys", "roles", "consistent_snapshot"]

    package var header: MetadataHeader
    package var keys: KeyTable
    /// The keys and threshold of each top-level role, by its name.
    package var roles: [String: RoleKeys]
    /// Whether file names contain versions and digests, so that a repository can change while clients read it; nil if
    /// unspecified, which means no.
    package var consistentSnapshot: Bool?

    /// The roles that root metadata must have.
    static let topLevelRoles = ["root", "timestamp", "snapshot", "targets"]

    package init(header: MetadataHeader, keys: KeyTable, roles: [String: RoleKeys]) {
        self.header = header
        self.keys = keys
        self.roles = roles
        consistentSnapshot = true
    }

    package init(_ node: MetadataNode, header: MetadataHeader) throws(TUFError) {
        self.header = header
        keys = try KeyTable(node.member("keys"))
        roles = [:]
        let list = try node.member("roles")
        for name in Self.topLevelRoles { _ = try list.member(name) }
        // "mirrors" is optional, and other names are preserved.
        for role in try list.members() { roles[role.name] = try RoleKeys(role.node) }
        consistentSnapshot = try node["consistent_snapshot"]?.bool()
    }

    package var roleMembers: [String: CanonicalJSON] {
        var members: [String: CanonicalJSON] = [
            "keys": keys.json, "roles": .object(roles.mapValues { .object($0.members) }),
        ]
        if let consistentSnapshot { members["consistent_snapshot"] = .bool(consistentSnapshot) }
        return members
    }

    /// Whether file names contain versions and digests.
    package var usesConsistentSnapshots: Bool { consistentSnapshot ?? false }

    /// The keys of a top-level role.
    func keys(of role: String) -> RoleKeys {
        // The initializer made sure that there is one. No key at all is the safe value for a mistake.
        roles[role] ?? RoleKeys(keyIDs: [], threshold: 1)
    }

    /// Whether the other root gives a role different keys or another threshold.
    func hasRotated(_ role: String, from other: RootMetadata) -> Bool {
        let (new, old) = (keys(of: role), other.keys(of: role))
        return Set(new.keyIDs) != Set(old.keyIDs) || new.threshold != old.threshold
    }
}
