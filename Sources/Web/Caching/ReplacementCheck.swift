/// Decides whether a new response may replace the stored response of its URL.
///
/// A captive portal, a login page or a broken server responds to many URLs in the same way. One such response may
/// be a real change; several within one run, or within one hour, are not. The caller passes each new response
/// with the stored one. The verdict is to replace the stored response, to keep it, or to restore responses
/// that were replaced earlier. Restoring means storing the earlier copy again.
///
/// For example, a hotel network answers every request with its own page. The page for the first URL replaces the
/// stored response, since it may be a real change. With the page for the third URL, the check sees that three
/// different stored responses became one: it rejects the page and restores the first two.
///
/// The state consists of three tables:
/// - `doubts`: rejected changes by URL. A doubt ends if the URL returns a normal response, or if the same change is
///   accepted: the URL shows it again later, and the origin is known to respond by then. That is an https origin after
///   an hour, or another origin after it sent something that a portal cannot have (`provesOrigin`).
/// - `groups`: URLs with the same new body, title or redirect target. A group with too many different stored
///   responses is doubtful, and replacements of its members are restored.
/// - `hosts`: replacements of a run per host and reason, which are restored if there are too many of them.
///
/// The value is not thread-safe. The caller serializes calls.
package struct ReplacementCheck: Sendable {
    /// The operation that loads the responses.
    package enum Purpose: Sendable {
        /// A run that requests most URLs of a site. At its end, the number of URLs that changed alike is
        /// known.
        case run
        /// A server, a proxy or an app. It cannot know the next responses, so it rejects the first doubtful
        /// one.
        case serving
    }

    /// The reason why a response does not replace the stored one.
    package enum Reason: String, Sendable, CaseIterable {
        case truncated
        case empty
        /// 404 or 410 for a large share of the host's URLs.
        case gone
        /// Another error status.
        case refused
        /// The same body or title for URLs whose stored responses differ.
        case identical
        case login
        case challenge
        case redirect
        case otherType = "other-type"
        case withoutCredentials = "without-credentials"

        package var text: String {
            switch self {
            case .truncated: "the new response is cut short"
            case .empty: "the new response is empty"
            case .gone: "the server says that it is gone, as for many other URLs"
            case .refused: "the server answered with an error"
            case .identical: "the new response is the same as for other URLs"
            case .login: "the new response is a login page"
            case .challenge: "the new response is a bot challenge"
            case .redirect: "the server redirects to another host, as for many other URLs"
            case .otherType: "the new response is HTML instead of another type"
            case .withoutCredentials:
                "the stored response was fetched with credentials, the new one without"
            }
        }
    }

    /// The decision about a response.
    package struct Verdict: Sendable, Equatable {
        /// The reason not to replace the stored response; nil if the new response may replace it.
        package var rejected: Reason?
        /// URLs whose stored responses must be restored.
        package var restored: [Restored] = []
    }

    /// A URL whose replacement turned out to be wrong.
    package struct Restored: Sendable, Equatable {
        package let href: String
        package let reason: Reason
    }

    private let purpose: Purpose
    /// Whether responses that were fetched with credentials are never replaced, since the requests lack these
    /// credentials.
    private let keepsPrivate: Bool
    private var hosts: [String: Host] = [:]
    /// URLs whose new responses are alike, by the hash of the body, title or redirect target that they have
    /// in common.
    private var groups: [UInt64: Group] = [:]
    /// Changes that were rejected, by the hash of the URL.
    private var doubts: [UInt64: Doubt] = [:]

    /// The state of a host.
    private struct Host {
        /// The time at which the host last sent a response that only the origin can send.
        var lastProof: Int64?
        /// The number of judged responses to URLs with a stored response.
        var judged = 0
        /// The URLs whose changes were rejected since the last proof.
        var doubtful: Set<UInt64> = []
        /// Replacements of a run that are restored if there are too many for one reason.
        var replaced: [Reason: [String]] = [:]
        /// Reasons that were too frequent. Further changes with these reasons are rejected at once.
        var excessive: Set<Reason> = []
    }

    /// A rejected change, and the time when it was first rejected, in seconds since 1970.
    private struct Doubt {
        var reason: Reason
        var since: Int64
    }

    /// URLs whose new responses are alike.
    private struct Group {
        /// A URL of the group, with its earlier response.
        struct Member {
            let url: UInt64
            let href: String
            let stored: UInt64
            var isReplaced: Bool
        }

        let byteCount: Int
        var time: Int64
        var members: [Member] = []
        /// Digests of the earlier bodies of the members, or hashes of their earlier titles.
        var stored: Set<UInt64> = []
    }

    private static let hour: Int64 = 3600
    /// The time for which a proof of the origin applies to other URLs of its host.
    private static let proofSeconds: Int64 = 300
    /// Above these limits, older entries are dropped or new ones ignored. Fewer responses are then rejected,
    /// or for longer.
    private static let maxHosts = 4096
    private static let maxGroups = 1 << 16
    private static let maxDoubts = 1 << 16
    private static let maxMembers = 256
    /// Replacements above this limit are not restored.
    private static let maxReplaced = 1 << 16

    /// - Parameters:
    ///   - doubts: the result of `doubtTexts(now:)` of an earlier check of the same site.
    ///   - keepsPrivate: whether the requests lack the user's credentials.
    package init(_ purpose: Purpose, doubts: [String] = [], keepsPrivate: Bool = false) {
        self.purpose = purpose
        self.keepsPrivate = keepsPrivate
        for text in doubts.prefix(Self.maxDoubts) {
            let words = text.utf8.split(separator: UInt8(ascii: " ")).map { HTTPGrammar.text($0) }
            guard words.count == 3, let url = UInt64(words[0], radix: 16), let since = Int64(words[1]),
                let reason = Reason(rawValue: words[2])
            else { continue }
            self.doubts[url] = Doubt(reason: reason, since: since)
        }
    }

    /// The doubts that remain, for the check in the next run. Doubts older than 90 days are dropped.
    package func doubtTexts(now: Int64) -> [String] {
        doubts.filter { now - $0.value.since < Self.doubtSeconds }
            .map { "\(String($0.key, radix: 16)) \($0.value.since) \($0.value.reason.rawValue)" }
            .sorted().suffix(Self.maxDoubtTexts)
    }

    private static let doubtSeconds: Int64 = 90 * 24 * 3600
    private static let maxDoubtTexts = 2000
}

