internal import LarderKit
internal import Web

/// An option of the command line, as data. The parser, the help, the manual pages, the completions, the
/// JSON Schema and `larder config` all read these values, so an option is described in one place.
///
/// To add an option:
/// 1. Add a `static let` below, to the extension of the commands that have it.
/// 2. Add it to the lists of these commands, such as `Option.prefetch`, or to their entries in
///   `CommandEntry.all`.
/// 3. Read it with `Arguments`: `has` for a flag, `text`, `texts`, `number`, `size`, `time` or `choice` for
///   a value. Options of prefetches are read in `Arguments.prefetchOptions()`.
///
/// ```swift
/// static let depth = Option(
///     name: "--depth", placeholder: "N", help: "Maximum number of links from the start URLs to a page",
///     defaultValue: "no limit", group: .scope)
/// ```
///
/// Two options may share a name, such as `--verify` of `serve` and of `export`. `Settings.isAmbiguous`
/// finds them by their different help; a configuration file may set them only in the section of a command.
/// `Arguments` looks values up by name, so one command must not have both.
struct Option: Sendable, Equatable {
    /// The name, with its dashes.
    let name: String
    /// The placeholder for its value in the help; nil for a flag.
    let placeholder: String?
    /// The text of the full help, without a period. Describes the effect of the option, and is compared with the
    /// help of other options of the same name.
    let help: String
    /// The text of the short help (`-h`), if `help` does not fit one line of 80 columns beside the name.
    var brief: String?
    /// The default, as the help shows it; nil if there is none. `Arguments.number` also parses it. For all
    /// other options it is only a text: the code that reads the option must use the same default.
    var defaultValue: String?
    var group = Group.general
    /// Whether the option may be given several times.
    var isRepeatable = false
    /// A short name, with its dash.
    var short: String?
    /// The environment variable that sets the option if the command line does not. List it in
    /// `ManualPage.environment`, too.
    var variable: String?
    /// Whether only the command line may set the option, because it is for a single run. Other options may also
    /// be in configuration files and environment variables.
    var isCommandLineOnly = false
    /// Whether the option names a program that Larder runs. The configuration file in the current folder may come from
    /// another person, such as with a pull request, and must not set it.
    var isProgram = false
    /// Earlier names, with their dashes. They still work on the command line and in files, but are not
    /// shown.
    var aliases: [String] = []

    /// Whether the option has no value, as `--json`.
    var isFlag: Bool { placeholder == nil }

    /// Whether the value may be a password or token. Such values are left out of command lines that a user
    /// is shown, and out of `larder config`.
    var isSecret: Bool { ["--user", "--bearer", "--header", "--proxy-user"].contains(name) }

    /// Returns the values for the screen, with the address of a PostgreSQL store without its password.
    /// Returns nil for values that may be secret: those of secret options, and URLs with a user name or a
    /// query.
    func printableValues(_ values: [String]) -> [String]? {
        if name == Option.store.name { return values.map { Larder(at: $0).shownPath } }
        return isSecret || values.contains { $0.contains("@") || $0.contains("://") && $0.contains("?") }
            ? nil : values
    }

    /// The headings under which the help lists options, in order.
    enum Group: String, Sendable, CaseIterable {
        case general = "Options"
        case links = "Links"
        case scope = "Pages to follow"
        case politeness = "Limits and politeness"
        case rendering = "Rendering in a browser"
        case storage = "Stored content"
        case network = "Network"
        case identity = "Identity and logins"
    }

