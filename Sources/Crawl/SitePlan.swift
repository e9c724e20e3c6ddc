package import Bundles
internal import Glibc
public import Store
public import Web

/// The settings of a site: how it is prefetched. They come from the command line, a file of options or a manifest, are
/// stored with the site as JSON, and apply to later updates. They contain no secrets. Settings of a single run are in
/// `CrawlPlan`.
///
/// Facts about the last snapshots are stored here too, such as the numbers of missing URLs, because updates need them.
public struct SitePlan: Sendable, Equatable {
    /// Which pages belong to the site.
    public var scope = ScopeOptions()
    /// URLs of sitemaps, in addition to those that robots.txt names.
    public var sitemaps: [String] = []
    /// Whether robots.txt is obeyed. Nil means `obey`; in an update, nil keeps the value of the last run, as
    /// for the next two properties.
    public var robots: RobotsPolicy?
    /// Which links marked `nofollow` are not followed. Nil means `follow`: all are followed.
    public var nofollow: NofollowPolicy?
    /// Whether pages marked `noindex` are only read for their links and not stored. Nil means `ignore`, since
    /// the mark is meant for search engines.
    public var noindex: RobotsPolicy?
    /// Cache rules that override response headers, such as `https://api.example.com/** max-age=600`.
    public var rules: [String] = []
    /// Which renditions of videos and sounds are stored. Nil for `MediaChoice.standard`; in an update, for the value of
    /// the last run.
    public var media: MediaChoice?
    /// Whether strings in scripts that look like links are requested.
    public var guesses = true
    /// Whether and how pages are rendered in a browser, to find the requests of their scripts. Nil for the
    /// defaults; in an update, for the settings of the last run.
    public var render: RenderSettings?
    /// The patterns whose pages were worth rendering in the last snapshot.
    package var rendered: [String] = []
    /// The patterns whose pages were rendered in this or an earlier snapshot with the same settings.
    /// Unchanged pages of them are not rendered again.
    package var renderedPatterns: [String] = []
    /// The URLs of pages that are served as frozen copies, unless they are in `replayed`. Exports contain the frozen
    /// copies of all.
    package var frozen: [String] = []
    /// The URLs of pages that a server serves with their scripts and their recorded live messages.
    package var replayed: [String] = []
    /// The entries of `localStorage` without which served pages start.
    package var scriptCopies: [ScriptCopies] = []
    /// The number of WebSockets that pages opened when they were last rendered. Their messages are not
    /// stored.
    package var sockets = 0
    /// The maximum number of pages of the site, for this run and for updates. A prefetch with a higher limit,
    /// or none, goes beyond it.
    public var maxPages: Int?
    /// The maximum number of connections to one host. Nil for 16; in an update, for the value of the last
    /// run.
    public var connectionsPerHost: Int?
    /// The absolute paths of the cookie files of the last prefetch, which updates read again. The cookies themselves are
    /// not stored here.
    package var cookieFiles: [String] = []
    /// The site's manifest; nil if it has none.
    package var manifest: ManifestPlan?
    /// The nearest network zone that requests for the site's start URLs may connect to, as allowed by the
    /// principal that added the site. Updates use it, whichever principal starts them. Nil if the site was
    /// stored without it: then the principal of the update decides.
    package var zone: NetworkZone?
    /// The content that a limit or a trap kept out of the last snapshot; nil if there is none.
    package var leftOut: LeftOut?
    /// The numbers of URLs that are missing in the last snapshots that went live, the newest last.
    package var missing: [MissingURLCounts] = []
    /// The snapshots that updates found unchanged, and when they last did; the last one at the end.
    package var confirmed: [SnapshotConfirmation] = []
    /// Why URLs failed in the live snapshot.
    package var failures = StoredFailures()
    /// Which snapshots collections keep; without rules all.
    public var keep = KeepRules()
    /// The tags by which the user groups sites in the portal.
    package var tags: [String] = []
    /// The user's note about the site; empty if there is none.
    package var note = ""
    /// The user's name for the site in the portal; empty for the title of its start page.
    package var title = ""
    /// Which releases have started, if the site is the bundles of an app.
    package var starts = StartRecord()
    /// Changes that the last snapshot rejected, in the form of `ReplacementCheck`.
    package var doubts: [String] = []

    /// Creates the default plan.
    public init() {}

