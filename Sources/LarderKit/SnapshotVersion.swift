internal import Glibc
internal import Reports
internal import Store
internal import System
internal import Web

/// The word after `@` in `SITE@WORD`, which says which snapshot of a site is meant.
enum SnapshotVersion: Equatable {
    /// The snapshot with this name.
    case name(SnapshotName)
    /// The last snapshot that had begun at this time, in seconds since 1970.
    case atOrBefore(Int64)
    /// The live snapshot.
    case live

    /// Parses a number (`3`, `3+`), a day in local time (`2026-11-29`, `yesterday`, `today`), a time
    /// (`2026-11-29T12:00:00Z`) or `latest`. A day means its end. Nil for any other word.
    init?(_ word: String, now: Int64) {
        switch word {
        case "latest": self = .live
        case "today", "yesterday":
            let local = now + SystemClock.utcOffset(at: now)
            let midnight = local - local % Self.secondsPerDay
            self = .atOrBefore(
                SystemClock.endOfDay(from: midnight - (word == "today" ? 0 : Self.secondsPerDay)))
        default:
            if let name = SnapshotName(word) {
                self = .name(name)
            } else if word.utf8.count >= "2026-11-29".utf8.count, let date = HTTPDate(iso8601: word) {
                let isDay = !word.utf8.contains(UInt8(ascii: "T"))
                self = .atOrBefore(
                    isDay ? SystemClock.endOfDay(from: date.secondsSinceEpoch) : date.secondsSinceEpoch)
            } else {
                return nil
            }
        }
    }

    private static let secondsPerDay: Int64 = 86_400

    /// Returns the snapshot of a site that is meant; nil for the live one.
    ///
    /// - Parameter word: the word, for the error.
    /// - Throws: `LarderError` of kind `.input` if the site has no such snapshot. It lists the others.
    func snapshot(of site: StatusReport.Site, _ word: String) throws(LarderError) -> SnapshotName? {
        switch self {
        case .live: return nil
        case .name(let name):
            guard site.snapshots.contains(where: { $0.name == name }) else {
                throw Self.notFoundError("\(site.name) has no snapshot \(name)", site)
            }
            return name
        case .atOrBefore(let end):
            let found = site.snapshots.last {
                $0.finished != nil && !$0.isRejected && !$0.name.isOverlay
                    && $0.started.secondsSinceEpoch <= end
            }
            guard let found else {
                throw Self.notFoundError("\(site.name) has no snapshot of \(word) or before", site)
            }
            return found.name
        }
    }

    /// The error for a word that is no version.
    static func notVersionError(_ word: String, _ site: StatusReport.Site) -> LarderError {
        notFoundError("\"\(word)\" is neither the number nor the date of a snapshot of \(site.name)", site)
    }

    private static func notFoundError(_ reason: String, _ site: StatusReport.Site) -> LarderError {
        let snapshots = site.snapshots.filter { !$0.name.isOverlay }.suffix(maxListed)
        let list = snapshots.map { "\($0.name) (\(localDay($0.started.secondsSinceEpoch)))" }.joined(
            separator: ", ")
        let isCut = snapshots.count < site.snapshots.count(where: { !$0.name.isOverlay })
        return LarderError(.input, "\(reason); \(isCut ? "the last ones are" : "it has"): \(list)")
    }

    /// The maximum number of snapshots in an error. The last ones are listed.
    private static let maxListed = 8

    /// The day of a time, in local time: `2026-11-29`.
    private static func localDay(_ seconds: Int64) -> String {
        String(Wording.date(seconds + SystemClock.utcOffset(at: seconds)).prefix("2026-11-29".utf8.count))
    }
}

/// A site or URL, and the snapshot that a user named together with it, such as `https://example.com/page@2026-11-29`.
package struct SnapshotOperand: Sendable, Equatable {
    /// The site or URL.
    package var site: String
    /// The snapshot; nil for the live one.
    package var snapshot: SnapshotName?
    /// The name of the site that has the snapshot; nil if there is no snapshot.
    package var owner: String?
}