extension ReplacementCheck {
    /// Decides about a complete response to a GET without conditions.
    ///
    /// - Parameters:
    ///   - stored: nil if nothing is stored for the URL.
    ///   - comparison: the comparison of the two bodies, if ``needsComparison(_:with:)`` requires it.
    ///   - now: seconds since 1970.
    package mutating func judge(
        _ url: WebURL, stored: ResponseSummary?, new: ResponseSummary, comparison: BodyComparison? = nil,
        now: Int64
    ) -> Verdict {
        if keepsPrivate, stored?.isPrivate == true { return Verdict(rejected: .withoutCredentials) }
        let key = Self.hash(url.href)
        let isProof = new.provesOrigin(over: stored)
        if isProof { prove(url.host, now) }
        guard let stored, stored.isUsable else {
            // A portal's page is not stored for new URLs either.
            return Verdict(rejected: isAmongIdentical(new) ? .identical : nil)
        }
        change(url.host) { $0.judged += 1 }
        if isProof || new.digest == stored.digest && new.isUsable {
            doubts[key] = nil
            change(url.host) { $0.doubtful.remove(key) }
            return Verdict()
        }
        var verdict = Verdict()
        guard let reason = reason(url, key, stored, new, comparison, now, &verdict) else {
            doubts[key] = nil
            return verdict
        }
        if isAccepted(url, key, reason, stored, new, now) {
            doubts[key] = nil
            change(url.host) { $0.doubtful.remove(key) }
            return verdict
        }
        if purpose == .run, let limit = reason.maxToleratedInRun(stored, new) {
            return tolerate(url, key, reason, limit, now, verdict)
        }
        recordDoubt(url.host, key, reason, now)
        verdict.rejected = reason
        return verdict
    }

