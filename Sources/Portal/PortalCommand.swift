internal import Reports
package import Store
internal import Web

/// A command that a user gives in the portal. It is parsed from a form and carried out by a `JobRunner.Worker`.
///
/// Every command can also be written as a form (`form`). The saved list of jobs contains these forms, so that a command
/// from the file is checked like a command from a browser.
package enum PortalCommand: Sendable, Equatable {
    /// Downloads a site, or one page with everything that it needs.
    case prefetch(address: String, SiteSettingsForm)
    /// Updates a site, or all sites if `site` is nil.
    case update(site: String?)
    /// Fetches one URL and stores the response.
    case fetch(url: String)
    /// Checks that a site is complete without the network.
    case check(site: String)
    /// Checks the links of a site, also those to other sites.
    case checkLinks(site: String)
    case pin(PortalPin)
    case unpin(PortalPin)
    /// Removes one snapshot.
    case drop(snapshot: SnapshotName, site: String)
    /// Makes an older snapshot live.
    case rollBack(site: String, snapshot: Int64)
    /// Removes a site with all of its snapshots.
    case remove(site: String)
    /// Reverses the last removal of a site or snapshot.
    case undo
    /// Previews a cleanup. The limit is a size such as `2G`; nil for no limit.
    case forecast(limit: String?)
    /// Removes content that no snapshot uses. If the store is then larger than the limit, removes further content.
    case collect(limit: String?)
    /// Changes the settings of a site for its next update.
    case changeSettings(site: String, SiteSettingsForm)
    /// Installs the systemd timer that runs due updates.
    case installTimer
    /// Exports a site to an archive. A nil snapshot exports the live one. `form` is the raw value of an `ArchiveFormat`.
    case export(site: String, snapshot: SnapshotName?, form: String)
    /// Imports an uploaded file, given by its number and name. `site` is the site that gets the snapshot;
    /// `base` is the original URL of the files.
    case importArchive(upload: String, name: String, site: String?, base: String?)
    /// Stores a page that a browser extension sent, in a file that is given by its number and name.
    case save(upload: String, name: String)

    /// A site or URL to pin.
    package struct PortalPin: Sendable, Equatable {
        /// Whether `name` is the name of a site; else it is a URL.
        package let isSite: Bool
        package let name: String
    }

    /// A queue of jobs with a thread of its own. Different lanes run at the same time; each lane runs one job at a time, so
    /// that a short command need not wait for hours of downloads.
    package enum Lane: Sendable, CaseIterable {
        /// For commands that make network requests and may take hours.
        case network
        /// For short commands that use only the store.
        case store
        /// For commands that read or write archives, which takes longer.
        case archives
    }

    /// The lane that runs the command.
    package var lane: Lane {
        switch self {
        case .prefetch, .update, .fetch, .checkLinks: .network
        case .check, .pin, .unpin, .drop, .rollBack, .remove, .undo, .forecast, .collect, .changeSettings,
            .installTimer:
            .store
        case .export, .importArchive, .save: .archives
        }
    }

    /// The delay before the job starts, during which it can be cancelled.
    var delay: Duration {
        switch self {
        case .remove: .seconds(10)
        case .prefetch, .update, .fetch, .check, .checkLinks, .pin, .unpin, .drop, .rollBack, .undo,
            .forecast,
            .collect, .changeSettings, .installTimer, .export, .importArchive, .save:
            .zero
        }
    }

    /// The site that the command keeps in use, which cancels a planned removal of the site; nil for other
    /// commands.
    var wantedSite: String? {
        switch self {
        case .prefetch(let address, _): WebURL(address)?.href ?? address
        case .update(let site): site
        case .rollBack(let site, _), .changeSettings(let site, _), .export(let site, _, _): site
        case .importArchive(_, _, let site, _): site
        case .fetch, .check, .checkLinks, .pin, .unpin, .drop, .remove, .undo, .forecast, .collect,
            .installTimer, .save:
            nil
        }
    }

    /// The site and snapshot that must exist, else the command is refused; nil if the command names none.
    package var target: (site: String, snapshot: SnapshotName?)? {
        switch self {
        case .update(let site): site.map { ($0, nil) }
        case .check(let site), .checkLinks(let site), .remove(let site), .changeSettings(let site, _):
            (site, nil)
        case .pin(let pin): pin.isSite ? (pin.name, nil) : nil
        case .drop(let snapshot, let site): (site, snapshot)
        case .rollBack(let site, let snapshot): (site, SnapshotName(snapshot))
        case .export(let site, let snapshot, _): (site, snapshot)
        // A pin outlives its site.
        case .unpin, .prefetch, .fetch, .undo, .forecast, .collect, .installTimer, .importArchive, .save: nil
        }
    }

    /// Whether a button may repeat the job after an interruption. A removal must be requested again.
    var canRestart: Bool { if case .remove = self { false } else { true } }

    /// Whether the job can be stopped and continued later.
    var isResumable: Bool {
        switch self {
        case .prefetch, .update: true
        case .fetch, .check, .checkLinks, .pin, .unpin, .drop, .rollBack, .remove, .undo, .forecast, .collect,
            .changeSettings, .installTimer, .export, .importArchive, .save:
            false
        }
    }

    /// The title of the job, in the visitor's language.
    package var title: Phrase {
        switch self {
        case .prefetch(let address, let form): Phrase(form.isOnlyPage ? .jobSavePage : .jobPrefetch, address)
        case .update(nil): Phrase(.jobUpdateAll)
        case .update(let site?): Phrase(.jobUpdate, site)
        case .fetch(let url): Phrase(.jobFetch, url)
        case .check(let site): Phrase(.jobCheck, site)
        case .checkLinks(let site): Phrase(.jobCheckLinks, site)
        case .pin(let pin): Phrase(.jobPin, pin.name)
        case .unpin(let pin): Phrase(.jobUnpin, pin.name)
        case .drop(let snapshot, let site): Phrase(.jobRemoveSnapshot, "\(snapshot)", site)
        case .rollBack(let site, let snapshot): Phrase(.jobMakeLive, "\(snapshot)", site)
        case .remove(let site): Phrase(.jobRemoveSite, site)
        case .undo: Phrase(.jobUndo)
        case .forecast: Phrase(.jobPreviewCleanup)
        case .collect: Phrase(.jobCleanUp)
        case .changeSettings(let site, _): Phrase(.jobChangeSettings, site)
        case .installTimer: Phrase(.jobInstallTimer)
        case .export(let site, nil, let form): Phrase(.jobExport, site, form.uppercased())
        case .export(let site, let snapshot?, let form):
            Phrase(.jobExportSnapshot, site, form.uppercased(), "\(snapshot)")
        case .importArchive(_, let name, _, _): Phrase(.jobImport, name)
        case .save: Phrase(.jobSaveFromBrowser)
        }
    }
}

