internal import Web

/// The reason why metadata or a target is not trusted. Its description says which file, why, and what to do.
package struct TUFError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kinds of failure. Each attack of the TUF specification has its own.
    package enum Reason: Sendable, Equatable, CaseIterable {
        /// The file is not valid metadata of its role.
        case malformed
        /// Too few valid signatures by different keys of the role ("arbitrary software attack").
        case unsigned
        /// An older version than the trusted one ("rollback attack").
        case rollback
        /// Expired at the start of the update ("freeze attack").
        case expired
        /// Another version, digest or length than the signed metadata announces ("mix-and-match attack").
        case mismatch
        /// Larger than its limit ("endless data attack").
        case tooLarge
        /// Signed metadata announces the file, but the server does not have it.
        case missing
        /// The trusted metadata does not list the target.
        case unknownTarget
        /// The server or the network failed.
        case unreachable
    }

    package let reason: Reason
    /// The metadata file or target, such as `3.root.json`.
    package let file: String
    /// The details, without the file and without advice.
    package let detail: String

    package init(_ reason: Reason, _ file: String, _ detail: String) {
        self.reason = reason
        self.file = file
        self.detail = detail
    }

    package var description: String { "\(file): \(detail); \(advice)" }

    private var advice: String {
        switch reason {
        case .malformed: "the repository must publish it again"
        case .unsigned: "do not use it, unless its publisher gives you a newer trusted root"
        case .rollback: "do not use it: the server offers older files than it did before"
        case .expired:
            "check this machine's clock; else the repository is out of date, or the network withholds updates"
        case .mismatch: "try again later; if it remains, the repository is inconsistent or under attack"
        case .tooLarge: "do not use it: the server sends more than signed metadata allows"
        case .missing: "try again later; the repository is incomplete"
        case .unknownTarget: "check the name of the target"
        case .unreachable: "check the network, then try again"
        }
    }
}

/// Limits for a repository. An update that exceeds one fails.
package struct TUFLimits: Sendable, Equatable {
    /// The maximum size of root metadata in bytes.
    package var maxRootBytes = 512 * 1024
    /// The maximum size of timestamp metadata in bytes.
    package var maxTimestampBytes = 16 * 1024
    /// The maximum size of snapshot metadata in bytes, even if the timestamp announces more.
    package var maxSnapshotBytes = 16 << 20
    /// The maximum size of the metadata of one targets role in bytes, even if the snapshot announces more.
    package var maxTargetsBytes = 64 << 20
    /// The maximum number of new root files in one update. The next update continues with the last one.
    package var maxRootRotations = 1024
    /// The maximum number of roles that are visited to find one target.
    package var maxVisitedRoles = 32
    /// The maximum number of roles whose targets are listed together.
    package var maxListedRoles = 1024

    package init() {}

    /// The maximum nesting depth of metadata.
    static let maxDepth = 64
    /// The maximum number of JSON values in one metadata file.
    static let maxValues = 2_000_000
    /// The maximum number of signatures of one metadata file. Each costs a verification.
    static let maxSignatures = 256
    /// The maximum number of keys of one role or delegation.
    static let maxKeys = 4096
    /// The maximum length of a role's name in bytes. It becomes a file name, with three bytes for each byte, beside which a
    /// draft has a suffix.
    static let maxRoleNameBytes = 75
    /// The maximum number of characters that are compared to find the roles for a target, or for all targets of a list. It
    /// takes some seconds.
    static let maxPatternCost = 2_000_000_000
    /// The maximum length of a target's path in bytes.
    static let maxTargetPathBytes = 4096
}