    static let sites = Option(
        name: "--sites", placeholder: nil, help: "List only the names of the stored sites",
        isCommandLineOnly: true)
    static let forgetLogin = Option(
        name: "--forget", placeholder: nil, help: "Delete the stored login of the site",
        isCommandLineOnly: true)
    static let store = Option(
        name: "--store", placeholder: "DIR",
        help: "Folder or postgres:// URL of the store",
        defaultValue: "$LARDER_STORE or ~/.local/share/larder",
        variable: "LARDER_STORE")
    static let quiet = Option(
        name: "--quiet", placeholder: nil, help: "Print errors only; with --json, also the report",
        short: "-q")
    /// The help of `quiet` for commands without `--json`.
    fileprivate static let quietHelpWithoutJSON = "Print errors only"
    static let verbose = Option(
        name: "--verbose", placeholder: nil, help: "Print a line for each request to standard error",
        short: "-v")
    static let progress = Option(
        name: "--progress", placeholder: "FORM",
        help: "Progress: block, json (on standard error) or none",
        defaultValue: "block", variable: "LARDER_PROGRESS")
    static let json = Option(name: "--json", placeholder: nil, help: "Print the report as JSON")
    static let schema = Option(
        name: "--schema", placeholder: nil,
        help: "Print the JSON Schema of .larder.json, with which editors complete options",
        brief: "Print the JSON Schema of .larder.json", isCommandLineOnly: true)
    static let perHost = Option(
        name: "--per-host", placeholder: "N", help: "Maximum number of connections to one host",
        defaultValue: "16",
        group: .politeness)
    static let port = Option(
        name: "--port", placeholder: "N", help: "Port to listen on; 0 chooses a free one",
        defaultValue: "8080",
        variable: "LARDER_PORT")
    static let stored = Option(
        name: "--stored", placeholder: nil, help: "Check the stored bundles, without network access",
        aliases: ["--held"])
    static let base = Option(
        name: "--base", placeholder: "URL",
        help: "Base of relative URLs, such as a staging server",
        isRepeatable: true)
    static let siteOnly = Option(
        name: "--site-only", placeholder: nil,
        help: "Serve only the demo site until Ctrl-C", isCommandLineOnly: true)
    static let once = Option(
        name: "--once", placeholder: nil, help: "Fetch one page from the mirror, print a summary and exit",
        brief: "Fetch one page from the mirror, and exit",
        isCommandLineOnly: true)
    static let repair = Option(
        name: "--repair", placeholder: nil,
        help: "Take damaged bodies out of service, and rebuild damaged tables",
        brief: "Take damaged bodies out of service, rebuild tables", isCommandLineOnly: true)
    static let links = Option(
        name: "--links", placeholder: nil, help: "List the links from and to the URL")
    static let snapshot = Option(
        name: "--snapshot", placeholder: "[SITE@]N", help: "Use this snapshot, by number or date",
        defaultValue: "the live one", aliases: ["--visit"])
    static let type = Option(
        name: "--type", placeholder: "TYPE",
        help: "Only this type, such as text/html, image/* or js", defaultValue: "all")
    static let status = Option(
        name: "--status", placeholder: "N", help: "Only this HTTP status, such as 404",
        defaultValue: "all but 404, 410")
    static let site = Option(
        name: "--site", placeholder: nil, help: "Treat the argument as the name of a site")
    static let url = Option(name: "--url", placeholder: nil, help: "Treat the argument as a URL")
    static let pattern = Option(
        name: "--pattern", placeholder: nil, help: "Treat the argument as a pattern")
    static let maxSize = Option(
        name: "--max-size", placeholder: "SIZE",
        help: "Maximum size of the store, such as 500M or 2G",
        defaultValue: "no limit")
    static let compress = Option(
        name: "--compress", placeholder: nil,
        help: "Compress stored bodies with zstd", group: .storage)
    static let keepLast = Option(
        name: "--keep-last", placeholder: "N",
        help: "Keep the last N snapshots; the live one always stays",
        brief: "Keep the last N snapshots of the site", defaultValue: "all", isCommandLineOnly: true)
    static let keepDaily = Option(
        name: "--keep-daily", placeholder: "N",
        help: "Keep one snapshot for each of the last N days", defaultValue: "all", isCommandLineOnly: true)
    static let keepWeekly = Option(
        name: "--keep-weekly", placeholder: "N",
        help: "Keep one snapshot for each of the last N weeks", defaultValue: "all", isCommandLineOnly: true)
    static let keepWithin = Option(
        name: "--keep-within", placeholder: "TIME",
        help: "Keep all snapshots of the last TIME, such as 30d or 12h", defaultValue: "all",
        isCommandLineOnly: true)
    /// The retention rules of `gc`. `prefetch` and `update` have them too, and store them with the site.
    static let keepOptions: [Option] = [.keepLast, .keepDaily, .keepWeekly, .keepWithin]
    /// `-v` of `gc`. Unlike `verbose`, it changes the report and not the progress display.
    static let details = Option(
        name: "--verbose", placeholder: nil, help: "List the removed URLs",
        brief: "List all that is removed", short: "-v",
        isCommandLineOnly: true)
    static let allowIncomplete = Option(
        name: "--allow-incomplete", placeholder: nil,
        help: "With --max-size, remove live pages if nothing else is left to remove",
        brief: "With --max-size, remove live pages too if necessary", isCommandLineOnly: true)
    static let dryRun = Option(
        name: "--dry-run", placeholder: nil, help: "Only list what would be removed",
        isCommandLineOnly: true)
    static let due = Option(
        name: "--due", placeholder: nil, help: "Update only sites that are due (see larder schedule)",
        isCommandLineOnly: true)
    static let noSchedule = Option(
        name: "--no-schedule", placeholder: nil,
        help: "Do not update sites when they are due (see larder schedule)",
        brief: "Do not update sites when they are due")
    static let scheduled = Option(
        name: "--scheduled", placeholder: nil,
        help: "Update sites when they are due (the default)")
    static let install = Option(
        name: "--install", placeholder: nil, help: "Install a systemd timer that runs due updates",
        isCommandLineOnly: true)
    static let printTimer = Option(
        name: "--print-timer", placeholder: nil, help: "Print a systemd timer and a line for cron",
        isCommandLineOnly: true)
    static let hour = Option(
        name: "--hour", placeholder: "N", help: "Hour of the printed daily timer, from 0 to 23",
        defaultValue: "4")
    static let help = Option(
        name: "--help", placeholder: nil, help: "Show all options and notes",
        isCommandLineOnly: true)

    /// The parser accepts `-h` and `--help` for every command, so no command lists them.
    static let briefHelp = Option(
        name: "-h", placeholder: nil, help: "Show a short help", isCommandLineOnly: true)

    /// The options of all commands, the first of each name. Configuration files and the JSON Schema use it.
    static var all: [Option] {
        var all: [Option] = []
        for option in CommandEntry.all.flatMap(\.options)
        where !all.contains(where: { $0.name == option.name }) {
            all.append(option)
        }
        return all
    }

    /// The option as the help shows it, such as `-q, --quiet` or `--port N`.
    var title: String { (short.map { "\($0), " } ?? "") + name + (placeholder.map { " \($0)" } ?? "") }

    /// The name without its dashes, as in configuration files.
    var key: String { String(name.dropFirst(2)) }

    /// The keys of the name and of earlier names.
    var keys: [String] { ([name] + aliases).map { String($0.dropFirst(2)) } }

    /// Returns this option with another default, for a command that differs from the others.
    func withDefault(_ defaultValue: String) -> Option {
        var option = self
        option.defaultValue = defaultValue
        return option
    }
}

extension CommandEntry {
    /// The full help of one of the command's options. That of `--quiet` mentions `--json` only if the command has it.
    /// This is not a second option with another help, because a configuration file could set that only in sections.
    func help(of option: Option) -> String {
        option == .quiet && !options.contains(.json) ? Option.quietHelpWithoutJSON : option.help
    }
}