    /// Records a 304 for the stored response, which proves that the origin responded.
    package mutating func confirm(_ url: WebURL, now: Int64) {
        prove(url.host, now)
        doubts[Self.hash(url.href)] = nil
        change(url.host) { $0.judged += 1 }
    }

    /// Ends a run. Returns the replacements that turned out to be too many; their stored responses must be
    /// restored.
    package mutating func finish(now: Int64) -> [Restored] {
        var restored: [Restored] = []
        for (name, host) in hosts {
            for (reason, hrefs) in host.replaced where reason.isExcessive(hrefs.count, of: host.judged) {
                for href in hrefs {
                    recordDoubt(name, Self.hash(href), reason, now)
                    restored.append(Restored(href: href, reason: reason))
                }
            }
            change(name) { $0.replaced = [:] }
        }
        return restored.sorted { $0.href < $1.href }
    }

    /// Whether the bodies must be compared, since the new one may be a part of the stored one.
    package static func needsComparison(_ new: ResponseSummary, with stored: ResponseSummary) -> Bool {
        (200..<300).contains(new.status) && stored.status == 200 && new.byteCount > 0
            && new.byteCount < stored.byteCount && minComparedBytes <= stored.byteCount
            && stored.byteCount <= maxComparedBytes
    }

    /// Very short bodies may begin alike by chance.
    private static let minComparedBytes = 256
    private static let maxComparedBytes = 16 * 1024 * 1024

    // MARK: - Reasons

    /// The reason to doubt a response that differs from the stored one; nil if it is plausible.
    private mutating func reason(
        _ url: WebURL, _ key: UInt64, _ stored: ResponseSummary, _ new: ResponseSummary,
        _ comparison: BodyComparison?, _ now: Int64, _ verdict: inout Verdict
    ) -> Reason? {
        switch new.status {
        case 200..<300: break
        case 300..<400: return redirection(url, key, stored, new, now, &verdict)
        case 404, 410: return .gone
        default: return .refused
        }
        if new.byteCount == 0 { return stored.byteCount > 0 ? .empty : nil }
        if Self.isTruncated(stored, new, comparison) { return .truncated }
        if new.isChallenge { return .challenge }
        if new.isHTML, stored.isNeverHTML { return .otherType }
        if new.asksForLogin, !stored.hasLoginTitle { return .login }
        return isIdentical(url, key, stored, new, now, &verdict) ? .identical : nil
    }

    /// The reason to doubt a redirect. A permanent redirect to another host is accepted in a run, and so are
    /// temporary ones to different targets.
    private mutating func redirection(
        _ url: WebURL, _ key: UInt64, _ stored: ResponseSummary, _ new: ResponseSummary, _ now: Int64,
        _ verdict: inout Verdict
    ) -> Reason? {
        guard (200..<300).contains(stored.status), let target = new.target else { return nil }
        if LoginPageSigns.isLoginURL(target), !LoginPageSigns.isLoginURL(url) { return .login }
        func bare(_ host: String) -> Substring { host.hasPrefix("www.") ? host.dropFirst(4) : host[...] }
        guard bare(target.host) != bare(url.host) else { return nil }
        guard purpose == .run else { return .redirect }
        if new.status == 301 || new.status == 308 { return nil }
        let place = Self.hash("redirect \(target.origin)\(target.path)")
        return joinGroup(place, .redirect, 3, url, key, stored.digest, new, now, &verdict) ? .redirect : nil
    }

