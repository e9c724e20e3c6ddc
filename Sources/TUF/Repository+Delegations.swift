internal import Digest
package import Web

/// Delegations: the targets let other roles describe the files below some paths, so that a team can publish with its own
/// keys, and without those of the targets.
extension Repository {
    /// The maximum number of delegated roles. Clients that list all targets load the metadata of each.
    private static let maxDelegatedRoles = 1000
    /// The maximum number of patterns of one delegated role.
    private static let maxPatterns = 1000

    /// The metadata of the delegated roles with all changes that are not published yet.
    var latestDelegated: [String: SignedMetadata<TargetsMetadata>] {
        (published?.delegated ?? [:]).merging(draftDelegated) { $1 }
    }

    /// The delegated roles with all changes that are not published yet, in order of trust.
    package var delegatedRoles: [DelegatedRole] { latestTargets?.role.delegations?.listed ?? [] }

    /// The metadata of a role with all changes that are not published yet.
    ///
    /// - Parameter role: the name of a delegated role; nil for the top-level targets.
    func latestMetadata(of role: String?) throws(RepositoryError) -> SignedMetadata<TargetsMetadata> {
        guard let targets = latestTargets else { throw .notCreated }
        guard let role else { return targets }
        guard delegatedRoles.contains(where: { $0.name == role }), let metadata = latestDelegated[role] else {
            throw .input("the targets do not delegate to \(role); delegate to it first")
        }
        return metadata
    }

    /// Whether anything waits to be published.
    package var hasDrafts: Bool { !draftNames.isEmpty }

    /// The names of the roles with drafts, the delegated ones in order of trust.
    package var draftNames: [String] {
        (draftRoot == nil ? [] : ["root"]) + (draftTargets == nil ? [] : ["targets"])
            + delegatedRoles.map(\.name).filter { draftDelegated[$0] != nil }
    }

    /// Why clients would not find a new target at a path in the metadata of a delegated role; nil if they would.
    package func reason(against path: String, in role: String) -> String? {
        let roles = delegatedRoles
        guard let index = roles.firstIndex(where: { $0.name == role }) else { return nil }
        guard roles[index].covers(path) else { return "\(path) is outside the paths of \(role)" }
        if latestTargets?.role.targets[path] != nil { return "the top-level targets list \(path) already" }
        let first = roles[..<index].first {
            $0.covers(path) && ($0.isTerminating || latestDelegated[$0.name]?.role.targets[path] != nil)
        }
        return first.map { "\($0.name) describes \(path) before \(role)" }
    }

    /// The targets of a role with all changes that are not published yet, also those that do not count for clients.
    ///
    /// - Parameter role: the name of a delegated role; nil for the top-level targets.
    package func targets(of role: String?) throws(RepositoryError) -> [String: TargetFile] {
        try latestMetadata(of: role).role.targets
    }

    /// Drafts targets that delegate to a role. A role of this name is changed, and keeps its place in the order of trust.
    ///
    /// The role must have metadata that enough of its keys have signed before the delegation can be published: clients fail
    /// at a role without metadata.
    ///
    /// - Parameter keys: all keys of the role.
    package mutating func delegate(
        to name: String, keys: [TUFKey], threshold: Int, patterns: [String], isTerminating: Bool,
        periods: RepositoryPeriods, now: HTTPDate
    ) throws(RepositoryError) {
        guard let base = latestTargets else { throw .notCreated }
        try Self.check(name)
        var seen: Set<String> = []
        let ids = keys.map(\.id).filter { seen.insert($0).inserted }
        guard threshold > 0, ids.count >= threshold else {
            throw .input(
                "the role \(name) would have \(ids.count) keys, fewer than its threshold of \(threshold); "
                    + "add keys, or set another threshold")
        }
        guard !patterns.isEmpty, patterns.count <= Self.maxPatterns else {
            throw .input(
                "the role \(name) would have \(patterns.count) patterns of paths; name 1 to \(Self.maxPatterns)"
            )
        }
        let role = DelegatedRole(
            name: name, keys: RoleKeys(keyIDs: ids.sorted(), threshold: threshold), scope: .paths(patterns),
            isTerminating: isTerminating)
        var roles = try Self.namedRoles(in: base)
        if let index = roles.firstIndex(where: { $0.name == name }) {
            guard roles[index] != role else { return }
            roles[index] = role
        } else {
            guard roles.count < Self.maxDelegatedRoles else {
                throw .input("the targets delegate to \(roles.count) roles already; remove one first")
            }
            roles.append(role)
        }
        changeDelegations(to: roles, adding: keys, periods, now)
        guard let table = draftTargets?.role.delegations?.keys else { return }
        let current = latestDelegated[name]
        if let current, current.missingSignatures(of: role.keys, in: table) == 0 { return }
        // The holders of its keys must sign the first version of a role, or the last one again.
        let expires = periods.expiry(of: .targets, now)
        let version = draftDelegated[name]?.version ?? nextVersion(ofDelegated: name)
        draftDelegated[name] =
            current?.withoutSignatures(version: version, expires: expires)
            ?? SignedMetadata(TargetsMetadata(header: MetadataHeader(version: version, expires: expires)))
    }