extension Option {
    /// Options of wget, curl, HTTrack and other programs, and the option to suggest instead. They are not
    /// accepted. A suggestion is made only if the command has that option.
    static let synonyms = [
        "--level": "--depth", "--max-depth": "--depth", "-l": "--depth", "-d": "--depth",
        "--limit-rate": "--rate",
        "--max-rate": "--rate", "--no-check-certificate": "--insecure", "-k": "--insecure",
        "--cacert": "--ca", "--ca-certificate": "--ca",
        "--reject": "--exclude",
        "-R": "--exclude", "--ignore": "--exclude", "--accept": "--include", "-A": "--include",
        "--jobs": "--per-host",
        "-j": "--per-host", "--connections": "--per-host", "--concurrency": "--per-host",
        "--workers": "--render-tabs",
        "--output": "--store", "-o": "--store", "-O": "--output", "--directory": "--store",
        "--directory-prefix": "--store",
        "--quota": "--max-bytes", "--ua": "--user-agent", "-U": "--user-agent", "-H": "--header",
        "--cookie": "--cookies", "--load-cookies": "--cookies", "--password": "--user", "-u": "--user",
        "-p": "--port",
        "--bind": "--listen", "--host": "--listen", "--address": "--listen", "--readonly": "--read-only",
        "--https": "--tls",
        "--data": "--store", "--data-dir": "--store", "--limit": "--max-pages", "--pages": "--max-pages",
        "--browser-path": "--browser", "--no-render": "--render", "--javascript": "--render",
        "--js": "--render",
        "--fix": "--repair", "--delete": "--repair", "--force": "--allow-shrink", "--revision": "--snapshot",
        "--version": "--snapshot", "--at": "--snapshot", "--keep": "--keep-last",
        "--compression": "--compress", "--manifest": "--target", "--folder": "--dir", "--path": "--dir",
    ]
}

/// The options of `prefetch`, `update` and `plan`.
extension Option {
    static let prefetch: [Option] =
        [
            .store, .onlyPage, .json, .quiet, .verbose, .progress, .base, .manifest, .trust, .allowRollback,
            .strong,
            .strict,
        ]
        + scopeOptions + politenessOptions + renderOptions + storageOptions + groupedKeepOptions
        + networkOptions
        + identityOptions
    /// The options of `prefetch` that apply to a shared snapshot: those about pages, rendering and
    /// connections.
    static let work: [Option] =
        [.store, .json, .quiet, .verbose, .progress, .strict, .stay]
        + scopeOptions + politenessOptions + renderOptions
        + storageOptions.filter { $0.name != Option.maxSize.name }
        + networkOptions + identityOptions
    /// No scope options: an update keeps the scope that the site was prefetched with.
    static let update: [Option] =
        [.store, .due, .json, .quiet, .verbose, .progress, .newTrust, .allowRollback, .strong, .strict]
        + (politenessOptions + renderOptions + storageOptions.filter { $0 != .rule }).map {
            inheritedByUpdate.contains($0) ? $0.withDefault("as before") : $0
        }
        + groupedKeepOptions.map { $0.withDefault("as before") }
        + networkOptions + identityOptions
    /// `keepOptions` below the heading "Stored content".
    private static let groupedKeepOptions = keepOptions.map { $0.inGroup(.storage) }

    static let preload: [Option] =
        [
            .store, .json, .quiet, .verbose, .progress, .base, .format, .assets, .strict, .trust,
            .allowRollback, .strong,
            .rehashStored,
        ]
        + [.perHost, .rate, .maxBody, .timeout] + networkOptions + identityOptions

    /// Options that an update takes from the last run of the site if they are not given. Only their shown
    /// default differs; the library does the rest.
    private static let inheritedByUpdate: [Option] =
        [.robots, .nofollow, .noindex, .media]
        + renderOptions.filter { ![.browser, .renderTabs].contains($0) }

    /// No store: a plan requests pages of the live site, and stores nothing.
    static let plan: [Option] =
        [.json, .quiet, .progress, .sample] + scopeOptions.filter { ![.sitemap, .noGuesses].contains($0) }
        + [.perHost, .robots, .rate, .timeout] + networkOptions + identityOptions

    static let scopeOptions: [Option] = [
        .scope, .include, .exclude, .includeHistory, .includeForms, .includeViews, .depth, .sitemap,
        .noGuesses,
    ]
    static let politenessOptions: [Option] = [
        .perHost, .robots, .nofollow, .noindex, .allowActions, .rate, .maxPages, .maxBytes, .maxTime,
        .maxBody, .timeout,
        .hostPatience,
    ]
    static let renderOptions: [Option] = [
        .render, .browser, .renderTabs, .renderScroll, .renderTime, .act, .consent, .freeze, .renderDeep,
        .renderDark,
        .renderScript,
        .renderPictures, .steady, .viewport,
    ]
    static let storageOptions: [Option] = [
        .fetchPolicy, .media, .mediaCommand, .mediaFor, .rule, .allowShrink, .noIndex,
        .maxSize.inGroup(.storage), .compress,
    ]
    static let networkOptions: [Option] = [
        .proxy, .resolve, .ipv4, .ipv6, .authorities, .insecure, .allowPrivate,
    ]
    static let identityOptions: [Option] = [
        .userAgent, .header, .user, .bearer, .netrc, .cookies, .saveCookies, .certificate, .certificateKey,
    ]

    static let onlyPage = Option(
        name: "--page", placeholder: nil,
        help: "Fetch only this page with everything it needs, and follow no links",
        brief: "Fetch only this page and what it needs", isCommandLineOnly: true)
    static let scope = Option(
        name: "--scope", placeholder: "EXTENT",
        help: "Follow pages of the same host, path (folder) or domain",
        defaultValue: "host", group: .scope)
    static let include = Option(
        name: "--include", placeholder: "PATTERN",
        help: "Also follow matching pages, such as /blog/** or *.pdf",
        group: .scope, isRepeatable: true)
    static let exclude = Option(
        name: "--exclude", placeholder: "PATTERN",
        help: "Never fetch matching URLs, neither as pages nor as assets",
        brief: "Never fetch matching URLs, not even as assets",
        group: .scope,
        isRepeatable: true)
    static let depth = Option(
        name: "--depth", placeholder: "N", help: "Maximum number of links from the start URLs to a page",
        defaultValue: "no limit",
        group: .scope)
    static let sitemap = Option(
        name: "--sitemap", placeholder: "URL", help: "Also take pages from this sitemap",
        defaultValue: "those in robots.txt",
        group: .scope, isRepeatable: true)
    static let noGuesses = Option(
        name: "--no-guesses", placeholder: nil,
        help: "Do not try strings in scripts that only look like URLs",
        group: .scope)

