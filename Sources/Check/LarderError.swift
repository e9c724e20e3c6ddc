package import Bundles
package import Crawl
package import Fetch
public import Store
package import System
package import Web

/// The error of a call. Its message says what failed, why, and what to do.
public struct LarderError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kind of an error.
    public enum Kind: Sendable, Equatable {
        /// The input is wrong, such as a URL or a manifest.
        case input
        /// The machine, the network or a server failed.
        case machine
        /// A manifest was loaded, but must not be used: its signature is missing or wrong, it is older than the one
        /// before, or it has expired. The last good snapshot stays live.
        case refused
        /// The task was cancelled before it had a result.
        case interrupted
    }

    /// The kind of the error.
    public let kind: Kind
    /// The message. It can be printed: control characters are escaped.
    public let description: String
    /// The option that avoids the error, if there is one.
    public let remedy: Remedy?
    /// Whether the error is that a manifest has expired. The one that was accepted last then applies.
    package var isExpired = false
    /// Whether the error is that the server has no newer manifest than the stored one, which then applies.
    package var isUpToDate = false
    /// Whether a server or the network caused the error, and not this machine.
    package var isServerFailure = false
    /// The kind of the error of the store, if it is one.
    package private(set) var storeReason: StoreError.Reason?
    /// The error, if the PostgreSQL server of the store is unreachable.
    package private(set) var unreachableStoreError: StoreError?

    package init(_ kind: Kind, _ description: String, remedy: Remedy? = nil) {
        self.kind = kind
        self.remedy = remedy
        // It may contain text of manifests, file names and responses.
        self.description = description.visible
    }

    /// Returns the error with a clause before it, such as what stays as it was. The end of the message remains that which
    /// goes with the remedy.
    package func addingClause(_ clause: String) -> LarderError {
        var error = LarderError(kind, "\(clause): \(description)", remedy: remedy)
        error.isServerFailure = isServerFailure
        error.isExpired = isExpired
        error.isUpToDate = isUpToDate
        error.storeReason = storeReason
        error.unreachableStoreError = unreachableStoreError
        return error
    }

    package static let interrupted = LarderError(.interrupted, "interrupted; run the same command again")

    package init(_ error: SystemError) {
        self.init(.machine, error.description)
    }

    /// An error of the store. `.request` is an error of the input, everything else one of the machine.
    package init(_ error: StoreError) {
        self.init(error.reason == .request ? .input : .machine, error.description, remedy: error.remedy)
        storeReason = error.reason
        if error.reason == .unreachable { unreachableStoreError = error }
    }

    package init(_ error: FetchFailure) {
        self.init(.machine, "\(error); \(error.advice)")
    }

    /// - Parameter storedCount: The number of URLs in the snapshot that the error ended, if known.
    package init(_ error: CrawlError, storedCount: Int? = nil) {
        switch error {
        case .pattern(let mistake):
            self.init(.input, mistake.description)
        case .store(let error):
            self.init(
                .machine, "\(error.problem)\(Self.storedURLs(storedCount)); \(error.advice)",
                remedy: error.remedy)
            storeReason = error.reason
            if error.reason == .unreachable { unreachableStoreError = error }
        case .fetch:
            self.init(.machine, error.description + Self.storedURLs(storedCount))
        }
    }

    private static func storedURLs(_ count: Int?) -> String {
        switch count {
        case nil: ""
        case 0?: "; nothing of this snapshot is stored"
        case 1?: "; the 1 URL that this snapshot has is stored and will not be requested again"
        case let count?:
            "; the \(count) URLs that this snapshot has are stored and will not be requested again"
        }
    }

    package init(_ error: ManifestError) {
        self.init(.input, error.description, remedy: error.likelyFormat.map { .format($0.rawValue) })
    }

    package init(_ error: NetworkOptionError) {
        self.init(.input, error.description)
    }

    package init(_ error: URLInputError) {
        self.init(.input, error.description)
    }

    /// The failure to fetch a single URL.
    package init(_ failure: FetchFailure, fetching url: WebURL) {
        // Most failures of the machine are about space for large bodies.
        let advice =
            failure.kind == .machine ? "; set TMPDIR to a writable folder with enough space" : ""
        self.init(.machine, "\(url.href): \(failure)\(advice)")
        isServerFailure = failure.kind != .machine && failure.kind != .diskFull
    }
}

extension FetchFailure {
    /// The advice for the failure.
    package var advice: String {
        switch kind {
        case .unknownHost: "check the host name and the network"
        case .unreachable: "check that the server is running, and the network"
        case .timeout: "try again later, or allow more time"
        case .insecure: "trust its certificate authority, or disable the check of certificates"
        case .broken: "run the same command again"
        case .invalidResponse: "check the scheme and the port of the URL"
        case .tooLarge: "allow larger bodies, or leave it out"
        case .endless: "exclude it, then run the same command again"
        case .diskFull: "free some space on the disk, or exclude large files"
        case .refused: "name another URL, or allow this one"
        case .mismatch: "run the same command again to download it from the start"
        case .interrupted: "run the same command again"
        case .machine: "fix that, then run the same command again"
        }
    }
}

extension NetworkOptions {
    /// The options of the fetch loop.
    ///
    /// - Throws: `LarderError` of kind `.input` that names the invalid option.
    package func options(for start: [WebURL], spoolFolder: String) throws(LarderError) -> FetchOptions {
        do throws(NetworkOptionError) {
            return try fetchOptions(for: start, spoolFolder: spoolFolder)
        } catch {
            throw LarderError(error)
        }
    }
}

extension WebURL {
    /// Parses a URL that a user typed; see `parseUserInput`.
    ///
    /// - Throws: `LarderError` of kind `.input` if the text is not an http or https URL.
    package static func start(_ text: String, allowsSingleWord: Bool = false) throws(LarderError) -> WebURL {
        do throws(URLInputError) { return try parseUserInput(text, allowsSingleWord: allowsSingleWord) } catch
        {
            throw LarderError(error)
        }
    }

    /// All start URLs, and the first of them, which names the site.
    package static func starts(_ texts: [String]) throws(LarderError) -> (first: WebURL, all: [WebURL]) {
        var all: [WebURL] = []
        for text in texts { all.append(try start(text)) }
        guard let first = all.first else {
            throw LarderError(.input, "no URL is given: name one, such as https://example.com/")
        }
        return (first, all)
    }
}

/// Runs `body` and turns its `StoreError` into a `LarderError`.
package func mapStoreError<Value>(_ body: () throws(StoreError) -> Value) throws(LarderError) -> Value {
    do throws(StoreError) { return try body() } catch { throw LarderError(error) }
}