/// The settings of a site, as a form contains them: for a new prefetch, or to change a site.
///
/// LarderKit applies it to a `SitePlan`. A field that is nil or empty leaves the plan's value as it is; only a change of
/// settings then also clears the limits and patterns, because its form shows all of them.
package struct SiteSettingsForm: Sendable, Equatable {
    /// Whether only the page itself is fetched, with everything that it needs.
    package var isOnlyPage = false
    /// Names of a `SiteExtent`, a `RenderMode` and a `RobotsPolicy`; nil for the default.
    package var scope: String?
    package var render: String?
    package var robots: String?
    /// The maximum number of links between a start URL and a page.
    package var depth: Int?
    package var maxPages: Int?
    package var connectionsPerHost: Int?
    /// The interval of automatic updates; `off` for never; nil if not given.
    package var updateInterval: String?
    /// A size such as `200M`, for one run only.
    package var maxBytes: String?
    /// URL patterns of pages to fetch and to leave out.
    package var include: [String] = []
    package var exclude: [String] = []
    /// The user's tags and note for the site. They do not affect updates.
    package var tags: [String] = []
    package var note = ""
    /// The user's name for the site; empty for the title of its start page.
    package var title = ""

    package init() {}

    /// The value of the field `what` for one page.
    static let pageOnly = "page"
    /// The accepted values of the fields, as the forms offer them.
    static let subjectNames = ["site", pageOnly]
    static let scopeNames = ["host", "path", "domain"]
    static let renderModeNames = ["auto", "never", "always"]
    static let robotsPolicyNames = ["obey", "ignore"]
    /// The value of the field `every` for a site without automatic updates.
    package static let never = "off"

    /// Reads a submitted form.
    ///
    /// - Throws: the first invalid field, to be shown.
    package init(_ form: PortalRequest) throws(PortalFormError) {
        func choice(_ name: String, _ names: [String]) throws(PortalFormError) -> String? {
            guard let given = form[name] else { return nil }
            guard names.contains(given) else { throw PortalFormError(Phrase(.mistakeChoice, given)) }
            return given
        }
        func number(_ name: String, _ range: ClosedRange<Int>) throws(PortalFormError) -> Int? {
            guard let given = form[name] else { return nil }
            guard let number = Int(given), range.contains(number) else {
                throw PortalFormError(
                    Phrase(.mistakeNumber, given, "\(range.lowerBound)", "\(range.upperBound)"))
            }
            return number
        }
        isOnlyPage = try choice("what", Self.subjectNames) == Self.pageOnly
        scope = try choice("scope", Self.scopeNames)
        render = try choice("render", Self.renderModeNames)
        robots = try choice("robots", Self.robotsPolicyNames)
        depth = try number("depth", 0...1000)
        maxPages = try number("pages", 1...10_000_000)
        connectionsPerHost = try number("perHost", 1...64)
        if let size = form["bytes"] {
            guard ByteSize(size) != nil else { throw PortalFormError(Phrase(.mistakeSize, size)) }
            maxBytes = size
        }
        if let given = form["every"] {
            guard given == Self.never || UpdateSchedule(given) != nil else {
                throw PortalFormError(Phrase(.mistakeChoice, given))
            }
            updateInterval = UpdateSchedule(given)?.text ?? given
        }
        include = Self.lines(form["include"])
        exclude = Self.lines(form["exclude"])
        tags = Self.tags(form["tags"])
        note = Wording.cut(form["note"] ?? "", to: Self.maxNoteBytes)
        title = Wording.cut(form["title"] ?? "", to: Self.maxTitleBytes)
    }

    /// Takes fields of a form that is shown again for correction. Choices and numbers that cannot be read are left out, and
    /// so are the fields that `SiteSettingsForm.write` does not show for a new site.
    package init(readable form: PortalRequest?) {
        guard let form else { return }
        isOnlyPage = form["what"] == Self.pageOnly
        scope = form["scope"].flatMap { Self.scopeNames.contains($0) ? $0 : nil }
        render = form["render"].flatMap { Self.renderModeNames.contains($0) ? $0 : nil }
        depth = form["depth"].flatMap { Int($0) }
        maxPages = form["pages"].flatMap { Int($0) }
        maxBytes = form["bytes"]
        updateInterval = form["every"].flatMap { UpdateSchedule($0)?.text }
    }

    /// The fields of an equivalent form. Fields without a value are left out.
    package var fields: [(name: String, value: String)] {
        let all: [(String, String?)] = [
            ("what", isOnlyPage ? Self.pageOnly : nil), ("scope", scope), ("render", render),
            ("robots", robots),
            ("depth", depth.map(String.init)),
            ("pages", maxPages.map(String.init)), ("perHost", connectionsPerHost.map(String.init)),
            ("bytes", maxBytes), ("every", updateInterval),
            ("include", include.isEmpty ? nil : include.joined(separator: "\n")),
            ("exclude", exclude.isEmpty ? nil : exclude.joined(separator: "\n")),
            ("tags", tags.isEmpty ? nil : tags.joined(separator: ", ")), ("note", note.isEmpty ? nil : note),
            ("title", title.isEmpty ? nil : title),
        ]
        return all.compactMap { name, value in value.map { (name, $0) } }
    }

    /// Reads the stored settings of a site, which are JSON. Settings that cannot be read give an empty form.
    package init(settings text: String) {
        guard let json = try? JSONValue.parse(text.utf8.span) else { return }
        func texts(_ key: String) -> [String] { json[key]?.array?.compactMap(\.string) ?? [] }
        scope = json["scope"]?.string
        render = json["render"]?["mode"]?.string
        robots = json["robots"]?.string
        depth = json["depth"]?.int
        maxPages = json["maxPages"]?.int
        connectionsPerHost = json["perHost"]?.int
        updateInterval = UpdateSchedule(settings: text)?.text ?? Self.never
        include = texts("include")
        exclude = texts("exclude")
        tags = texts("tags")
        note = json["note"]?.string ?? ""
        title = json["title"]?.string ?? ""
    }

    private static let (maxTags, maxTagBytes, maxNoteBytes, maxTitleBytes) = (10, 40, 500, 120)

    /// The tags in a field, separated by commas. Longer ones are cut, and those after the first `maxTags` are left out.
    private static func tags(_ text: String?) -> [String] {
        var tags: [String] = []
        for part in (text ?? "").utf8.split(separator: UInt8(ascii: ",")) {
            let words = String(decoding: part, as: UTF8.self).split(whereSeparator: \.isWhitespace)
            let tag = Wording.cut(words.joined(separator: " "), to: maxTagBytes)
            if !tag.isEmpty, !tags.contains(tag), tags.count < maxTags { tags.append(tag) }
        }
        return tags
    }

    /// The patterns in a text area, separated by blanks or line breaks. Those after the first 100 are left out.
    private static func lines(_ text: String?) -> [String] {
        (text ?? "").utf8.split(whereSeparator: { $0 == 0x0a || $0 == 0x0d || $0 == 0x20 || $0 == 0x09 })
            .prefix(100).map { String(decoding: $0, as: UTF8.self) }
    }
}