    static let pictures = Option(
        name: "--pictures", placeholder: nil,
        help: "Compare screenshots, if prefetch took them with --render-pictures",
        brief: "Compare screenshots (see prefetch --render-pictures)")
    static let pageText = Option(
        name: "--text", placeholder: nil,
        help: "Compare the text of one page, also if it is the start page of a site",
        brief: "Compare the text of a page")
    static let updateFile = Option(
        name: "--patch", placeholder: "FILE",
        help: "Write an update file, for larder preload on other machines",
        brief: "Write an update file, for larder preload", isCommandLineOnly: true)
    static let updateSigningKey = Option(
        name: "--sign", placeholder: "KEY",
        help: "With --patch: sign the file with this key (see larder key)",
        brief: "Sign the update file with this key")
    static let updateBase = Option(
        name: "--base", placeholder: "URL",
        help: "With --patch: URL at which the files are published", isCommandLineOnly: true)
    static let updateVersion = Option(
        name: "--release", placeholder: "VERSION",
        help: "With --patch: version of the later release", isCommandLineOnly: true)
    static let updateFromVersion = Option(
        name: "--from-release", placeholder: "VERSION",
        help: "With --patch: version of the earlier release", isCommandLineOnly: true)
    static let render = Option(
        name: "--render", placeholder: "WHICH",
        help: "Render pages: auto (a sample), always or never",
        defaultValue: "auto", group: .rendering)
    static let browser = Option(
        name: "--browser", placeholder: "PATH", help: "Path of Chromium or Chrome",
        defaultValue: "the first one found", group: .rendering, variable: "LARDER_CHROMIUM", isProgram: true)
    static let renderTabs = Option(
        name: "--render-tabs", placeholder: "N", help: "Maximum number of pages rendered at once",
        defaultValue: "by cores and memory", group: .rendering)
    static let renderScroll = Option(
        name: "--render-scroll", placeholder: "N", help: "Maximum number of screens to scroll down a page",
        defaultValue: "20",
        group: .rendering)
    static let renderTime = Option(
        name: "--render-time", placeholder: "TIME", help: "Maximum time for one page", defaultValue: "20s",
        group: .rendering)
    static let act = Option(
        name: "--act", placeholder: "WHICH",
        help: "Use controls of rendered pages: search, all or never",
        defaultValue: "all", group: .rendering)
    static let consent = Option(
        name: "--consent", placeholder: "CHOICE",
        help: "Answer cookie banners: reject, accept or leave",
        defaultValue: "reject", group: .rendering)
    static let freeze = Option(
        name: "--freeze", placeholder: "WHEN",
        help: "Show frozen copies of pages: auto, always or never",
        defaultValue: "auto", group: .rendering)
    static let renderDeep = Option(
        name: "--render-deep", placeholder: nil,
        help: "Use the controls of every rendered page, and start videos", group: .rendering)
    static let renderDark = Option(
        name: "--render-dark", placeholder: nil, help: "Also render pages in dark mode",
        group: .rendering)
    static let renderScript = Option(
        name: "--render-script", placeholder: "FILE",
        help: "Run this script in each page; PATTERN=FILE: in some",
        group: .rendering, isRepeatable: true)
    static let viewport = Option(
        name: "--viewport", placeholder: "LIST",
        help: "Window sizes for rendering: 1280x900,390x844@3",
        defaultValue: "1280x900",
        group: .rendering)

    static let renderPictures = Option(
        name: "--render-pictures", placeholder: nil,
        help: "Take a screenshot of each page (see larder diff --pictures)",
        brief: "Take a screenshot of each page (see larder diff)",
        group: .rendering)
    static let steady = Option(
        name: "--steady", placeholder: nil,
        help: "Give scripts a fixed time and fixed random numbers",
        group: .rendering)

    static let manifest = Option(
        name: "--manifest", placeholder: nil, help: "Treat the argument as a manifest, whatever its name",
        isCommandLineOnly: true)
    static let assets = Option(
        name: "--assets", placeholder: "WHICH", help: "Also fetch the assets that bundles need: all or none",
        defaultValue: "all",
        aliases: ["--requisites"])
    static let yes = Option(
        name: "--yes", placeholder: nil, help: "Do not ask before the removal")
    static let strict = Option(
        name: "--strict", placeholder: nil,
        help: "Exit with 1 for all problems, also 404s and expired manifests",
        brief: "Exit with 1 if anything was not fetched or verified")
    static let strong = Option(
        name: "--strong", placeholder: nil,
        help: "Accept only SHA-256 or stronger digests, not MD5 or SHA-1",
        brief: "Accept only SHA-256 or stronger digests")
    static let allowRollback = Option(
        name: "--allow-rollback", placeholder: nil,
        help: "Accept a manifest that is older than the last accepted one",
        brief: "Accept a manifest that is older than the last one", isCommandLineOnly: true)
    static let trust = Option(
        name: "--trust", placeholder: "KEY",
        help: "Accept only manifests signed by this key (see larder key --help)",
        brief: "Accept only manifests signed by this key",
        defaultValue: "the site's keys", isRepeatable: true)
    /// `--trust` of an update. A key in a file of options would replace the keys of all sites.
    static let newTrust = Option(
        name: trust.name, placeholder: "KEY",
        help: "Replace the keys that may sign the manifest (see larder key --help)",
        brief: "Replace the keys that may sign the manifest",
        defaultValue: "the site's keys", isRepeatable: true, isCommandLineOnly: true)
    static let sample = Option(
        name: "--sample", placeholder: "N", help: "Maximum number of requests for the estimate",
        defaultValue: "200")
    static let robots = Option(
        name: "--robots", placeholder: "WHETHER", help: "What to do with robots.txt: obey or ignore",
        defaultValue: "obey",
        group: .politeness)
    static let nofollow = Option(
        name: "--nofollow", placeholder: "WHAT",
        help:
            "Links marked nofollow (also ugc, sponsored): follow, obey, or pages (obey only marks of whole pages)",
        brief: "Links marked nofollow: follow, obey or pages",
        defaultValue: "follow", group: .politeness)
    static let noindex = Option(
        name: "--noindex", placeholder: "WHETHER",
        help: "Pages marked noindex: ignore the mark, or obey (follow, do not store)",
        brief: "Pages marked noindex: ignore or obey the mark",
        defaultValue: "ignore", group: .politeness)
    static let rate = Option(
        name: "--rate", placeholder: "SIZE", help: "Maximum bytes per second, such as 500k",
        defaultValue: "no limit",
        group: .politeness)
    static let maxPages = Option(
        name: "--max-pages", placeholder: "N",
        help: "Stop after N pages; a higher limit continues", brief: "Stop after N pages",
        defaultValue: "no limit",
        group: .politeness)
    static let maxBytes = Option(
        name: "--max-bytes", placeholder: "SIZE",
        help: "Stop after this much data; the next run continues",
        defaultValue: "no limit", group: .politeness)
    static let maxTime = Option(
        name: "--max-time", placeholder: "TIME",
        help: "Stop after 90s, 10m or 2h; the next run continues",
        defaultValue: "no limit", group: .politeness)
    static let maxBody = Option(
        name: "--max-body", placeholder: "SIZE", help: "Skip files larger than this", defaultValue: "8GiB",
        group: .politeness)
    static let timeout = Option(
        name: "--timeout", placeholder: "TIME", help: "Give up a transfer after this time",
        defaultValue: "no limit",
        group: .politeness)
    static let hostPatience = Option(
        name: "--patience", placeholder: "TIME",
        help: "Wait this long at the end for hosts that never answered",
        defaultValue: "10s",
        group: .politeness)

