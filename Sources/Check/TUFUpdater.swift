package import Fetch
internal import Glibc
package import System
package import TUF
package import Web

/// Stores the trusted metadata of a TUF repository between updates.
package protocol TUFStorage {
    /// Returns the content of a stored file, `.missing` or `.tooLarge`.
    func read(_ name: String, atMost maxBytes: Int) throws(LarderError) -> TUFClient.Answer
    /// Makes a change, which must be permanent when the call returns.
    mutating func apply(_ change: TUFClient.Change) throws(LarderError)
}

/// The driver of a `TUFClient`: stores its trusted metadata, and fetches the files that it requests. Blocks.
package struct TUFUpdater<Storage: TUFStorage> {
    /// The client, for the versions, the expiry and the keys of the metadata.
    package private(set) var client: TUFClient
    /// The trusted metadata, with all changes.
    package private(set) var storage: Storage
    private let metadata: WebURL
    private let fetcher: TUFFetcher

    /// - Parameters:
    ///   - metadata: the URL of the folder with `timestamp.json`.
    ///   - now: the start of the update in seconds since 1970.
    package init(
        metadata: WebURL, storage: Storage, fetcher: TUFFetcher,
        now: Int64 = SystemClock.secondsSinceEpoch(), limits: TUFLimits = TUFLimits()
    ) {
        client = TUFClient(now: now, limits: limits)
        self.metadata = metadata.folder
        self.storage = storage
        self.fetcher = fetcher
    }

    /// Updates the top-level metadata.
    ///
    /// - Throws: `LarderError` of kind `.refused` if metadata is not trusted, `.machine` if the repository cannot be reached.
    package mutating func refresh() throws(LarderError) { try run() }

    /// Returns a target of the trusted metadata. Updates the metadata unless that is done, and fetches the delegated
    /// roles that are needed.
    ///
    /// - Throws: `LarderError` as `refresh()` does, and of kind `.refused` if there is no such target.
    package mutating func find(_ path: String) throws(LarderError) -> TUFTarget {
        client.find(path)
        try run()
        guard let target = client.target else {
            let error = TUFError(.unknownTarget, path, "the repository has no such target")
            throw LarderError(error, of: metadata)
        }
        return target
    }

    /// Returns all targets of the trusted metadata. Updates the metadata unless that is done, and fetches all delegated
    /// roles.
    ///
    /// - Throws: `LarderError` as `refresh()` does.
    package mutating func list() throws(LarderError) -> [TUFTarget] {
        client.list()
        try run()
        return client.targets
    }

    private mutating func run() throws(LarderError) {
        while let request = try next() {
            for change in try receive(try answer(request)) { try storage.apply(change) }
        }
    }

    private mutating func next() throws(LarderError) -> TUFClient.Request? {
        do throws(TUFError) { return try client.nextRequest() } catch {
            throw LarderError(error, of: metadata)
        }
    }

    private mutating func receive(_ answer: TUFClient.Answer) throws(LarderError) -> [TUFClient.Change] {
        do throws(TUFError) { return try client.receive(answer) } catch {
            throw LarderError(error, of: metadata)
        }
    }

    private func answer(_ request: TUFClient.Request) throws(LarderError) -> TUFClient.Answer {
        switch request.source {
        case .storage: return try storage.read(request.name, atMost: request.maxBytes)
        case .server:
            guard let url = WebURL("./" + request.name, base: metadata) else {
                return .failed("\(metadata.href) is not the URL of a folder")
            }
            return try fetcher.fetch(url, atMost: request.maxBytes)
        }
    }
}

