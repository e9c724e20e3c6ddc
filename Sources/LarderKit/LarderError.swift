internal import Bundles
internal import Crawl
internal import Fetch
internal import Serve
internal import Store

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

    init(_ kind: Kind, _ description: String) {
        self.kind = kind
        // Manifests, names of files and answers of servers have their words in it.
        self.description = description.visible
    }

    static let interrupted = LarderError(.interrupted, "interrupted; the same command does it again")

    init(_ error: StoreError) {
        self.init(.machine, error.description)
    }

    init(_ error: CrawlError) {
        switch error {
        case .pattern(let mistake): self.init(.input, mistake.description)
        case .store, .fetch: self.init(.machine, error.description)
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