    static let fetchPolicy = Option(
        name: "--policy", placeholder: "NAME",
        help: "Use of stored responses: revalidate, protocol, prefer-cache or reload",
        brief: "Use of stored responses (see larder help policies)",
        defaultValue: "revalidate", group: .storage)
    static let media = Option(
        name: "--media", placeholder: "WHICH",
        help: "Rendition of videos: best, a height such as 720p, audio or none",
        brief: "Rendition of videos: best, 720p, audio or none", defaultValue: MediaChoice.standard.rawValue,
        group: .storage)
    static let mediaCommand = Option(
        name: "--media-command", placeholder: "COMMAND",
        help:
            "Program for the videos of --media-for, such as 'yt-dlp -P %o %u'",
        brief: "Program that downloads videos", group: .storage, isCommandLineOnly: true)
    static let mediaFor = Option(
        name: "--media-for", placeholder: "PATTERN",
        help: "URLs of players that --media-command replaces by a video",
        brief: "URLs for --media-command", group: .storage, isRepeatable: true, isCommandLineOnly: true)
    static let rule = Option(
        name: "--rule", placeholder: "RULE",
        help: "Apply a rule to URLs (see larder help rules)", group: .storage, isRepeatable: true)

    static let allowShrink = Option(
        name: "--allow-shrink", placeholder: nil,
        help: "Accept a snapshot that lost over half of its pages or shows a login page",
        brief: "Accept a snapshot that lost over half of its pages",
        group: .storage)

    static let stay = Option(
        name: "--stay", placeholder: nil,
        help: "When no work is left, wait for the next shared snapshot")

    static let proxy = Option(
        name: "--proxy", placeholder: "URL",
        help: "Proxy, such as http:// or socks5h://",
        defaultValue: "$http_proxy, $https_proxy", group: .network)
    static let resolve = Option(
        name: "--resolve", placeholder: "HOST:PORT:IP", help: "Connect to this address for a host",
        defaultValue: "DNS", group: .network, isRepeatable: true)
    static let ipv4 = Option(
        name: "--ipv4", placeholder: nil, help: "Use only IPv4", group: .network)
    static let ipv6 = Option(
        name: "--ipv6", placeholder: nil, help: "Use only IPv6", group: .network)
    static let authorities = Option(
        name: "--ca", placeholder: "FILE", help: "Also trust the certificates in this PEM file",
        defaultValue: "only the system's",
        group: .network)
    static let insecure = Option(
        name: "--insecure", placeholder: nil, help: "Accept any TLS certificate; the report says so",
        group: .network)
    static let allowPrivate = Option(
        name: "--allow-private", placeholder: nil,
        help: "Let pages of public servers request private addresses", group: .network)

    static let userAgent = Option(
        name: "--user-agent", placeholder: "TEXT", help: "User-Agent header",
        defaultValue: "larder/\(Larder.version)", group: .identity, variable: "LARDER_USER_AGENT")
    static let header = Option(
        name: "--header", placeholder: "FIELD",
        help: "Header for all hosts, or for one: 'example.com X-Key: 1'",
        brief: "Send this header to all hosts, or to one",
        group: .identity, isRepeatable: true)
    static let user = Option(
        name: "--user", placeholder: "NAME:PASSWORD",
        help: "Basic login for the hosts of the URLs; digest:NAME:PASSWORD uses digest",
        brief: "Log in with HTTP basic authentication",
        group: .identity)
    static let bearer = Option(
        name: "--bearer", placeholder: "TOKEN", help: "Send this bearer token to the hosts of the URLs",
        group: .identity)
    static let netrc = Option(
        name: "--netrc", placeholder: "FILE", help: "Read logins by host from this file",
        group: .identity)
    static let cookies = Option(
        name: "--cookies", placeholder: "FILE",
        help: "Send the cookies in this file (Netscape format or JSON)",
        brief: "Send the cookies in this file",
        group: .identity, isRepeatable: true)
    static let includeHistory = Option(
        name: "--include-history", placeholder: nil,
        help: "Also follow histories, old versions, comparisons and print views",
        brief: "Also follow histories of pages", group: .scope)
    static let includeForms = Option(
        name: "--include-forms", placeholder: nil,
        help: "Also follow forms to edit, log in and register", group: .scope)
    static let includeViews = Option(
        name: "--include-views", placeholder: nil,
        help: "Also follow all sorted, filtered and other views", defaultValue: "a few of each kind",
        group: .scope)
    static let allowActions = Option(
        name: "--allow-actions", placeholder: "PATTERN",
        help: "With a login, also follow matching links that may change something",
        brief: "With a login, also follow matching links",
        defaultValue: "none", group: .politeness, isRepeatable: true)
    static let saveCookies = Option(
        name: "--save-cookies", placeholder: "FILE", help: "Write the cookies that servers set to this file",
        group: .identity)
    static let certificate = Option(
        name: "--cert", placeholder: "FILE", help: "Client certificate for the hosts of the URLs (PEM)",
        group: .identity)
    static let certificateKey = Option(
        name: "--key", placeholder: "FILE", help: "Private key of --cert (PEM)",
        defaultValue: "in the --cert file",
        group: .identity)