/// An invalid field of a form.
package struct PortalFormError: Error, Equatable {
    /// The reason, which the portal shows to the visitor.
    let phrase: Phrase

    init(_ phrase: Phrase) { self.phrase = phrase }
}

extension PortalCommand {
    /// Parses a form. Returns nil if no command has the name.
    ///
    /// - Parameter name: the path after `/-/do/`.
    package init?(_ name: String, _ form: PortalRequest) throws(PortalFormError) {
        func text(_ name: String) throws(PortalFormError) -> String {
            guard let given = form[name] else { throw PortalFormError(Phrase(.mistakeMissingField)) }
            return given
        }
        func snapshot() throws(PortalFormError) -> SnapshotName {
            guard let name = form.snapshot("snapshot") else {
                throw PortalFormError(Phrase(.mistakeMissingField))
            }
            return name
        }
        func pin() throws(PortalFormError) -> PortalPin {
            if let site = form["site"] { return PortalPin(isSite: true, name: site) }
            return PortalPin(isSite: false, name: try Self.address(try text("url")))
        }
        func file() throws(PortalFormError) -> (upload: String, name: String) {
            let (upload, name) = (try text("upload"), try text("name"))
            guard PortalFiles.isUploadID(upload), PortalFiles.safeName(name) == name else {
                throw PortalFormError(Phrase(.mistakeForm))
            }
            return (upload, name)
        }
        func size() throws(PortalFormError) -> String? {
            guard let size = form["limit"] else { return nil }
            guard ByteSize(size) != nil else { throw PortalFormError(Phrase(.mistakeSize, size)) }
            return size
        }
        switch name {
        case "prefetch":
            self = .prefetch(address: try Self.address(try text("url")), try SiteSettingsForm(form))
        case "update": self = .update(site: form["site"])
        case "fetch": self = .fetch(url: try Self.address(try text("url")))
        case "check": self = .check(site: try text("site"))
        case "links": self = .checkLinks(site: try text("site"))
        case "pin": self = .pin(try pin())
        case "unpin": self = .unpin(try pin())
        case "drop": self = .drop(snapshot: try snapshot(), site: try text("site"))
        case "rollback": self = .rollBack(site: try text("site"), snapshot: try snapshot().number)
        case "remove": self = .remove(site: try text("site"))
        case "undo": self = .undo
        case "forecast": self = .forecast(limit: try size())
        case "collect": self = .collect(limit: try size())
        case "settings": self = .changeSettings(site: try text("site"), try SiteSettingsForm(form))
        case "timer": self = .installTimer
        case "export":
            let name = try text("form")
            guard Self.exportForms.contains(name) else { throw PortalFormError(Phrase(.mistakeChoice, name)) }
            self = .export(site: try text("site"), snapshot: form.snapshot("snapshot"), form: name)
        case "save":
            let (upload, name) = try file()
            self = .save(upload: upload, name: name)
        case "import":
            let (upload, name) = try file()
            func optionalAddress(_ name: String) throws(PortalFormError) -> String? {
                guard let text = form[name] else { return nil }
                return try Self.address(text)
            }
            self = .importArchive(
                upload: upload, name: name, site: try optionalAddress("site"),
                base: try optionalAddress("base"))
        default: return nil
        }
    }

