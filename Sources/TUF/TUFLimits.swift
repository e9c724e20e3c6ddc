/// Limits for a repository. An update that exceeds one fails.
package struct TUFLimits: Sendable, Equatable {
    /// The maximum size of root metadata in bytes.
    package var maxRootBytes = 512 * 1024
    /// The maximum size of timestamp metadata in bytes.
    var maxTimestampBytes = 16 * 1024
    /// The maximum size of snapshot metadata in bytes, even if the timestamp announces more.
    package var maxSnapshotBytes = 16 << 20
    /// The maximum size of the metadata of one targets role in bytes, even if the snapshot announces more.
    package var maxTargetsBytes = 64 << 20
    /// The maximum number of new root files in one update. The next update continues with the last one.
    package var maxRootRotations = 1024
    /// The maximum number of roles that are visited to find one target.
    var maxVisitedRoles = 32
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
