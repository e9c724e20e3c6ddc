internal import TUF
public import Web

/// The state of a TUF repository, and the changes that a call made.
public struct TUFRepositoryReport: Sendable {
    /// A published role.
    public struct Role: Sendable {
        /// `root`, `targets`, `snapshot`, `timestamp`, or the name of a delegated role.
        public let name: String
        public let version: Int
        /// When it expires.
        public let expires: Timestamp
        public let isExpired: Bool
        public let threshold: Int
        /// The ids of its keys.
        public let keyIDs: [String]
        /// The delegation to it; nil for the four top-level roles.
        public let delegation: Delegation?
    }

    /// The targets that a delegated role may list.
    public struct Delegation: Sendable {
        /// Patterns for the paths, in which an asterisk does not match a slash.
        public let patterns: [String]
        /// Whether later delegations are ignored for these paths.
        public let isTerminating: Bool
        /// The number of targets that clients find in the published version.
        public let targetCount: Int
    }

    /// A version of root, targets or a delegated role that is not published yet.
    public struct Draft: Sendable {
        /// `root`, `targets`, or the name of a delegated role.
        public let role: String
        public let version: Int
        /// When it expires.
        public let expires: Timestamp
        /// The file to sign.
        public let file: String
        /// The ids of the keys that have signed it.
        public let signers: [String]
        public let missingSignatures: Int
    }

    /// A draft that `publish` left, for lack of signatures.
    public struct Waiting: Sendable {
        public let role: String
        public let version: Int
        /// 0 for a root that waits only for the signatures of the targets, and for targets that wait only for those of a
        /// role to which they delegate.
        public let missingSignatures: Int
    }

    /// The effect of a change of targets.
    public struct Changes: Sendable, Equatable {
        public let added: Int
        public let changed: Int
        public let removed: Int
        public let unchanged: Int
    }

    /// A file that is not a target, and why.
    public struct Skipped: Sendable {
        public let name: String
        public let reason: String
    }

    /// The folder.
    public let path: String
    /// The published roles, the delegated ones last; empty before the first publication.
    public let roles: [Role]
    public let drafts: [Draft]
    /// The number of targets, with changes that are not published yet.
    public let targetCount: Int
    public let targetByteCount: Int
    /// The paths of the targets, sorted.
    public let targets: [String]
    /// Nil unless targets were added or removed.
    public internal(set) var changes: Changes?
    public internal(set) var skipped: [Skipped] = []
    /// The files that `publish` wrote, in order.
    public internal(set) var written: [String] = []
    public internal(set) var waiting: [Waiting] = []

    init(_ repository: Repository, _ path: String, now: HTTPDate) {
        self.path = path
        roles = repository.published.map { Self.roles(of: $0, now) } ?? []
        var drafts: [Draft] = []
        let old = repository.published?.root.role
        if let draft = repository.draftRoot {
            let missing = [draft.role, old].compactMap { $0 }.map { draft.missingSignatures(.root, $0) }
            drafts.append(Self.draft(of: draft, "root", missing.max() ?? 0, repository, path))
        }
        if let draft = repository.draftTargets, let root = repository.latestRoot {
            drafts.append(
                Self.draft(of: draft, "targets", draft.missingSignatures(.targets, root), repository, path))
        }
        for role in repository.delegatedRoles {
            guard let draft = repository.draftDelegated[role.name] else { continue }
            let missing = repository.missingSignatures(ofDelegated: role.name)
            drafts.append(Self.draft(of: draft, role.name, missing, repository, path))
        }
        self.drafts = drafts
        let found = repository.targets
        targets = found.keys.sorted()
        targetCount = targets.count
        // Metadata that others wrote can list any length.
        targetByteCount = found.values.reduce(0) { sum, target in
            let (total, overflow) = sum.addingReportingOverflow(target.file.byteCount)
            return overflow ? Int.max : total
        }
    }