    /// Returns this option below another heading of the help.
    func inGroup(_ group: Group) -> Option {
        var option = self
        option.group = group
        return option
    }
}

/// The options of `serve` and its relatives.
extension Option {
    static let atRoot = Option(
        name: "--at-root", placeholder: "SITE", help: "Serve this site at http://localhost:PORT/ itself",
        defaultValue: "the portal")
    static let listen = Option(
        name: "--listen", placeholder: "ADDRESS",
        help: "Address to listen on; * for all",
        defaultValue: "loopback only")
    static let policy = Option(
        name: "--policy", placeholder: "NAME",
        help: "Cache policy (see larder help policies)", defaultValue: "offline")
    static let verify = Option(
        name: "--verify", placeholder: "WHEN",
        help: "Verify bodies: once, always or never (only bundles)",
        defaultValue: "once")
    static let rehashStored = Option(
        name: "--verify", placeholder: nil,
        help: "Also verify bundles that are already stored, and fetch changed ones again",
        brief: "Also verify bundles that are already stored")
    static let noShim = Option(
        name: "--no-shim", placeholder: nil,
        help: "Do not add the script that redirects URLs made by other scripts",
        brief: "Do not add Larder's script to pages")
    static let allowNetwork = Option(
        name: "--allow-network", placeholder: nil,
        help: "Let pages use the network for URLs outside of the mirror", brief: "Let pages use the network")
    static let showPrivate = Option(
        name: "--show-private", placeholder: nil,
        help: "Let other machines see responses fetched with your credentials",
        brief: "Let other machines see private responses"
    )
    static let readOnly = Option(
        name: "--read-only", placeholder: nil, help: "Disable all changes through the portal")
    static let tls = Option(
        name: "--tls", placeholder: "own|FILE",
        help: "Serve HTTPS: own (see larder ca) or a PEM file",
        defaultValue: "http")
    static let tlsKey = Option(
        name: "--tls-key", placeholder: "FILE", help: "Private key of --tls FILE (PEM)",
        defaultValue: "in the --tls file")
    static let updates = Option(
        name: "--updates", placeholder: nil,
        help: "Serve published releases to apps (see larder publish)")
    static let updatesURL = Option(
        name: "--updates-url", placeholder: "URL",
        help: "URL at which devices reach the server",
        defaultValue: "the requested host")
    static let updatesSign = Option(
        name: "--updates-sign", placeholder: "FILE",
        help: "Sign updates for Expo's client with this RSA key (PEM)")
    static let noBar = Option(
        name: "--no-bar", placeholder: nil,
        help: "Show no bar with the date and other snapshots on pages",
        brief: "Show no bar on pages")
    static let openBrowser = Option(
        name: "--open", placeholder: nil, help: "Open the portal in the browser",
        isCommandLineOnly: true)
    static let forget = Option(
        name: "--forget", placeholder: nil, help: "Remove the password", isCommandLineOnly: true)
    static let preloaded = Option(
        name: "--preload", placeholder: "MANIFEST",
        help: "Keep the bundles of this manifest current",
        isRepeatable: true)
    static let every = Option(
        name: "--every", placeholder: "TIME",
        help: "Preload again after 90s, 10m or 2h",
        defaultValue: "only at start")
    static let patience = Option(
        name: "--timeout", placeholder: "TIME",
        help: "Wait this long for the server, then use the store",
        defaultValue: "5s")
    static let memory = Option(
        name: "--memory", placeholder: "SIZE",
        help: "Memory limit, with the cache of responses",
        defaultValue: "128MiB")
    static let stop = Option(
        name: "--stop", placeholder: nil, help: "Stop the server on the port", isCommandLineOnly: true)
    static let clear = Option(
        name: "--clear", placeholder: nil, help: "Delete the list, so that no prefetch fetches these URLs",
        isCommandLineOnly: true)

    static let serve: [Option] =
        [
            .store, .port, .proxyPort, .proxyUser, .connectPort, .passthrough, .atRoot, .listen, .tls,
            .tlsKey,
            .policy,
            .rule.inGroup(.general), .patience, .preloaded, .every, .base, .format,
            .assets, .verify, .trust, .allowRollback, .strong, .memory, .maxSize, .compress.inGroup(.general),
            .noShim, .allowNetwork,
            .showPrivate, .readOnly, .updates, .updatesURL, .updatesSign, .noSchedule, .scheduled, .noBar,
            .openBrowser,
            .quiet,
        ] + networkOptions + identityOptions
}

/// The options of `proxy`, `record`, `replay` and `ca`.
extension Option {
    static let proxyPort = Option(
        name: "--proxy-port", placeholder: "N",
        help: "Also run a proxy for programs on this port (see larder help proxy)")
    static let into = Option(
        name: "--into", placeholder: "SITE", help: "Store all responses in this site",
        defaultValue: "sites on the same hosts")
    static let proxyUser = Option(
        name: "--proxy-user", placeholder: "USER:PASSWORD",
        help: "Require this login from clients of the proxy",
        defaultValue: "no login", isCommandLineOnly: true)
    static let connectPort = Option(
        name: "--connect-port", placeholder: "N",
        help: "Also let clients connect to this port; 0 allows any",
        defaultValue: "80, 443, 8000, 8080, 8443, 9443", isRepeatable: true)
    static let passthrough = Option(
        name: "--no-intercept", placeholder: "HOST",
        help: "Do not intercept this host, such as *.example.com", isRepeatable: true)
    static let pem = Option(name: "--pem", placeholder: nil, help: "Print only the certificate (PEM)")