/// Fetches the files of a repository into memory. It belongs to one thread.
package final class TUFFetcher {
    private let network: NetworkOptions?
    private let nearestZone: NetworkZone
    private let interruption: Interruption
    /// The most public network zone that a file came from so far; `nearestZone` before the first one. All files count as
    /// coming from this zone, so they may refer only to URLs in it or in a more public one.
    package private(set) var zone: NetworkZone
    /// The number of requests.
    package private(set) var requestCount = 0

    /// The default total timeout of a request.
    private static let defaultTimeout: Duration = .seconds(60)

    /// - Parameter nearestZone: the nearest network zone that requests may connect to.
    package init(_ network: NetworkOptions?, nearestZone: NetworkZone, _ interruption: Interruption) {
        self.network = network
        self.nearestZone = nearestZone
        self.interruption = interruption
        zone = nearestZone
    }

    /// Fetches a file. The transfer ends as soon as the file exceeds the limit.
    ///
    /// - Throws: `LarderError` if the options are wrong, this machine fails or the work is interrupted. A failure of the
    ///   server or the network is returned as `.failed`.
    package func fetch(_ url: WebURL, atMost maxBytes: Int) throws(LarderError) -> TUFClient.Answer {
        switch try response(url, maxBytes) {
        case .success(let response):
            zone = min(zone, response.zone ?? .publicNetwork)
            let body = response.body
            defer { body.discard() }
            return .bytes(try Self.bytes(of: body))
        case .failure(let failure):
            // The status comes first: the page of an error may be larger than the file.
            switch failure.status {
            // Object stores answer 403 for a missing object if its folder may not be listed.
            case 404, 403, 410: return .missing
            case let status?: return .failed("the server answered \(status)")
            case nil: return failure.kind == .tooLarge ? .tooLarge : .failed(failure.description)
            }
        }
    }

    /// Fetches a target, and throws unless it is the one that metadata describes.
    package func fetch(_ target: TUFTarget, at url: WebURL) throws(LarderError) -> [UInt8] {
        let bytes: [UInt8]
        switch try fetch(url, atMost: target.file.byteCount) {
        case .bytes(let body): bytes = body
        case .missing:
            let error = TUFError(.missing, target.path, "the server does not have it")
            throw LarderError(error, of: url)
        case .tooLarge:
            let error = TUFError(.tooLarge, target.path, "is over \(target.file.byteCount) bytes")
            throw LarderError(error, of: url)
        case .failed(let reason):
            throw LarderError(TUFError(.unreachable, target.path, reason), of: url)
        }
        do throws(TUFError) { try target.file.require(bytes, path: target.path) } catch {
            throw LarderError(error, of: url)
        }
        return bytes
    }

    private func response(_ url: WebURL, _ maxBytes: Int) throws(LarderError)
        -> Result<FetchedResponse, FetchFailure>
    {
        var options = FetchOptions.forReading
        if let network { options = try network.options(for: [url], spoolFolder: options.spoolFolder) }
        options.totalTimeout = options.totalTimeout ?? Self.defaultTimeout
        options.maxBodyBytes = min(options.maxBodyBytes, maxBytes)
        // The user may allow a nearer zone than that of the manifest or person that named the repository.
        let requestZone = max(network?.allowedZone(nearestZone) ?? .publicNetwork, nearestZone)
        requestCount += 1
        var outcome: Result<FetchedResponse, FetchFailure>?
        do throws(FetchFailure) {
            var request: FetchRequest? = FetchRequest(number: 0, url: url, nearestZone: requestZone)
            try FetchBatch.run(
                options: options, interruption: interruption, next: { request.take() },
                each: { outcome = $1 })
        } catch {
            throw LarderError(error, fetching: url)
        }
        guard let outcome else { throw .interrupted }
        if case .failure(let failure) = outcome, failure.kind == .machine || failure.kind == .diskFull {
            throw LarderError(failure, fetching: url)
        }
        return outcome
    }

    private static func bytes(of body: FetchedBody) throws(LarderError) -> [UInt8] {
        switch body {
        case .bytes(let bytes): return bytes
        case .file(let path, let byteCount):
            do throws(SystemError) { return try WholeFile.read(path, atMost: byteCount) } catch {
                throw LarderError(error)
            }
        }
    }
}

/// Trusted metadata as files in a folder, with the names of the specification: `root.json`, `timestamp.json` and so on.
package struct TUFMetadataFolder: TUFStorage {
    package let path: String

    package init(_ path: String) { self.path = path }

    /// Whether the folder has a trusted root.
    package var hasRoot: Bool { WholeFile.exists("\(path)/root.json") }

    package func read(_ name: String, atMost maxBytes: Int) throws(LarderError) -> TUFClient.Answer {
        let file = "\(path)/\(name)"
        do throws(SystemError) {
            let bytes = try WholeFile.beginning(of: file, maxBytes + 1)
            return bytes.count > maxBytes ? .tooLarge : .bytes(bytes)
        } catch {
            guard error.code == ENOENT else { throw LarderError(error) }
            return .missing
        }
    }

    package func apply(_ change: TUFClient.Change) throws(LarderError) {
        do throws(SystemError) {
            switch change {
            case .store(let name, let bytes):
                let draft = try WholeFile.makeTemporary(in: path, named: ".draft", bytes)
                do throws(SystemError) {
                    // Synced before it replaces the old file: after a power cut, the file has its old or its new content.
                    try WholeFile.sync(draft)
                    guard rename(draft, "\(path)/\(name)") == 0 else {
                        throw SystemError(errno, doing: "write", "\(path)/\(name)")
                    }
                } catch {
                    unlink(draft)
                    throw error
                }
            case .remove(let name):
                guard unlink("\(path)/\(name)") == 0 || errno == ENOENT else {
                    throw SystemError(errno, doing: "remove", "\(path)/\(name)")
                }
            }
            try WholeFile.sync(path)
        } catch {
            throw LarderError(error)
        }
    }
}

extension LarderError {
    /// The error of an update.
    ///
    /// - Parameter place: the URL of the metadata or the target.
    package init(_ error: TUFError, of place: WebURL) {
        let isUnreachable = error.reason == .unreachable
        self.init(isUnreachable ? .machine : .refused, "\(place.href): \(error)")
        isServerFailure = isUnreachable
        isExpired = error.reason == .expired
    }
}

extension WebURL {
    /// The URL with a slash at the end of its path, and without query and fragment, as the base of the files below it.
    package var folder: WebURL {
        let href = withoutFragment.href
        let plain = String(decoding: href.utf8.prefix { $0 != UInt8(ascii: "?") }, as: UTF8.self)
        return WebURL(plain.utf8.last == UInt8(ascii: "/") ? plain : plain + "/") ?? self
    }
}
