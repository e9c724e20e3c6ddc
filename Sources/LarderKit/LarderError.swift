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

    init(_ error: StoreError) {
        self.init(.machine, error.description)
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