    /// The options that `proxy`, `record` and `replay` share.
    private static let commonProxyOptions: [Option] =
        [
            .into, .rule.inGroup(.general), .maxSize, .compress.inGroup(.general), .memory, .passthrough,
            .verify, .quiet,
        ]
    static let proxyCommand: [Option] =
        [
            .store, .port.withDefault("8081"), .policy.withDefault("protocol"), .listen, .proxyUser,
            .connectPort,
            .patience,
        ] + commonProxyOptions + networkOptions + identityOptions
    static let record: [Option] =
        [.store, .policy.withDefault("revalidate")] + commonProxyOptions + networkOptions + identityOptions
    /// No options for network requests: a replay sends none.
    static let replay: [Option] =
        [.store] + commonProxyOptions.filter { ![.into, .maxSize, .compress.inGroup(.general)].contains($0) }
    static let authority: [Option] = [.store, .pem, .json]
    static let login: [Option] = [
        .store, .forgetLogin, .browser.inGroup(.general), .json, .quiet, .proxy, .resolve, .insecure,
    ]
}

/// The options of `export` and `import`.
extension Option {
    static let archiveFormat = Option(
        name: "--format", placeholder: "FORM",
        help: "Format: warc, wacz, har, folder, zip, tar, zim, run, html, mhtml, pdf or png",
        brief: "Format, such as warc or zip (see larder help archives)",
        defaultValue: "by the file name")
    static let split = Option(
        name: "--split", placeholder: "SIZE", help: "Start another WARC file at this size",
        defaultValue: "one file")
    static let withPrivate = Option(
        name: "--private", placeholder: nil,
        help: "Include what was fetched with a login, and headers that set cookies",
        brief: "Include responses fetched with logins or cookies")
    static let selfServing = Option(
        name: "--self-serving", placeholder: nil,
        help: "Write one executable file that serves the site without Larder (.run)",
        brief: "Write one executable file that serves the site", isCommandLineOnly: true)
    static let replaceFile = Option(
        name: "--force", placeholder: nil, help: "Replace an existing file")
    static let language = Option(
        name: "--language", placeholder: "CODE", help: "ZIM: language of the text, such as en or eng,fra",
        defaultValue: "that of the pages")
    static let noScripts = Option(
        name: "--no-scripts", placeholder: nil, help: "Single page: leave out its scripts")
    static let dark = Option(
        name: "--dark", placeholder: nil, help: "PDF and PNG: use dark mode")
    static let oneViewport = Option(
        name: "--viewport", placeholder: "SIZE", help: "PDF and PNG: window size, such as 390x844@3",
        defaultValue: "1280x900")
    static let verifyCopy = Option(
        name: "--verify", placeholder: nil, help: "Read the result back and compare it with the store")
    static let sign = Option(
        name: "--sign", placeholder: nil,
        help: "Sign the WACZ with the store's key, which is created on first use",
        brief: "Sign the WACZ with the store's key")
    static let intoSite = Option(
        name: "--site", placeholder: "NAME", help: "Name of the site that gets the snapshot",
        defaultValue: "the first page in the archives")
    static let folderAddress = Option(
        name: "--url", placeholder: "URL", help: "Original URL of a folder or saved page",
        defaultValue: "the one in its files")

    static let growth = Option(
        name: "--growth", placeholder: "SIZE",
        help: "Maximum expansion of an archive beyond 200 times its size",
        brief: "Maximum expansion beyond 200 times the archive's size",
        defaultValue: "512MiB, or a quarter of the free disk space")

    static let includeExported = Option(
        name: Option.include.name, placeholder: "PATTERN",
        help: "Export only matching pages, with their assets",
        defaultValue: "all",
        isRepeatable: true)
    static let excludeExported = Option(
        name: Option.exclude.name, placeholder: "PATTERN",
        help: "Leave out matching URLs, even if a page needs them", isRepeatable: true)

    static let export: [Option] = [
        .store, .archiveFormat, .selfServing, .replaceFile, .snapshot, .includeExported, .excludeExported,
        .withPrivate,
        .split,
        .language, .noScripts, .maxBody.withDefault("32M").inGroup(.general), .browser.inGroup(.general),
        .oneViewport,
        .dark, .verifyCopy, .sign, .json, .quiet, .progress,
    ]
    static let archiveImport: [Option] = [
        .store, .intoSite, .folderAddress, .trust, .allowRollback, .growth, .noIndex.inGroup(.general),
        .compress.inGroup(.general),
        .json, .quiet, .progress,
    ]
}

/// The options of `search` and `index`.
extension Option {
    static let noIndex = Option(
        name: "--no-index", placeholder: nil, help: "Do not update the search index",
        group: .storage)
    static let inSite = Option(
        name: "--site", placeholder: "SITE", help: "Search only this site", defaultValue: "all")
    static let limit = Option(
        name: "--limit", placeholder: "N", help: "Maximum number of results", defaultValue: "10")

    static let search: [Option] = [.store, .inSite, .type, .snapshot, .limit, .json, .quiet]
}