    /// Reads stored settings. Missing and malformed members have their default values.
    package init(text: String) {
        guard let json = try? JSONValue.parse(text.utf8.span) else { return }
        func texts(_ key: String) -> [String] { json[key]?.array?.compactMap(\.string) ?? [] }
        scope = ScopeOptions(
            extent: json["scope"]?.string.flatMap(SiteExtent.init) ?? .host, include: texts("include"),
            exclude: texts("exclude"), depth: json["depth"]?.int)
        sitemaps = texts("sitemaps")
        robots = json["robots"]?.string.flatMap(RobotsPolicy.init)
        scope.allowedActions = texts("allowActions")
        scope.includesViews = json["views"]?.bool ?? false
        scope.includesHistory = json["history"]?.bool ?? false
        scope.includesForms = json["forms"]?.bool ?? false
        rules = texts("rules")
        guesses = json["guesses"]?.bool ?? true
        media = json["media"]?.string.flatMap(MediaChoice.init)
        nofollow = json["nofollow"]?.string.flatMap(NofollowPolicy.init)
        noindex = json["noindex"]?.string.flatMap(RobotsPolicy.init)
        render = json["render"].map { RenderSettings($0) }
        rendered = texts("rendered")
        renderedPatterns = texts("lookedAt")
        frozen = texts("frozen")
        replayed = texts("replayed")
        scriptCopies = ScriptCopies.all(inSettings: json)
        sockets = json["sockets"]?.int ?? 0
        maxPages = json["maxPages"]?.int
        connectionsPerHost = json["perHost"]?.int
        cookieFiles = texts("cookieFiles")
        manifest = json["manifest"].flatMap { ManifestPlan($0) }
        leftOut = json["leftOut"].map { LeftOut($0) }
        zone = json["zone"]?.string.flatMap { NetworkZone(name: $0) }
        doubts = texts("doubts")
        confirmed = SnapshotConfirmation.list(json["confirmed"])
        failures = json["failures"].map { StoredFailures($0) } ?? StoredFailures()
        keep = json["keep"].map { KeepRules($0) } ?? KeepRules()
        starts = json["starts"].map { StartRecord($0) } ?? StartRecord()
        missing = json["missing"]?.array?.map { MissingURLCounts($0) } ?? []
        tags = texts("tags")
        note = json["note"]?.string ?? ""
        title = json["title"]?.string ?? ""
    }

    /// The settings as JSON, without members that have their default values.
    package var text: String { members.text(.compact) }

    /// Returns the plan of an update: the stored plan with the values that this one sets. An update cannot change
    /// scope and lists. The manifest and the left-out content of the stored plan belong to the last snapshot, and are
    /// removed.
    package func overriding(_ stored: SitePlan) -> SitePlan {
        var plan = stored
        (plan.manifest, plan.leftOut) = (nil, nil)
        plan.robots = robots ?? stored.robots
        plan.nofollow = nofollow ?? stored.nofollow
        plan.noindex = noindex ?? stored.noindex
        plan.render = render ?? stored.render
        plan.media = media ?? stored.media
        plan.maxPages = maxPages ?? stored.maxPages
        plan.keep = keep.isEmpty ? stored.keep : keep
        plan.connectionsPerHost = connectionsPerHost ?? stored.connectionsPerHost
        return plan
    }

    /// Copies the counts, the confirmation, the keep rules, the tags, the note and the name from the stored settings of the
    /// site.
    package mutating func copyHistory(from stored: SitePlan) {
        (tags, note, title) = (stored.tags, stored.note, stored.title)
        starts = stored.starts
        (missing, confirmed, failures) = (stored.missing, stored.confirmed, stored.failures)
        if keep.isEmpty { keep = stored.keep }
    }

    /// Records the numbers of missing URLs of the snapshot that went live.
    package mutating func recordMissingURLs(_ counts: MissingURLCounts) {
        missing.removeAll { $0.snapshot == counts.snapshot }
        missing = missing.suffix(Self.maxRecords - 1) + [counts]
    }

    /// Records that an update found the snapshot unchanged at this time. Nil, for a snapshot that just went live, removes
    /// earlier records of its number.
    package mutating func recordConfirmation(of snapshot: Int64, at date: Int64?) {
        confirmed.removeAll { $0.snapshot == snapshot }
        guard let date else { return }
        confirmed =
            confirmed.suffix(Self.maxRecords - 1) + [SnapshotConfirmation(snapshot: snapshot, date: date)]
    }