extension Larder {
    /// Splits `SITE@VERSION` or `URL@VERSION`, such as `https://example.com/@3` or `https://example.com/page@yesterday`,
    /// into the site or URL and the snapshot. A text that is a stored URL, or that does not end with a version of a
    /// stored site or URL, stays whole: URLs may end in the same way, such as `https://cdn.example/vue@3`.
    ///
    /// - Throws: `LarderError` of kind `.input` if the site or URL is stored, but not in such a snapshot. The error lists
    ///   the snapshots.
    package func splitSnapshotName(_ text: String) async throws(LarderError) -> SnapshotOperand {
        let whole = SnapshotOperand(site: text)
        guard let sign = text.lastIndex(of: "@") else { return whole }
        let (target, word) = (String(text[..<sign]), String(text[text.index(after: sign)...]))
        let version = SnapshotVersion(word, now: SystemClock.secondsSinceEpoch())
        // `https://example.com/@name` may be a page.
        let isMistake = version == nil && (word.utf8.first?.isASCIIDigit == true || !target.hasSuffix("/"))
        guard !target.isEmpty, !word.utf8.contains(UInt8(ascii: "/")), version != nil || isMistake else {
            return whole
        }
        let sites = try await snapshots().sites
        let names = sites.map(\.name)
        guard SiteName.exactIndex(of: text, among: names) == nil else { return whole }
        let index = SiteName.index(of: target, among: names, acceptsOrigin: true)
        let isOfPage = if index == nil { true } else { try await isPageOnly(target) }
        let owner: StatusReport.Site
        if let index, !isOfPage {
            owner = sites[index]
        } else {
            let owners = try await sitesStoring(target)
            let stored = sites.filter { owners.contains($0.name) }
            guard let first = stored.last(where: { $0.name == index.map { sites[$0].name } }) ?? stored.first,
                try await sitesStoring(text).isEmpty
            else {
                if case .atOrBefore? = version, owners.isEmpty {
                    throw Self.notStoredError(target, word)
                }
                return whole
            }
            // Of several sites, one that has such a snapshot.
            owner =
                stored.first { (try? version?.snapshot(of: $0, word)) != nil }
                ?? first
        }
        guard let version else { throw SnapshotVersion.notVersionError(word, owner) }
        let snapshot = try version.snapshot(of: owner, word)
        return SnapshotOperand(site: target, snapshot: snapshot, owner: snapshot.map { _ in owner.name })
    }

    /// Returns the snapshot that a version means, such as `3`, `yesterday` or `2026-11-29`; nil for the live one.
    ///
    /// - Parameter target: the site, or a URL that it has stored.
    /// - Throws: `LarderError` of kind `.input` if there is no such site, URL or snapshot.
    package func snapshot(_ word: String, of target: String) async throws(LarderError) -> SnapshotName? {
        // The command that gets the number reports an unknown site or snapshot.
        if let name = SnapshotName(word) { return name }
        let sites = try await snapshots().sites
        let index = SiteName.index(of: target, among: sites.map(\.name), acceptsOrigin: true)
        let owners = try await sitesStoring(target)
        guard let site = index.map({ sites[$0] }) ?? sites.first(where: { owners.contains($0.name) }) else {
            throw Self.notStoredError(target, word)
        }
        guard let version = SnapshotVersion(word, now: SystemClock.secondsSinceEpoch()) else {
            throw SnapshotVersion.notVersionError(word, site)
        }
        return try version.snapshot(of: site, word)
    }

    /// Whether a text is not the name or host of a site, but a stored URL.
    package func isPageOnly(_ text: String) async throws(LarderError) -> Bool {
        let names = try await snapshots().sites.map(\.name)
        guard SiteName.index(of: text, among: names) == nil else { return false }
        return try await !sitesStoring(text).isEmpty
    }

    private static func notStoredError(_ target: String, _ word: String) -> LarderError {
        LarderError(
            .input,
            "there is no snapshot of \(target) of \(word): it is not stored; prefetch it, or name a stored site"
        )
    }

    /// The names of the sites that have stored a URL in any snapshot.
    private func sitesStoring(_ text: String) async throws(LarderError) -> Set<String> {
        guard let url = (try? WebURL.parseUserInput(text))?.key else { return [] }
        return try await readStore("larder-look") { (reader) throws(StoreError) in
            Set(
                try reader.versions(of: url.href).filter {
                    $0.response.request == .get && $0.response.status < 400
                }
                .map(\.site))
        }
    }
}
