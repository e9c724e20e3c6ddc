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