    /// Gives a snapshot the number of the one before it, which was removed.
    package mutating func renumberSnapshot(_ number: Int64, as new: Int64) {
        missing.removeAll { $0.snapshot == new }
        for index in missing.indices where missing[index].snapshot == number { missing[index].snapshot = new }
        confirmed.removeAll { $0.snapshot == new }
        confirmed = confirmed.map {
            $0.snapshot == number ? SnapshotConfirmation(snapshot: new, date: $0.date) : $0
        }
        failures.renumberSnapshot(number, as: new)
    }

    /// The maximum number of counts, and of confirmations. Those of older snapshots are removed.
    private static let maxRecords = 50

    /// Whether robots.txt is obeyed.
    public var obeysRobots: Bool { robots != .ignore }

    /// How `nofollow` and `noindex` are treated.
    package var directivePolicy: DirectivePolicy {
        DirectivePolicy(nofollow: nofollow ?? .follow, noindex: noindex ?? .ignore)
    }
}

/// The source of a site's manifest, and how it is used. The manifest itself is stored with each snapshot in
/// which it was in force, so that a rollback has its digests.
package struct ManifestPlan: Sendable, Equatable {
    /// The location of the manifest: the absolute path of a file, or an http or https URL.
    package var place: String
    /// The URL that its references are relative to, if the user gave one.
    package var base: String?
    /// The format that the user named; nil detects it.
    package var format: String?
    /// Whether the site consists of the bundles and their assets, because the manifest does not name a start
    /// URL.
    package var isAlone = false
    /// Whether the assets of the bundles are fetched too.
    package var hasAssets = true
    /// Whether no asset was missing at the end of the last run.
    package var isWhole = true
    /// The keys that may sign the manifest, as minisign's text (`RW…`). Any one of them suffices. Empty if the
    /// manifest need not be signed.
    package var trustedKeys: [String] = []
    /// The age of the manifest that was accepted last, so that an older one is refused. Nil if none was accepted, or
    /// before ages were stored.
    package var accepted: ManifestAge?
    /// The trusted metadata, if the manifest is a TUF repository.
    package var repository: RepositoryTrust?
    /// Whether the manifest came in an update file, whose path is `place`. It cannot be loaded again: the next release comes in
    /// another update file.
    package var isUpdateFile = false

    package init(place: String, base: String? = nil, format: String? = nil) {
        self.place = place
        self.base = base
        self.format = format
    }

    /// Reads a stored plan. Returns nil if it names no location.
    package init?(_ json: JSONValue) {
        guard let place = json["place"]?.string else { return nil }
        self.init(place: place, base: json["base"]?.string, format: json["format"]?.string)
        isAlone = json["alone"]?.bool ?? false
        hasAssets = json["assets"]?.bool ?? true
        isWhole = json["whole"]?.bool ?? true
        trustedKeys = json["trust"]?.array?.compactMap(\.string) ?? []
        repository = json["repository"].map { RepositoryTrust($0) }
        accepted = json["accepted"].flatMap { ManifestAge($0) }
        isUpdateFile = json["updateFile"]?.bool ?? false
    }

    /// Whether only a manifest by trusted keys is accepted.
    package var requiresSignature: Bool { !trustedKeys.isEmpty || repository != nil }

    /// Records the age of a manifest whose bundles are live.
    package mutating func accept(_ age: ManifestAge) {
        accepted = age.accept(after: accepted)
    }

    /// Whether both read their manifest from the same location with the same base URL. Their other properties may differ.
    package func hasSameLocation(as other: ManifestPlan) -> Bool {
        hasSamePlace(as: other) && base == other.base
    }

    /// Whether both read their manifest from the same place, however its URL is written.
    package func hasSamePlace(as other: ManifestPlan) -> Bool { canonicalPlace == other.canonicalPlace }

    private var canonicalPlace: String {
        let prefix = place.hasPrefix(Self.repositoryPrefix) ? Self.repositoryPrefix : ""
        guard let url = WebURL(String(place.dropFirst(prefix.count))), url.isHTTP else { return place }
        let href = url.withoutFragment.key.href
        return prefix + href + (prefix.isEmpty || href.hasSuffix("/") ? "" : "/")
    }

    /// The beginning of the place of a TUF repository.
    private static let repositoryPrefix = "tuf+"

    /// The absolute path of a file, which does not depend on the current folder; a URL is returned unchanged.
    package static func absoluteLocation(of name: String) -> String {
        if let url = WebURL(name), url.isHTTP { return name }
        guard let path = realpath(name, nil) else { return name }
        defer { free(path) }
        return String(cString: path)
    }
}