    private static func isTruncated(
        _ stored: ResponseSummary, _ new: ResponseSummary, _ comparison: BodyComparison?
    ) -> Bool {
        guard stored.status == 200, new.byteCount < stored.byteCount else { return false }
        switch new.ending {
        case .bytesBeyondLength: return true
        case .connection where comparison?.bothEnd == true: return false
        case .connection where stored.hasLength || comparison?.onlyStoredEnds == true: return true
        case .connection, .declared: break
        }
        guard let comparison, comparison.isPrefixOfStored else { return false }
        return new.isHTML || stored.isNeverHTML || new.hasSameValidator(as: stored)
    }

    // MARK: - Responses that are alike

    /// Whether the response is a page that replaced several different ones.
    private func isAmongIdentical(_ new: ResponseSummary) -> Bool {
        guard new.isHTML, new.status == 200, new.byteCount > 0, let group = groups[new.digest] else {
            return false
        }
        return group.stored.count >= minIdenticalResponses(new)
    }

    /// The number of different stored responses from which a group is doubtful. Assets such as empty images are more
    /// often identical than pages, and a run sees more of the site than a server.
    private func minIdenticalResponses(_ new: ResponseSummary) -> Int {
        switch purpose {
        case .run: new.isHTML ? 3 : 5
        case .serving: new.isHTML ? 2 : 4
        }
    }

    /// Whether several URLs with different stored responses now have this body or, in the case of pages, this
    /// title and about this length.
    private mutating func isIdentical(
        _ url: WebURL, _ key: UInt64, _ stored: ResponseSummary, _ new: ResponseSummary, _ now: Int64,
        _ verdict: inout Verdict
    ) -> Bool {
        let minDistinctStored = minIdenticalResponses(new)
        let isSame = joinGroup(
            new.digest, .identical, minDistinctStored, url, key, stored.digest, new, now, &verdict)
        guard new.isHTML, let title = new.title, !title.isEmpty, title != stored.title else { return isSame }
        let isTitled = joinGroup(
            Self.hash("title \(title)"), .identical, minDistinctStored, url, key,
            Self.hash(stored.title ?? ""), new, now,
            &verdict)
        return isSame || isTitled
    }

    /// Adds a URL to a group of URLs whose new responses are alike. Returns whether the group now includes at
    /// least `minDistinctStored` different stored responses; earlier replacements of the group are then restored.
    private mutating func joinGroup(
        _ id: UInt64, _ reason: Reason, _ minDistinctStored: Int, _ url: WebURL, _ key: UInt64,
        _ stored: UInt64,
        _ new: ResponseSummary, _ now: Int64,
        _ verdict: inout Verdict
    ) -> Bool {
        var group = groups[id] ?? Group(byteCount: new.byteCount, time: now)
        if purpose == .serving, now - group.time > Self.hour {
            group = Group(byteCount: new.byteCount, time: now)
        }
        // Pages that differ much in length are not alike, even with the same title.
        guard abs(group.byteCount - new.byteCount) <= Self.differingBytes + group.byteCount / 32 else {
            return false
        }
        group.time = now
        group.stored.insert(stored)
        let isDoubtful = group.stored.count >= minDistinctStored
        if isDoubtful {
            for place in group.members.indices where group.members[place].isReplaced {
                let member = group.members[place]
                group.members[place].isReplaced = false
                guard member.url != key, !verdict.restored.contains(where: { $0.href == member.href }) else {
                    continue
                }
                verdict.restored.append(Restored(href: member.href, reason: reason))
                recordDoubt(WebURL(member.href)?.host ?? "", member.url, reason, now)
            }
        }
        if group.members.count < Self.maxMembers, !group.members.contains(where: { $0.url == key }) {
            group.members.append(
                Group.Member(url: key, href: url.href, stored: stored, isReplaced: !isDoubtful))
        }
        if groups.count >= Self.maxGroups, groups[id] == nil {
            groups = groups.filter { $0.value.members.count > 1 }
            if groups.count >= Self.maxGroups / 2 { groups = [:] }
        }
        groups[id] = group
        return isDoubtful
    }

