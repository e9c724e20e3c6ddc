internal import Digest
internal import Fetch
internal import Glibc
internal import Reports
internal import Store
internal import System
internal import Web

/// The results of earlier checks of links to other sites, in the store or in a file. A store that cannot be read or written has
/// none: they only save requests.
struct LinkResultCache {
    private enum Place {
        case store(ActivityDatabase)
        /// A file with the results that it had when the check began.
        case file(path: String, [String: LinkResult])
        case none
    }

    private let place: Place
    private let maxAge: Duration
    /// The time of the check, in seconds since 1970.
    private let now: Int64
    /// The end of all keys, so that results of requests with other options are separate. Empty for the usual options.
    private let suffix: String

    /// Older results are removed when new ones are stored.
    private static let lifetime: Int64 = 30 * 24 * 3600
    /// A file with more bytes is not read.
    private static let maxFileBytes = 128 << 20
    /// Beyond it, the oldest results of a file are removed.
    private static let maxFileResults = 200_000

    /// - Parameters:
    ///   - path: the file that has the results instead of the store; nil for the store.
    ///   - identity: what `requestIdentity` returns; nil to use no results.
    /// - Throws: `LarderError` of kind `.input` if the file is something else, or cannot be read or written.
    init(_ folder: StoreFolder, file path: String?, maxAge: Duration, now: Int64, for identity: String?)
        throws(LarderError)
    {
        (self.maxAge, self.now) = (maxAge, now)
        let digest = identity.flatMap { text -> String? in
            guard !text.isEmpty else { return nil }
            let bytes = Array(text.utf8)
            return DigestStream.digest(.sha256, of: bytes.span).hex
        }
        suffix = digest.map { " " + $0.prefix(32) } ?? ""
        if identity == nil {
            place = .none
        } else if let path {
            place = .file(path: path, try Self.read(path))
        } else if folder.exists, let database = try? ActivityDatabase(folder) {
            place = .store(database)
        } else {
            place = .none
        }
    }

    /// The options that may change the answers of servers, as a text; empty for the usual ones. Nil if requests have secrets:
    /// neither these nor their digests may get into a cache, which CI servers may publish.
    ///
    /// - Parameter zone: the network zone of the documents. Results from private addresses must not get into checks of public
    ///   pages.
    static func requestIdentity(_ options: LinkCheckOptions, _ zone: NetworkZone) -> String? {
        let network = options.network ?? NetworkOptions()
        guard network.headers.isEmpty, network.cookies.isEmpty, network.netrc == nil, network.login == nil,
            network.certificate == nil
        else { return nil }
        var parts = network.resolve
        parts += [
            network.userAgent, network.proxy, network.authorities, network.family.map { "\($0)" },
        ].compactMap { $0 }
        if network.isInsecure { parts.append("any certificate") }
        if network.mayReachPrivate { parts.append("may reach private addresses") }
        if options.acceptedStatuses != AcceptedStatuses() {
            parts.append("accepts \(options.acceptedStatuses)")
        }
        if zone != .thisMachine { parts.append("zone \(zone.name)") }
        return parts.joined(separator: "\n")
    }

    /// The results that are used again, by URL. Whatever prevented a result may have passed.
    func results(of urls: [WebURL]) -> [String: ExternalLinks.Result] {
        let seconds = min(maxAge.components.seconds, now)
        guard seconds > 0 else { return [:] }
        let keys = Set(urls.map { $0.href + suffix })
        let known: [String: LinkResult]
        switch place {
        case .store(let database):
            known = (try? database.linkResults(of: keys, since: now - seconds, until: now)) ?? [:]
        case .file(_, let results):
            known = results.filter { key, result in
                keys.contains(key) && result.at >= now - seconds && result.at <= now
            }
        case .none: known = [:]
        }
        var results: [String: ExternalLinks.Result] = [:]
        for (key, stored) in known {
            guard let verdict = LinkCheckReport.Verdict(rawValue: stored.verdict), Self.isLasting(verdict)
            else { continue }
            results[String(key.dropLast(suffix.count))] = .init(verdict: verdict, detail: stored.detail)
        }
        return results
    }

    /// Stores results by URL. Does nothing if that is not possible, such as because the disk is full.
    func store(_ results: [String: ExternalLinks.Result]) {
        let stored = results.filter { Self.isLasting($0.value.verdict) }.map { href, result in
            LinkResult(href: href + suffix, at: now, verdict: result.verdict.rawValue, detail: result.detail)
        }
        guard !stored.isEmpty else { return }
        switch place {
        case .store(let database):
            try? database.recordLinkResults(stored, removingOlderThan: now - Self.lifetime)
        case .file(let path, let earlier):
            var all = earlier.filter { $0.value.at >= now - Self.lifetime }
            for result in stored { all[result.href] = result }
            try? WholeFile.write(Self.text(of: all), to: path)
        case .none: break
        }
    }

    private static func isLasting(_ verdict: LinkCheckReport.Verdict) -> Bool {
        switch verdict {
        case .verified, .redirected, .fragmentMissing, .dead: true
        case .ignored, .notChecked, .mixedContent, .blocked, .failed, .timedOut: false
        }
    }
}

// MARK: - Files

extension LinkResultCache {
    private static func read(_ path: String) throws(LarderError) -> [String: LinkResult] {
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        let folder = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        guard WholeFile.exists(path) else {
            guard access(folder, W_OK) == 0, !Folder.exists(path) else {
                throw LarderError(
                    .input, "cannot write the cache \(path): \(SystemError.lastText); name another file")
            }
            return [:]
        }
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try WholeFile.read(path, atMost: maxFileBytes)
        } catch {
            throw LarderError(.input, "\(error); remove the file, or name another one")
        }
        guard let value = try? JSONValue.parse(bytes.span), let entries = value["linkResults"]?.array else {
            throw LarderError(.input, "\(path) is not a cache of links; remove the file, or name another one")
        }
        var results: [String: LinkResult] = [:]
        for entry in entries {
            guard let key = entry["url"]?.string, let at = entry["at"]?.int,
                let verdict = entry["verdict"]?.string
            else { continue }
            results[key] = LinkResult(
                href: key, at: Int64(at), verdict: verdict, detail: entry["detail"]?.string ?? "")
        }
        return results
    }

    private static func text(of results: [String: LinkResult]) -> String {
        var newest = Array(results.values)
        if newest.count > maxFileResults {
            newest.sort { ($1.at, $0.href) < ($0.at, $1.href) }
            newest.removeLast(newest.count - maxFileResults)
        }
        newest.sort { $0.href < $1.href }
        let entries = newest.map { result -> JSONMembers in
            ["url": result.href, "at": result.at, "verdict": result.verdict, "detail": result.detail]
        }
        return (["linkResults": entries] as JSONMembers).text() + "\n"
    }
}