/// The pages in the scope of a site that a snapshot did not request, because of a limit, a trap, or because they are side
/// pages or views.
///
/// With it, an offline check does not report such pages as missing. Only patterns and names are stored, not the URLs of
/// all these pages: `reason(for:)` derives the reason from the URL.
package struct LeftOut: Sendable, Equatable {
    /// The limit that left pages out.
    package var limit: String?
    /// Whether the limit also left out assets.
    var limitsAssets = false
    /// The reasons why pages were suspected to be a trap, by URL pattern.
    package var traps: [String: String] = [:]
    /// The last parts of paths by which side pages were recognised.
    var sideNames: [String: SidePage] = [:]
    /// The recognised views, with the URLs of their fetched pages (`QueryViews`).
    package var views: [String: [String]] = [:]
    /// The branches of repositories whose files were fetched, if others were left out (`RepositoryBranches`).
    var branches: [String: [String]] = [:]
    /// Why no page was requested from an origin whose robots.txt could not be read, by origin.
    var unknownRobots: [String: String] = [:]
    /// URLs that were requested and could not be loaded, for which no limit is responsible. Assets are only listed if the limit
    /// left out assets.
    package var failed: Set<String> = []

    /// The maximum number of URLs in `failed`. With more, a URL over the limit cannot be told from one that failed, so nothing
    /// is attributed to the limit.
    private static let maxFailures = 1000
    /// The maximum number of origins in `unknownRobots`. Pages of further ones are reported as missing.
    private static let maxOrigins = 1000

    /// The pages that the run left out; nil if it requested all.
    package init?(_ report: CrawlReport) {
        limit = report.limit?.description
        limitsAssets = report.skipped.contains { $0.isAsset && $0.isOverLimit }
        for trap in report.traps { traps[trap.pattern] = trap.description }
        sideNames = report.sideNames
        views = report.views
        branches = report.branches
        for skipped in report.skipped where unknownRobots.count < Self.maxOrigins {
            guard case .robotsUnknown = skipped.cause else { continue }
            unknownRobots[skipped.address.origin] = skipped.reason
        }
        guard
            limit != nil || !traps.isEmpty || !sideNames.isEmpty || !views.isEmpty || !branches.isEmpty
                || !unknownRobots.isEmpty
        else { return nil }
        failed = Set(report.missing.filter { !$0.isBroken && (!$0.isAsset || limitsAssets) }.map(\.url))
        if failed.count > Self.maxFailures {
            (limit, limitsAssets) = (nil, false)
            failed = []
        }
    }

    /// Reads stored content. Malformed members have their default values.
    package init(_ json: JSONValue) {
        limit = json["limit"]?.string
        limitsAssets = json["limitsAssets"]?.bool ?? false
        for trap in json["traps"]?.members ?? [] { traps[trap.key] = trap.value.string ?? "a trap" }
        for name in json["sides"]?.members ?? [] {
            sideNames[name.key] = name.value.string.flatMap(SidePage.init(rawValue:))
        }
        for view in json["views"]?.members ?? [] {
            views[view.key] = view.value.array?.compactMap(\.string) ?? []
        }
        for repository in json["branches"]?.members ?? [] {
            branches[repository.key] = repository.value.array?.compactMap(\.string) ?? []
        }
        for origin in json["robots"]?.members ?? [] { unknownRobots[origin.key] = origin.value.string }
        failed = Set(json["failed"]?.array?.compactMap(\.string) ?? [])
    }

    /// Why an asset was not requested; nil if it was, or should have been.
    package func reason(forAsset asset: WebURL) -> String? {
        limitsAssets && !failed.contains(asset.href) ? limit : nil
    }

    /// Why a page was not requested; nil if it was, or should have been.
    package func reason(for page: WebURL) -> String? {
        if let trap = traps[TrapReason.pattern(of: page)] { return trap }
        let names = [
            SidePage.name(of: page), SidePage.nestedForm(of: page), SidePage.format(of: page)?.name,
        ].compactMap(\.self)
        if !sideNames.isEmpty, !failed.contains(page.href),
            let side = (names + SidePage.siblingNames(of: page).sorted()).lazy.compactMap({ sideNames[$0] })
                .first
        {
            return SkipReason.sidePage(side).name
        }
        guard !failed.contains(page.href) else { return nil }
        if RepositoryBranches.leftOut(page, branches) { return SkipReason.sidePage(.history).name }
        return isView(page) ? SkipReason.view.name : unknownRobots[page.origin] ?? limit
    }

    /// Whether the page is a view that the run left out. It can be stored all the same, by an earlier run that fetched it
    /// before it knew enough pages of its kind.
    package func isView(_ page: WebURL) -> Bool { QueryViews.contain(page, views) }
}