/// The options of `check` and `manifest`.
extension Option {
    static let target = Option(
        name: "--target", placeholder: "TARGET",
        help: "Manifest or site to check if none is named; set it in .larder.json")
    static let live = Option(
        name: "--live", placeholder: nil, help: "Also check the live server, beside --stored or --dir")
    static let folder = Option(
        name: "--dir", placeholder: "DIR", help: "Check the files in this folder, such as a build",
        isRepeatable: true)
    static let renderOffline = Option(
        name: "--render", placeholder: nil,
        help: "Open pages in a browser without network",
        defaultValue: "if one is found")
    static let requireLevel = Option(
        name: "--require", placeholder: "LEVEL",
        help: "What to prove about a site: read or rehearsed (see below)",
        brief: "What to prove about a site: read or rehearsed",
        defaultValue: "read, and no opened page differs")
    static let renderPages = Option(
        name: "--render-pages", placeholder: "N",
        help: "Maximum number of pages to open; 0 opens all",
        defaultValue: "60")
    static let offline = Option(
        name: "--offline", placeholder: nil,
        help: "Check that the stored site is complete")
    static let quick = Option(
        name: "--quick", placeholder: nil,
        help: "Trust digests that were computed before, and compare only sizes")
    static let checkLinks = Option(
        name: "--links", placeholder: nil,
        help: "Check the links of a site, URL, folder or files")
    static let noExternal = Option(
        name: "--no-external", placeholder: nil, help: "Make no requests to other sites for their links",
        group: .links)
    static let maxAge = Option(
        name: "--max-age", placeholder: "TIME",
        help: "Use results for other sites again for 90s, 2h or 7d", defaultValue: "1d", group: .links)
    static let ignoreLinks = Option(
        name: "--ignore", placeholder: "PATTERN",
        help: "Do not report links to matching URLs",
        defaultValue: "none", group: .links,
        isRepeatable: true)
    static let ignoreFile = Option(
        name: "--ignore-file", placeholder: "FILE", help: "File with links that are not reported",
        defaultValue: ".larderignore", group: .links)
    static let baseline = Option(
        name: "--baseline", placeholder: "FILE",
        help: "Report only links that this file does not list", defaultValue: "none", group: .links)
    static let newBaseline = Option(
        name: "--write-baseline", placeholder: "FILE",
        help: "Write all links that would be reported to this file",
        defaultValue: "none", group: .links, isCommandLineOnly: true)

    static let publicOnly = Option(
        name: "--public-only", placeholder: nil,
        help: "Request no links to private addresses or this machine", group: .links)
    static let linkCache = Option(
        name: "--cache", placeholder: "FILE", help: "Keep results of other sites in this file",
        defaultValue: "the store", group: .links)
    static let acceptStatuses = Option(
        name: "--accept", placeholder: "STATUSES",
        help: "Also accept these statuses, such as 403,500..=599",
        defaultValue: "none", group: .links)
    static let excludePath = Option(
        name: "--exclude-path", placeholder: "PATTERN",
        help: "Do not check the links of matching files", defaultValue: "none", group: .links,
        isRepeatable: true)

    /// The options of `check` that are only for links.
    static let linkOptions: [Option] = [
        .noExternal, .publicOnly, .maxAge, .linkCache, .acceptStatuses, .ignoreLinks, .ignoreFile,
        .excludePath,
        .baseline,
        .newBaseline, .maxPages.inGroup(.links),
        .robots.inGroup(.links), .timeout.inGroup(.links).withDefault("30s"),
    ]
    static let report = Option(
        name: "--report", placeholder: "FORMAT[=FILE]",
        help: "Write a report as text, json, junit, sarif, github, tap or markdown, printed or to a file",
        brief: "Write text, json, junit, sarif, github, tap or markdown",
        defaultValue: "text",
        isRepeatable: true)
    static let failOn = Option(
        name: "--fail-on", placeholder: "VERDICTS",
        help: "Verdicts that cause exit status 1, separated by commas",
        brief: "Verdicts that cause exit status 1",
        defaultValue: "mismatch,missing,skew; for links, fragment-missing,dead")
    static let format = Option(
        name: "--format", placeholder: "FORM", help: "Format of the manifest", defaultValue: "detected")
    static let release = Option(
        name: "--known", placeholder: "MANIFEST",
        help: "Manifest of another release; bundles that match it are skew",
        isRepeatable: true)
    static let evidence = Option(
        name: "--evidence", placeholder: "KIND",
        help: "Weak evidence: etag, or name=md5 (hashes in file names)",
        isRepeatable: true)
    static let output = Option(
        name: "--output", placeholder: "FILE", help: "Write to this file", defaultValue: "standard output")
    static let writtenFormat = Option(
        name: "--format", placeholder: "FORM", help: "Format to write: larder, waict or cordova",
        defaultValue: "larder", isCommandLineOnly: true)
    static let releaseVersion = Option(
        name: "--release", placeholder: "VERSION",
        help: "Version of the release; with cordova, also writes chcp.json",
        brief: "Version of the release (cordova: also chcp.json)", isCommandLineOnly: true)
    static let filesBase = Option(
        name: "--base", placeholder: "URL", help: "URL at which the files are published",
        isCommandLineOnly: true)
    static let signingKey = Option(
        name: "--sign", placeholder: "KEY", help: "Sign the manifest with this secret key (see larder key)",
        brief: "Sign with this secret key (see larder key)")
    static let signatureForm = Option(
        name: "--signature", placeholder: "FORM",
        help: "Place of the signature: detached or inside",
        defaultValue: "detached with --output, else inside")
    static let keyFile = Option(
        name: "--out", placeholder: "FILE", help: "File of the new secret key", defaultValue: "larder.key",
        isCommandLineOnly: true)
    static let passphraseFile = Option(
        name: "--passphrase-file", placeholder: "FILE",
        help: "File with the passphrase",
        defaultValue: "$LARDER_KEY_PASSPHRASE, else asked")
    static let noPassphrase = Option(
        name: "--no-passphrase", placeholder: nil,
        help: "Store the new key unprotected, for machines that sign on their own",
        brief: "Store the new key unprotected", isCommandLineOnly: true)
    static let fetched = Option(
        name: "--live", placeholder: nil, help: "Fetch the site, even if it is stored")
    static let created = Option(
        name: "--created", placeholder: nil,
        help: "Write the time, so that older manifests are recognised",
        brief: "Write the time into the manifest")
    static let expires = Option(
        name: "--expires", placeholder: "TIME",
        help: "Let the manifest expire after this time, such as 30d", defaultValue: "never")
}