    /// Names of `ArchiveFormat`, in the order of the form.
    package static let exportForms = ["zip", "wacz", "warc", "har", "zim", "html"]

    /// Parses a URL as a user types it, for example without a scheme. Returns it in full.
    private static func address(_ text: String) throws(PortalFormError) -> String {
        do throws(URLInputError) { return try WebURL.parseUserInput(text).href } catch {
            switch error.kind {
            case .notAURL: throw PortalFormError(Phrase(.mistakeURL, text))
            case .singleWord(let whole): throw PortalFormError(Phrase(.mistakeWordForURL, text, whole))
            case .scheme: throw PortalFormError(Phrase(.mistakeScheme, text))
            case .credentials(let host): throw PortalFormError(Phrase(.mistakeCredentials, host))
            }
        }
    }

    /// The name and fields of an equivalent form.
    package var form: (name: String, fields: [(name: String, value: String)]) {
        func pin(_ pin: PortalPin) -> [(name: String, value: String)] {
            [(pin.isSite ? "site" : "url", pin.name)]
        }
        func limit(_ size: String?) -> [(name: String, value: String)] { size.map { [("limit", $0)] } ?? [] }
        return switch self {
        case .prefetch(let address, let plan): ("prefetch", [("url", address)] + plan.fields)
        case .update(let site): ("update", site.map { [("site", $0)] } ?? [])
        case .fetch(let url): ("fetch", [("url", url)])
        case .check(let site): ("check", [("site", site)])
        case .checkLinks(let site): ("links", [("site", site)])
        case .pin(let of): ("pin", pin(of))
        case .unpin(let of): ("unpin", pin(of))
        case .drop(let snapshot, let site): ("drop", [("site", site), ("snapshot", "\(snapshot)")])
        case .rollBack(let site, let snapshot): ("rollback", [("site", site), ("snapshot", "\(snapshot)")])
        case .remove(let site): ("remove", [("site", site)])
        case .undo: ("undo", [])
        case .forecast(let size): ("forecast", limit(size))
        case .collect(let size): ("collect", limit(size))
        case .changeSettings(let site, let plan): ("settings", [("site", site)] + plan.fields)
        case .installTimer: ("timer", [])
        case .export(let site, let snapshot, let form):
            (
                "export",
                [("site", site), ("form", form)] + (snapshot.map { [("snapshot", "\($0)")] } ?? [])
            )
        case .save(let upload, let name): ("save", [("upload", upload), ("name", name)])
        case .importArchive(let upload, let name, let site, let base):
            (
                "import",
                [("upload", upload), ("name", name)] + (site.map { [("site", $0)] } ?? [])
                    + (base.map { [("base", $0)] } ?? [])
            )
        }
    }
}