    private static func roles(of published: Repository.Published, _ now: HTTPDate) -> [Role] {
        func role(_ name: RepositoryRole, _ version: Int, _ expires: Int64) -> Role {
            let keys = published.root.role.roles[name.rawValue]
            return Role(
                name: name.rawValue, version: version, expires: Timestamp(secondsSinceEpoch: expires),
                isExpired: expires <= now.secondsSinceEpoch, threshold: keys?.threshold ?? 0,
                keyIDs: keys?.keyIDs ?? [], delegation: nil)
        }
        let top = [
            role(.root, published.root.version, published.root.expires),
            role(.targets, published.targets.version, published.targets.expires),
            role(.snapshot, published.snapshot.version, published.snapshot.expires),
            role(.timestamp, published.timestamp.version, published.timestamp.expires),
        ]
        return top + delegatedRoles(of: published, now)
    }

    private static func delegatedRoles(of published: Repository.Published, _ now: HTTPDate) -> [Role] {
        var counts: [String: Int] = [:]
        let listed = published.targets.role.delegations?.listed ?? []
        guard !listed.isEmpty else { return [] }
        for target in published.foundTargets.values { counts[target.role, default: 0] += 1 }
        return listed.compactMap { role in
            guard let file = published.delegated[role.name] else { return nil }
            var patterns: [String] = []
            if case .paths(let paths) = role.scope { patterns = paths }
            return Role(
                name: role.name, version: file.version,
                expires: Timestamp(secondsSinceEpoch: file.expires),
                isExpired: file.expires <= now.secondsSinceEpoch, threshold: role.keys.threshold,
                keyIDs: role.keys.keyIDs,
                delegation: Delegation(
                    patterns: patterns, isTerminating: role.isTerminating, targetCount: counts[role.name] ?? 0
                ))
        }
    }

    private static func draft<Metadata: RoleMetadata>(
        of file: SignedMetadata<Metadata>, _ role: String, _ missing: Int, _ repository: Repository,
        _ path: String
    ) -> Draft {
        let counting = repository.signers(of: role)
        let signers = file.signatures.map(\.keyID).filter { counting[$0] != nil }.sorted()
        return Draft(
            role: role, version: file.version, expires: Timestamp(secondsSinceEpoch: file.expires),
            file: "\(path)/draft/\(role).json",
            signers: signers, missingSignatures: missing)
    }

    /// Whether clients accept the published metadata: it exists, and none of it has expired.
    public var isCurrent: Bool { !roles.isEmpty && !roles.contains { $0.isExpired } }

    /// The report as JSON.
    public var json: String {
        let members: JSONMembers = [
            "repository": path,
            "roles": JSONMembers(
                roles.map { role in
                    (
                        role.name,
                        [
                            "version": role.version, "expires": role.expires.description,
                            "expired": role.isExpired, "threshold": role.threshold, "keys": role.keyIDs,
                            "paths": IfAny(role.delegation?.patterns),
                            "terminating": IfAny(role.delegation?.isTerminating),
                            "targets": IfAny(role.delegation?.targetCount),
                        ] as JSONMembers
                    )
                }),
            "drafts": drafts.map { draft -> JSONMembers in
                [
                    "role": draft.role, "version": draft.version, "expires": draft.expires.description,
                    "file": draft.file, "signers": draft.signers,
                    "missingSignatures": draft.missingSignatures,
                ]
            },
            "targets": targetCount, "targetBytes": targetByteCount, "files": targets,
            "changes": changes.map { changes -> JSONMembers in
                [
                    "added": changes.added, "changed": changes.changed, "removed": changes.removed,
                    "unchanged": changes.unchanged,
                ]
            },
            "skipped": skipped.map { file -> JSONMembers in ["name": file.name, "reason": file.reason] },
            "written": written,
            "waiting": waiting.map { waiting -> JSONMembers in
                [
                    "role": waiting.role, "version": waiting.version,
                    "missingSignatures": waiting.missingSignatures,
                ]
            },
        ]
        return members.text()
    }
}