extension SitePlan: JSONObject {
    /// The settings that differ from the defaults.
    package var members: JSONMembers {
        [
            "scope": IfAny(scope.extent == .host ? nil : scope.extent.rawValue),
            "include": IfAny(scope.include),
            "exclude": IfAny(scope.exclude), "depth": IfAny(scope.depth), "sitemaps": IfAny(sitemaps),
            "allowActions": IfAny(scope.allowedActions),
            "history": IfAny(scope.includesHistory ? true : nil),
            "forms": IfAny(scope.includesForms ? true : nil),
            "views": IfAny(scope.includesViews ? true : nil),
            "robots": IfAny(robots == .obey ? nil : robots?.rawValue), "rules": IfAny(rules),
            "media": IfAny(media?.rawValue), "guesses": IfAny(guesses ? nil : false),
            "nofollow": IfAny(nofollow?.rawValue),
            "noindex": IfAny(noindex == .ignore ? nil : noindex?.rawValue), "render": IfAny(render),
            "rendered": IfAny(rendered), "lookedAt": IfAny(renderedPatterns), "frozen": IfAny(frozen),
            "replayed": IfAny(replayed), "scriptCopies": IfAny(scriptCopies),
            "sockets": IfAny(sockets == 0 ? nil : sockets), "maxPages": IfAny(maxPages),
            "perHost": IfAny(connectionsPerHost), "cookieFiles": IfAny(cookieFiles),
            "manifest": IfAny(manifest), "leftOut": IfAny(leftOut),
            "zone": IfAny(zone?.name), "doubts": IfAny(doubts),
            "missing": IfAny(missing.map(\.storedMembers)),
            "confirmed": IfAny(confirmed), "failures": IfAny(failures.isEmpty ? nil : failures),
            "keep": IfAny(keep.isEmpty ? nil : keep),
            "starts": IfAny(starts.isEmpty ? nil : starts), "tags": IfAny(tags),
            "note": IfAny(note.isEmpty ? nil : note), "title": IfAny(title.isEmpty ? nil : title),
        ]
    }
}

extension ManifestPlan: JSONObject {
    package var members: JSONMembers {
        [
            "place": place, "base": IfAny(base), "format": IfAny(format),
            "alone": IfAny(isAlone ? true : nil),
            "assets": IfAny(hasAssets ? nil : false), "whole": IfAny(isWhole ? nil : false),
            "trust": IfAny(trustedKeys), "repository": IfAny(repository), "accepted": IfAny(accepted),
            "updateFile": IfAny(isUpdateFile ? true : nil),
        ]
    }
}

extension LeftOut: JSONObject {
    package var members: JSONMembers {
        let sorted = traps.sorted { $0.key < $1.key }
        let sides = sideNames.sorted { $0.key < $1.key }
        return [
            "limit": IfAny(limit), "limitsAssets": IfAny(limitsAssets ? true : nil),
            "traps": sorted.reduce(JSONMembers()) { $0 + [$1.key: $1.value] },
            "sides": IfAny(
                sides.isEmpty ? nil : sides.reduce(JSONMembers()) { $0 + [$1.key: $1.value.rawValue] }),
            "views": IfAny(
                views.isEmpty
                    ? nil
                    : views.sorted { $0.key < $1.key }.reduce(JSONMembers()) { $0 + [$1.key: $1.value] }),
            "branches": IfAny(
                branches.isEmpty
                    ? nil
                    : branches.sorted { $0.key < $1.key }.reduce(JSONMembers()) { $0 + [$1.key: $1.value] }),
            "robots": IfAny(
                unknownRobots.isEmpty
                    ? nil
                    : unknownRobots.sorted { $0.key < $1.key }
                        .reduce(JSONMembers()) { $0 + [$1.key: $1.value] }),
            "failed": failed.sorted(),
        ]
    }
}
