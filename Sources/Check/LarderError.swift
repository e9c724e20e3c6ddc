package import Bundles
package import Crawl
package import Fetch
public import Store
package import System
package import Web

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
    public let remedy: Remedy?
    /// No server gave what was asked for: this machine is as it should be.
    package var isOfServer = false
    /// The PostgreSQL that keeps the larder does not answer.
    package private(set) var away: StoreError?

    package init(_ kind: Kind, _ description: String, remedy: Remedy? = nil) {
        self.kind = kind
        self.remedy = remedy
        // Manifests, names of files and answers of servers have their words in it.
        self.description = description.visible
    }

    package static let interrupted = LarderError(.interrupted, "interrupted; the same command does it again")

    package init(_ error: SystemError) {
        self.init(.machine, error.description)
    }

    /// What was asked for is not there, which is the asker's to mend; all else is the machine's.
    package init(_ error: StoreError) {
        self.init(error.reason == .request ? .input : .machine, error.description, remedy: error.remedy)
        if error.reason == .unreachable { away = error }
    }

    package init(_ error: FetchFailure) {
        self.init(.machine, "\(error); \(error.advice)")
    }

    /// - Parameter kept: how many addresses the visit that it ended has, where that is known.
    package init(_ error: CrawlError, kept: Int? = nil) {
        switch error {
        case .pattern(let mistake):
            self.init(.input, mistake.description)
        case .store(let error):
            self.init(.machine, "\(error.problem)\(Self.told(kept)); \(error.advice)", remedy: error.remedy)
            if error.reason == .unreachable { away = error }
        case .fetch:
            self.init(.machine, error.description + Self.told(kept))
        }
    }

    private static func told(_ kept: Int?) -> String {
        switch kept {
        case nil: ""
        case 0?: "; nothing of this visit is kept"
        case 1?: "; the 1 address that this visit has is kept, and not asked for again"
        case let count?: "; the \(count) addresses that this visit has are kept, and not asked for again"
        }
    }

    package init(_ error: ManifestError) {
        self.init(.input, error.description, remedy: error.likelyFormat.map { .format($0.rawValue) })
    }

    package init(_ error: NetworkMistake) {
        self.init(.input, error.description)
    }

    package init(_ error: URLMistake) {
        self.init(.input, error.description)
    }

    /// Of a single body that was asked for.
    package init(_ failure: FetchFailure, fetching url: WebURL) {
        // Large bodies are what a machine most often fails at.
        let advice =
            failure.kind == .machine ? "; set TMPDIR to a folder that can be written, with space for it" : ""
        self.init(.machine, "\(url.href): \(failure)\(advice)")
        isOfServer = failure.kind != .machine && failure.kind != .noRoom
    }
}

extension FetchFailure {
    /// What to try next.
    var advice: String {
        switch kind {
        case .unknownHost: "check the name of the host, and the network"
        case .unreachable: "check that the server runs, and the network"
        case .timeout: "try again later, or allow more time"
        case .insecure: "trust its authority, or have certificates not looked at"
        case .broken: "run the same command again"
        case .nonsense: "check the port and the scheme of the address"
        case .tooLarge: "allow larger bodies, or do without it"
        case .endless: "exclude it, and run the same again"
        case .noRoom: "make room on the disk, or leave large files out"
        case .refused: "name another address, or allow this one"
        case .mismatch: "run the same command again: it is fetched anew"
        case .interrupted: "the same command does it again"
        case .machine: "mend that, then run the same command again"
        }
    }
}

extension NetworkOptions {
    /// What the loop that fetches is told.
    ///
    /// - Throws: `LarderError` of kind `.input` that names what cannot be used.
    package func options(for start: [WebURL], spoolFolder: String) throws(LarderError) -> FetchOptions {
        do throws(NetworkMistake) {
            return try fetchOptions(for: start, spoolFolder: spoolFolder)
        } catch {
            throw LarderError(error)
        }
    }
}

extension WebURL {
    /// An address as a person writes it; see `typed`.
    ///
    /// - Throws: `LarderError` of kind `.input` for what is no http or https URL.
    package static func start(_ text: String, mayBeWord: Bool = false) throws(LarderError) -> WebURL {
        do throws(URLMistake) { return try typed(text, mayBeWord: mayBeWord) } catch {
            throw LarderError(error)
        }
    }

    /// All of them, and the first, which names the site.
    package static func starts(_ texts: [String]) throws(LarderError) -> (first: WebURL, all: [WebURL]) {
        var all: [WebURL] = []
        for text in texts { all.append(try start(text)) }
        guard let first = all.first else {
            throw LarderError(.input, "there is no URL: name one, such as https://example.com/")
        }
        return (first, all)
    }
}

/// What the store says goes on as what stopped the call.
package func storing<Value>(_ body: () throws(StoreError) -> Value) throws(LarderError) -> Value {
    do throws(StoreError) { return try body() } catch { throw LarderError(error) }
}