    private static let differingBytes = 256

    // MARK: - Deciding

    /// Whether a change that was rejected before is now accepted.
    private func isAccepted(
        _ url: WebURL, _ key: UInt64, _ reason: Reason, _ stored: ResponseSummary, _ new: ResponseSummary,
        _ now: Int64
    ) -> Bool {
        guard reason != .challenge, let doubt = doubts[key], doubt.reason == reason else { return false }
        // The response contradicts itself, however often it is received.
        if reason == .truncated, new.ending == .bytesBeyondLength || new.hasSameValidator(as: stored) {
            return false
        }
        if url.scheme == "https", now - doubt.since >= Self.hour { return true }
        guard let host = hosts[url.host], let proof = host.lastProof, proof >= doubt.since,
            purpose == .run || now - proof <= Self.proofSeconds
        else { return false }
        return purpose == .run ? now - doubt.since >= Self.hour : host.doubtful.subtracting([key]).isEmpty
    }

    /// Accepts a replacement provisionally. If there are more than `limit`, all of them are restored.
    private mutating func tolerate(
        _ url: WebURL, _ key: UInt64, _ reason: Reason, _ limit: Int, _ now: Int64, _ verdict: Verdict
    ) -> Verdict {
        var verdict = verdict
        let host = hosts[url.host] ?? Host()
        let replaced = host.replaced[reason] ?? []
        if !host.excessive.contains(reason), replaced.count < limit {
            if replaced.count < Self.maxReplaced {
                change(url.host) { $0.replaced[reason, default: []].append(url.href) }
            }
            return verdict
        }
        for href in replaced {
            recordDoubt(url.host, Self.hash(href), reason, now)
            verdict.restored.append(Restored(href: href, reason: reason))
        }
        change(url.host) { host in
            host.replaced[reason] = nil
            host.excessive.insert(reason)
        }
        recordDoubt(url.host, key, reason, now)
        verdict.rejected = reason
        return verdict
    }

    /// Records that the host itself, not a portal, sent a response.
    private mutating func prove(_ host: String, _ now: Int64) {
        change(host) { host in
            host.lastProof = now
            host.doubtful.removeAll()
        }
    }

    /// Records a rejected change of a URL.
    private mutating func recordDoubt(_ host: String, _ key: UInt64, _ reason: Reason, _ now: Int64) {
        change(host) { host in
            if host.doubtful.count < Self.maxMembers { host.doubtful.insert(key) }
        }
        if doubts[key]?.reason == reason { return }
        if doubts.count >= Self.maxDoubts { doubts = doubts.filter { now - $0.value.since < Self.hour } }
        if doubts.count < Self.maxDoubts { doubts[key] = Doubt(reason: reason, since: now) }
    }

    private mutating func change(_ host: String, _ body: (inout Host) -> Void) {
        if hosts[host] == nil, hosts.count >= Self.maxHosts { return }
        body(&hosts[host, default: Host()])
    }

    /// The FNV-1a hash of a text. It is stored with doubts, so it must be the same in every run.
    private static func hash(_ text: String) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        return hash
    }
}

extension ReplacementCheck.Reason {
    /// The number of such replacements per host that a run makes before it restores them; nil if the first
    /// one is rejected.
    fileprivate func maxToleratedInRun(_ stored: ResponseSummary, _ new: ResponseSummary) -> Int? {
        switch self {
        // The share of these is only known at the end.
        case .gone: .max
        case .empty: stored.isHTML || new.isHTML ? nil : 2
        case .login: 1
        case .truncated, .refused, .identical, .redirect, .challenge, .otherType, .withoutCredentials: nil
        }
    }

    /// Whether a run restores its replacements at its end.
    fileprivate func isExcessive(_ count: Int, of judged: Int) -> Bool {
        self == .gone && count >= 3 && count * 2 >= judged
    }
}
