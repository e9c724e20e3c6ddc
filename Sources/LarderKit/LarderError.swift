internal import Bundles
internal import Crawl
internal import Fetch
internal import Serve
internal import Store
internal import System

/// What stopped a call. The message names what was being done, to what, why it failed and what to try next.
public struct LarderError: Error, Sendable, Equatable, CustomStringConvertible {
    public enum Kind: Sendable, Equatable {
        /// What was asked for is wrong: an URL, a manifest.
        case input
        /// The machine or the network would not.
        case machine
        /// The task was cancelled before there was anything to report.
        case interrupted
    }

    public let kind: Kind
    public let description: String
    /// No server gave what was asked for: this machine is as it should be.
    var isOfServer = false

    init(_ kind: Kind, _ description: String) {
        self.kind = kind
        // Manifests, names of files and answers of servers have their words in it.
        self.description = description.visible
    }

    static let interrupted = LarderError(.interrupted, "interrupted; the same command does it again")

    init(_ error: SystemError) {
        self.init(.machine, error.description)
    }

    /// What was asked for is not there, which is the asker's to mend; all else is the machine's.
    init(_ error: StoreError) {
        self.init(error.reason == .request ? .input : .machine, error.description)
    }

    /// - Parameter kept: how many addresses the visit that it ended has, where that is known.
    init(_ error: CrawlError, kept: Int? = nil) {
        switch error {
        case .pattern(let mistake):
            self.init(.input, mistake.description)
        case .store, .fetch:
            let told =
                switch kept {
                case nil: ""
                case 0?: "; nothing of this visit is kept"
                case 1?: "; the 1 address that this visit has is kept, and not asked for again"
                case let count?: "; the \(count) addresses that this visit has are kept, and not asked for again"
                }
            self.init(.machine, error.description + told)
        }
    }

    init(_ error: FetchFailure) {
        self.init(.machine, "\(error); \(error.advice)")
    }

    init(_ error: ServerError) {
        self.init(.machine, error.description)
    }

    init(_ error: ManifestError) {
        self.init(.input, error.description)
    }
}

extension FetchFailure {
    /// What to try next.
    var advice: String {
        switch kind {
        case .unknownHost: "check the name of the host, and the network"
        case .unreachable: "check that the server runs, and the network"
        case .timeout: "try again later, or allow more with --timeout"
        case .insecure: "trust its authority with --ca FILE, or look at nothing with --insecure"
        case .broken: "run the same command again"
        case .nonsense: "check the port and the scheme of the address"
        case .tooLarge: "allow more with --max-body SIZE"
        case .endless: "leave it out with --exclude"
        case .noRoom: "make room on the disk, or leave large files out with --max-body SIZE"
        case .refused: "name another address, or allow it with an option"
        case .mismatch: "run the same command again: it is fetched anew"
        case .interrupted: "the same command does it again"
        case .machine: "mend that, then run the same command again"
        }
    }
}
