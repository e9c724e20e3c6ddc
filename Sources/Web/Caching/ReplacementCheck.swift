/// Decides whether a new response may replace the stored response of its URL.
///
/// A captive portal, a login page or a broken server answers many URLs in the same way. One such response may be a real
/// change; several within one run, or within one hour, are not. The caller passes each new response with the stored one,
/// and is told to replace the stored response, to keep it, or to restore responses that were replaced earlier. Restoring
/// means storing the earlier copy again.
///
/// A change that was held back is accepted when the URL shows it again later and the origin is known to answer by then:
/// an https origin after an hour, any other one when it has just sent something that a portal does not have, such as the
/// confirmation of a stored copy.
package struct ReplacementCheck: Sendable {
    /// The operation that loads the responses.
    package enum Purpose: Sendable {
        /// One run that asks for most URLs of a site. It knows at its end how many of them changed alike.
        case run
        /// A server, a proxy or an app. It cannot know what comes next, so that the first doubtful response is held back.
        case serving
    }

    /// Why a response does not replace the stored one.
    package enum Reason: String, Sendable, CaseIterable {
        case truncated
        case empty
        case gone
        case refused
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

    package struct Verdict: Sendable, Equatable {
        /// Nil where the new response may replace the stored one.
        package var rejected: Reason?
        /// URLs whose stored copies are to be restored.
        package var restored: [Restored] = []
    }

    /// A URL whose replacement turned out to be wrong.
    package struct Restored: Sendable, Equatable {
        package let href: String
        package let reason: Reason
    }

    private let purpose: Purpose
    /// Private responses are never replaced, since the requests lack the credentials that those were fetched with.
    private let keepsPrivate: Bool
    private var hosts: [String: Host] = [:]
    /// Bodies and titles that came in place of others.
    private var groups: [UInt64: Group] = [:]
    /// Changes that were held back, by URL.
    private var doubts: [UInt64: Doubt] = [:]

    private struct Host {
        /// When the host last sent something that only the origin can send.
        var lastProof: Int64?
        /// URLs with a stored copy that were judged.
        var judged = 0
        /// URLs whose changes were doubtful since the last proof.
        var doubtful: Set<UInt64> = []
        /// Replacements of a run that are restored if there are too many of them.
        var replaced: [Reason: [String]] = [:]
        /// Reasons that were too frequent. Further changes with these reasons are held back at once.
        var excessive: Set<Reason> = []
    }

    private struct Doubt {
        var reason: Reason
        var since: Int64
    }

    private struct Group {
        struct Member {
            let url: UInt64
            let href: String
            let stored: UInt64
            var isReplaced: Bool
        }

        let byteCount: Int
        var time: Int64
        var members: [Member] = []
        /// Digests of the bodies that the members had before.
        var stored: Set<UInt64> = []
    }

    private static let hour: Int64 = 3600
    /// How long a proof of the origin holds for other URLs of its host.
    private static let proofSeconds: Int64 = 300
    /// Further hosts, groups and doubts take the place of older ones. Then less is held back, or longer.
    private static let maxHosts = 4096
    private static let maxGroups = 1 << 16
    private static let maxDoubts = 1 << 16
    private static let maxMembers = 256
    /// Further ones are not restored.
    private static let maxReplaced = 1 << 16

    /// - Parameters:
    ///   - doubts: the doubts of an earlier check of the same site.
    ///   - keepsPrivate: the requests have no credentials of the user.
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

    /// The doubts that remain, for the check of the next run.
    package func doubtTexts(now: Int64) -> [String] {
        doubts.filter { now - $0.value.since < Self.doubtSeconds }
            .map { "\(String($0.key, radix: 16)) \($0.value.since) \($0.value.reason.rawValue)" }
            .sorted().suffix(Self.maxDoubtTexts)
    }

    private static let doubtSeconds: Int64 = 90 * 24 * 3600
    private static let maxDoubtTexts = 2000
}

extension ReplacementCheck {
    /// Judges a complete response to a plain GET.
    ///
    /// - Parameters:
    ///   - stored: nil where nothing is stored for the URL.
    ///   - comparison: of the two bodies, where ``needsComparison(_:with:)`` asks for it.
    ///   - now: seconds since 1970.
    package mutating func judge(
        _ url: WebURL, stored: JudgedResponse?, new: JudgedResponse, comparison: BodyComparison? = nil,
        now: Int64
    ) -> Verdict {
        if keepsPrivate, stored?.isPrivate == true { return Verdict(rejected: .withoutCredentials) }
        let key = Self.hash(url.href)
        let isProof = new.provesOrigin(over: stored)
        if isProof { prove(url.host, now) }
        guard let stored, stored.isUsable else {
            // A portal's page is not stored for other URLs either.
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
        if purpose == .run, let limit = reason.toleratedInRun(stored, new) {
            return tolerate(url, key, reason, limit, now, verdict)
        }
        holdBack(url.host, key, reason, now)
        verdict.rejected = reason
        return verdict
    }

    /// A 304 for the stored response.
    package mutating func confirm(_ url: WebURL, now: Int64) {
        prove(url.host, now)
        doubts[Self.hash(url.href)] = nil
        change(url.host) { $0.judged += 1 }
    }

    /// The replacements of the run that turned out to be too many: their stored copies are to be restored.
    package mutating func finish(now: Int64) -> [Restored] {
        var restored: [Restored] = []
        for (name, host) in hosts {
            for (reason, hrefs) in host.replaced where reason.isTooMuch(hrefs.count, of: host.judged) {
                for href in hrefs {
                    holdBack(name, Self.hash(href), reason, now)
                    restored.append(Restored(href: href, reason: reason))
                }
            }
            change(name) { $0.replaced = [:] }
        }
        return restored.sorted { $0.href < $1.href }
    }

    /// Whether the bodies are to be compared: the new one may be a part of the stored one.
    package static func needsComparison(_ new: JudgedResponse, with stored: JudgedResponse) -> Bool {
        (200..<300).contains(new.status) && stored.status == 200 && new.byteCount > 0
            && new.byteCount < stored.byteCount && minComparedBytes <= stored.byteCount
            && stored.byteCount <= maxComparedBytes
    }

    /// Tiny texts begin alike by chance.
    private static let minComparedBytes = 256
    private static let maxComparedBytes = 16 * 1024 * 1024

    // MARK: - Reasons

    private mutating func reason(
        _ url: WebURL, _ key: UInt64, _ stored: JudgedResponse, _ new: JudgedResponse,
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
        if new.isHTML, stored.isNoDocument { return .otherType }
        if new.asksForLogin, !stored.isTitledLogin { return .login }
        return isIdentical(url, key, stored, new, now, &verdict) ? .identical : nil
    }

    /// A site that has moved for good says so, and pages that have moved lead to different places.
    private mutating func redirection(
        _ url: WebURL, _ key: UInt64, _ stored: JudgedResponse, _ new: JudgedResponse, _ now: Int64,
        _ verdict: inout Verdict
    ) -> Reason? {
        guard (200..<300).contains(stored.status), let target = new.target else { return nil }
        if LoginWords.areSaid(by: target), !LoginWords.areSaid(by: url) { return .login }
        func bare(_ host: String) -> Substring { host.hasPrefix("www.") ? host.dropFirst(4) : host[...] }
        guard bare(target.host) != bare(url.host) else { return nil }
        guard purpose == .run else { return .redirect }
        if new.status == 301 || new.status == 308 { return nil }
        let place = Self.hash("redirect \(target.origin)\(target.path)")
        return join(place, .redirect, 3, url, key, stored.digest, new, now, &verdict) ? .redirect : nil
    }

    private static func isTruncated(
        _ stored: JudgedResponse, _ new: JudgedResponse, _ comparison: BodyComparison?
    ) -> Bool {
        guard stored.status == 200, new.byteCount < stored.byteCount else { return false }
        switch new.ending {
        case .bytesBeyondLength: return true
        case .connection where stored.hasLength || comparison?.lacksEnd == true: return true
        case .connection, .declared: break
        }
        guard let comparison, comparison.isBeginning else { return false }
        return new.isHTML || stored.isNoDocument || new.hasSameVersion(as: stored)
    }

    // MARK: - Responses that are alike

    /// Whether it is the page that came in place of several different ones.
    private func isAmongIdentical(_ new: JudgedResponse) -> Bool {
        guard new.isHTML, new.status == 200, new.byteCount > 0, let group = groups[new.digest] else {
            return false
        }
        return group.stored.count >= minAlike(new)
    }

    private func minAlike(_ new: JudgedResponse) -> Int {
        switch purpose {
        case .run: new.isHTML ? 3 : 5
        case .serving: new.isHTML ? 2 : 4
        }
    }

    /// Whether other URLs, which had other bodies before, now have this one as well; or, of pages, its title and length.
    private mutating func isIdentical(
        _ url: WebURL, _ key: UInt64, _ stored: JudgedResponse, _ new: JudgedResponse, _ now: Int64,
        _ verdict: inout Verdict
    ) -> Bool {
        let least = minAlike(new)
        let isSame = join(new.digest, .identical, least, url, key, stored.digest, new, now, &verdict)
        guard new.isHTML, let title = new.title, !title.isEmpty, title != stored.title else { return isSame }
        let isTitled = join(
            Self.hash("title \(title)"), .identical, least, url, key, Self.hash(stored.title ?? ""), new, now,
            &verdict)
        return isSame || isTitled
    }

    /// Adds the URL to those that changed in the same way. True if they are at least `least`, and had different responses
    /// before.
    private mutating func join(
        _ id: UInt64, _ reason: Reason, _ least: Int, _ url: WebURL, _ key: UInt64, _ stored: UInt64,
        _ new: JudgedResponse, _ now: Int64,
        _ verdict: inout Verdict
    ) -> Bool {
        var group = groups[id] ?? Group(byteCount: new.byteCount, time: now)
        if purpose == .serving, now - group.time > Self.hour {
            group = Group(byteCount: new.byteCount, time: now)
        }
        // Pages with one title may be as different as they like.
        guard abs(group.byteCount - new.byteCount) <= Self.differingBytes + group.byteCount / 32 else {
            return false
        }
        group.time = now
        group.stored.insert(stored)
        let isDoubtful = group.stored.count >= least
        if isDoubtful {
            for place in group.members.indices where group.members[place].isReplaced {
                let member = group.members[place]
                group.members[place].isReplaced = false
                guard member.url != key, !verdict.restored.contains(where: { $0.href == member.href }) else {
                    continue
                }
                verdict.restored.append(Restored(href: member.href, reason: reason))
                holdBack(WebURL(member.href)?.host ?? "", member.url, reason, now)
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

    /// Whether a change that was held back before is real.
    private func isAccepted(
        _ url: WebURL, _ key: UInt64, _ reason: Reason, _ stored: JudgedResponse, _ new: JudgedResponse,
        _ now: Int64
    ) -> Bool {
        guard let doubt = doubts[key], doubt.reason == reason else { return false }
        // Such a response contradicts itself, however often it comes.
        if reason == .truncated, new.ending == .bytesBeyondLength || new.hasSameVersion(as: stored) {
            return false
        }
        if url.scheme == "https", now - doubt.since >= Self.hour { return true }
        guard let host = hosts[url.host], let proof = host.lastProof, proof >= doubt.since,
            purpose == .run || now - proof <= Self.proofSeconds
        else { return false }
        return purpose == .run ? now - doubt.since >= Self.hour : host.doubtful.subtracting([key]).isEmpty
    }

    /// Replaces the stored copy for now. With more than `limit` of them all are restored.
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
            holdBack(url.host, Self.hash(href), reason, now)
            verdict.restored.append(Restored(href: href, reason: reason))
        }
        change(url.host) { host in
            host.replaced[reason] = nil
            host.excessive.insert(reason)
        }
        holdBack(url.host, key, reason, now)
        verdict.rejected = reason
        return verdict
    }

    private mutating func prove(_ host: String, _ now: Int64) {
        change(host) { host in
            host.lastProof = now
            host.doubtful.removeAll()
        }
    }

    private mutating func holdBack(_ host: String, _ key: UInt64, _ reason: Reason, _ now: Int64) {
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

    /// FNV-1a: the same in every run.
    private static func hash(_ text: String) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        return hash
    }
}

extension ReplacementCheck.Reason {
    /// How many such replacements of one host a run makes before it restores them; nil where the first one is held back.
    fileprivate func toleratedInRun(_ stored: JudgedResponse, _ new: JudgedResponse) -> Int? {
        switch self {
        // How many there are of all is known at the end.
        case .gone: .max
        case .empty: stored.isHTML || new.isHTML ? nil : 2
        case .login: 1
        case .truncated, .refused, .identical, .redirect, .challenge, .otherType, .withoutCredentials: nil
        }
    }

    /// Whether the run restores its replacements at the end.
    fileprivate func isTooMuch(_ count: Int, of judged: Int) -> Bool {
        self == .gone && count >= 3 && count * 2 >= judged
    }
}