    /// Drafts targets that do not delegate to a role any more. Its targets then do not count for clients.
    package mutating func removeDelegation(
        to name: String, periods: RepositoryPeriods, now: HTTPDate
    ) throws(RepositoryError) {
        guard let base = latestTargets else { throw .notCreated }
        let roles = try Self.namedRoles(in: base)
        guard roles.contains(where: { $0.name == name }) else {
            throw .input("the targets do not delegate to \(name)")
        }
        changeDelegations(to: roles.filter { $0.name != name }, adding: [], periods, now)
        draftDelegated[name] = nil
    }

    private mutating func changeDelegations(
        to roles: [DelegatedRole], adding keys: [TUFKey], _ periods: RepositoryPeriods, _ now: HTTPDate
    ) {
        guard let base = latestTargets else { return }
        var delegations = base.role.delegations ?? Delegations(keys: KeyTable(), roles: [])
        delegations.roles = .listed(roles)
        for key in keys { delegations.keys.insert(key) }
        let used = Set(roles.flatMap(\.keys.keyIDs))
        for id in delegations.keys.ids where !used.contains(id) { delegations.keys.remove(id) }
        draftTargets = base.withoutSignatures(
            version: draftTargets?.version ?? nextVersion(of: .targets),
            expires: periods.expiry(of: .targets, now)
        ) { $0.delegations = roles.isEmpty ? nil : delegations }
    }

    private static func namedRoles(
        in targets: SignedMetadata<TargetsMetadata>
    ) throws(RepositoryError) -> [DelegatedRole] {
        if case .succinct? = targets.role.delegations?.roles {
            throw .input("the targets delegate to bins by the hashes of paths, which Larder cannot change")
        }
        return targets.role.delegations?.listed ?? []
    }

    /// Whether the name of a delegated role is safe as a part of a file's name on all systems.
    package static func isPlainName(_ name: String) -> Bool {
        name.utf8.allSatisfy { $0.isASCIIAlphanumeric || "-_.".utf8.contains($0) } && !name.isEmpty
            && name.utf8.first != UInt8(ascii: ".") && name.utf8.count <= TUFLimits.maxRoleNameBytes
    }

    private static func check(_ name: String) throws(RepositoryError) {
        guard isPlainName(name) else {
            throw .input(
                "\"\(name)\" cannot be the name of a role; use at most \(TUFLimits.maxRoleNameBytes) letters, digits, "
                    + "hyphens, underscores and dots")
        }
        guard !RootMetadata.topLevelRoles.contains(name.lowercased()) else {
            throw .input("\(name) is the name of a top-level role; choose another one")
        }
    }

    /// The patterns for paths that a user names. `docs/` stands for all files below it, `docs/*.js` for files in it, and other
    /// paths for one file.
    package static func patterns(for path: String) throws(RepositoryError) -> [String] {
        let isFolder = path.utf8.last == UInt8(ascii: "/")
        let name = isFolder ? String(path.dropLast()) : path
        var pattern = name
        do throws(TargetPathError) {
            // Patterns are for the paths of targets, which are percent-encoded.
            let encoded = try TargetPath(ofFile: name).text
            if !name.utf8.contains(where: { "*?[".utf8.contains($0) }) { pattern = encoded }
        } catch {
            throw .input("\"\(path)\" cannot be the path of a delegation: \(error)")
        }
        guard isFolder else { return [pattern] }
        // An asterisk does not match a slash.
        return (1...maxFolderDepth).map { depth in pattern + String(repeating: "/*", count: depth) }
    }

    /// The maximum depth of files below a folder that is delegated as a whole.
    private static let maxFolderDepth = 16

    /// The keys whose signatures count for the draft of a delegated role: those of the published and of the drafted
    /// delegation.
    func delegatedSigners(of name: String) -> [String: TUFKey] {
        var keys: [String: TUFKey] = [:]
        for delegations in [published?.targets, draftTargets].compactMap({ $0?.role.delegations }) {
            for id in delegations.keys(of: name)?.keyIDs ?? [] { keys[id] = delegations.keys[id] }
        }
        return keys
    }

    /// The number of signatures that a draft of a delegated role still needs, with the latest delegation to it.
    package func missingSignatures(ofDelegated name: String) -> Int {
        guard let draft = draftDelegated[name], let delegations = latestTargets?.role.delegations,
            let keys = delegations.keys(of: name)
        else { return 0 }
        return draft.missingSignatures(of: keys, in: delegations.keys)
    }
}

extension TargetsMetadata {
    /// The targets that clients find in this top-level metadata and in that of the roles that it delegates to, by their paths
    /// (TUF 5.6.7). Targets outside the paths of their role do not count, nor do those behind a terminating delegation.
    func targetFiles(with delegated: [String: TargetsMetadata]) -> [String: TUFTarget] {
        var found: [String: TUFTarget] = [:]
        for (path, file) in targets { found[path] = TUFTarget(path: path, file: file, role: "targets") }
        var terminating: [DelegatedRole] = []
        for role in delegations?.listed ?? [] {
            for (path, file) in delegated[role.name]?.targets ?? [:]
            where found[path] == nil && role.covers(path) && !terminating.contains(where: { $0.covers(path) })
            {
                found[path] = TUFTarget(path: path, file: file, role: role.name)
            }
            if role.isTerminating { terminating.append(role) }
        }
        return found
    }
}
