internal import LarderKit

/// An option of the command line. The parser, the help, the manual pages and the completions read these
/// values.
struct Option: Sendable, Equatable {
    /// The name, with its dashes.
    let name: String
    /// The placeholder for its value in the help; nil for a flag.
    let value: String?
    let help: String
    /// The text of the short help, if `help` does not fit its line.
    var brief: String?
    /// The default, as the help shows it and `number` reads it; nil if there is none.
    var standard: String?
    var group = Group.general
    /// Whether the option may be given several times.
    var repeats = false
    /// A short name, with its dash.
    var short: String?
    /// The environment variable that sets the option if the command line does not.
    var variable: String?
    /// The places, besides the command line, that may set the option.
    var place = Place.anywhere
    /// Earlier names, which still work but are not shown.
    var aliases: [String] = []

    /// The places that may set an option.
    enum Place: Sendable {
        case anywhere
        /// Only on the command line, because the option is for a single run.
        case commandLine
    }

    /// Whether the value of the option is never printed.
    var isSecret: Bool { ["--user", "--bearer", "--header", "--proxy-user"].contains(name) }

    /// The values for people: the address of a store without its password. Nil for values that may be secret,
    /// such as a URL with a user name or a query.
    func shown(_ values: [String]) -> [String]? {
        if name == Option.store.name { return values.map { Larder(at: $0).shownPath } }
        return isSecret || values.contains { $0.contains("@") || $0.contains("://") && $0.contains("?") }
            ? nil : values
    }

    /// The headings under which the help lists options, in order.
    enum Group: String, Sendable, CaseIterable {
        case general = "Options"
        case scope = "Pages to follow"
        case manners = "Limits and politeness"
        case rendering = "Rendering in a browser"
        case stored = "Stored content"
        case network = "Network"
        case identity = "Identity and logins"
    }

    static let sites = Option(
        name: "--sites", value: nil, help: "List only the names of the stored sites", place: .commandLine)
    static let forgetLogin = Option(
        name: "--forget", value: nil, help: "Delete the stored login of the site", place: .commandLine)
    static let store = Option(
        name: "--store", value: "DIR",
        help: "Folder of the store, or postgres://USER@HOST/DATABASE",
        standard: "$LARDER_STORE, else $XDG_DATA_HOME/larder, else ~/.local/share/larder",
        variable: "LARDER_STORE")
    static let quiet = Option(
        name: "--quiet", value: nil, help: "Print errors only; with --json, also the report", standard: nil,
        short: "-q")
    static let verbose = Option(
        name: "--verbose", value: nil, help: "Print a line for each request to standard error",
        standard: nil,
        short: "-v")
    static let progress = Option(
        name: "--progress", value: "FORM",
        help:
            "Progress display: block (live figures, on a terminal), json (one line a second on standard error) or none",
        brief: "Progress display: block, json or none",
        standard: "block", variable: "LARDER_PROGRESS")
    static let json = Option(name: "--json", value: nil, help: "Print the report as JSON", standard: nil)
    static let schema = Option(
        name: "--schema", value: nil,
        help: "Print the JSON Schema of .larder.json, with which editors complete options",
        brief: "Print the JSON Schema of .larder.json", place: .commandLine)
    static let perHost = Option(
        name: "--per-host", value: "N", help: "Maximum number of connections to one host",
        standard: "16",
        group: .manners)
    static let port = Option(
        name: "--port", value: "N", help: "Port to listen on; 0 chooses a free one", standard: "8080",
        variable: "LARDER_PORT")
    static let stored = Option(
        name: "--stored", value: nil, help: "Check the stored bundles, without network access",
        aliases: ["--held"])
    static let base = Option(
        name: "--base", value: "URL",
        help: "URL that relative URLs of the manifest refer to, such as a staging server",
        brief: "Base of relative URLs, such as a staging server",
        standard: nil,
        repeats: true)
    static let siteOnly = Option(
        name: "--site-only", value: nil,
        help: "Serve only the demo site until Ctrl-C, to try commands on it",
        brief: "Serve only the demo site until Ctrl-C",
        standard: nil, place: .commandLine)
    static let once = Option(
        name: "--once", value: nil, help: "Fetch one page from the mirror, print a summary and exit",
        brief: "Fetch one page from the mirror, and exit",
        standard: nil,
        place: .commandLine)
    static let repair = Option(
        name: "--repair", value: nil,
        help: "Take damaged bodies out of service, remove unreferenced files, rebuild damaged tables",
        brief: "Take damaged bodies out of service, rebuild tables",
        standard: nil, place: .commandLine)
    static let links = Option(
        name: "--links", value: nil, help: "List the links from and to the URL", standard: nil)
    static let snapshot = Option(
        name: "--snapshot", value: "[SITE@]N", help: "Use this snapshot", standard: "the live one",
        aliases: ["--visit"])
    static let type = Option(
        name: "--type", value: "TYPE",
        help: "Only this media type: text/html, image/*, or a short name such as js",
        brief: "Only this type, such as text/html, image/* or js", standard: "all")
    static let status = Option(
        name: "--status", value: "N", help: "Only this HTTP status, such as 404", standard: "all but 404, 410")
    static let site = Option(
        name: "--site", value: nil, help: "Treat the argument as the name of a site", standard: nil)
    static let url = Option(name: "--url", value: nil, help: "Treat the argument as a URL", standard: nil)
    static let pattern = Option(
        name: "--pattern", value: nil, help: "Treat the argument as a pattern", standard: nil)
    static let maxSize = Option(
        name: "--max-size", value: "SIZE", help: "Maximum size of the store, such as 500M, 2G or 1.5GiB",
        standard: "no limit")
    static let compress = Option(
        name: "--compress", value: nil,
        help: "Compress stored bodies with zstd; pages and scripts shrink to about a sixth",
        brief: "Compress stored bodies with zstd",
        standard: nil, group: .stored)
    static let keepLast = Option(
        name: "--keep-last", value: "N",
        help: "Keep the last N snapshots of the site, and the live one",
        brief: "Keep the last N snapshots of the site", standard: "all", place: .commandLine)
    static let keepDaily = Option(
        name: "--keep-daily", value: "N",
        help: "Keep the last snapshot of each of the last N days that have one",
        brief: "Keep one snapshot for each of N days", standard: "all", place: .commandLine)
    static let keepWeekly = Option(
        name: "--keep-weekly", value: "N",
        help: "Keep the last snapshot of each of the last N weeks that have one",
        brief: "Keep one snapshot for each of N weeks", standard: "all", place: .commandLine)
    static let keepWithin = Option(
        name: "--keep-within", value: "TIME",
        help: "Keep all snapshots of the last TIME, such as 30d, 8w or 12h",
        brief: "Keep snapshots of the last TIME, such as 30d", standard: "all", place: .commandLine)
    static let keepOptions: [Option] = [.keepLast, .keepDaily, .keepWeekly, .keepWithin]
    static let details = Option(
        name: "--verbose", value: nil, help: "List the removed URLs",
        brief: "List all that is removed", short: "-v",
        place: .commandLine)
    static let allowIncomplete = Option(
        name: "--allow-incomplete", value: nil,
        help: "With --max-size, remove live pages if nothing else is left to remove",
        brief: "With --max-size, remove live pages too if necessary",
        standard: nil, place: .commandLine)
    static let dryRun = Option(
        name: "--dry-run", value: nil, help: "Only list what would be removed", standard: nil,
        place: .commandLine)
    static let due = Option(
        name: "--due", value: nil, help: "Update only the sites that are due (see larder schedule)",
        brief: "Update only sites that are due (see larder schedule)",
        standard: nil,
        place: .commandLine)
    static let noSchedule = Option(
        name: "--no-schedule", value: nil,
        help: "Do not update sites when they are due (see larder schedule)",
        brief: "Do not update sites when they are due",
        standard: nil)
    static let scheduled = Option(
        name: "--scheduled", value: nil,
        help: "Update sites when they are due; this is the default, and an error with --read-only",
        brief: "Update sites when they are due (the default)", standard: nil)
    static let install = Option(
        name: "--install", value: nil, help: "Install a systemd timer that runs due updates",
        standard: nil, place: .commandLine)
    static let printTimer = Option(
        name: "--print-timer", value: nil, help: "Print a systemd timer and a line for cron",
        standard: nil, place: .commandLine)
    static let hour = Option(
        name: "--hour", value: "N", help: "Hour of the printed daily timer, from 0 to 23", standard: "4")
    static let help = Option(
        name: "--help", value: nil, help: "Show all options and notes", standard: nil,
        place: .commandLine)

    static let briefHelp = Option(
        name: "-h", value: nil, help: "Show a short help", standard: nil, place: .commandLine)

    /// All options, without duplicates.
    static var all: [Option] {
        var all: [Option] = []
        for option in CommandEntry.all.flatMap(\.options)
        where !all.contains(where: { $0.name == option.name }) {
            all.append(option)
        }
        return all
    }

    /// The option as the help shows it, such as `-q, --quiet` or `--port N`.
    var title: String { (short.map { "\($0), " } ?? "") + name + (value.map { " \($0)" } ?? "") }

    /// The name without its dashes, as in configuration files.
    var key: String { String(name.dropFirst(2)) }

    /// The keys of the name and of earlier names.
    var keys: [String] { ([name] + aliases).map { String($0.dropFirst(2)) } }

    /// This option with another default.
    func otherwise(_ standard: String) -> Option {
        var option = self
        option.standard = standard
        return option
    }
}

extension Option {
    /// Options of other programs, with the corresponding option of Larder.
    static let synonyms = [
        "--level": "--depth", "--max-depth": "--depth", "-l": "--depth", "-d": "--depth",
        "--limit-rate": "--rate",
        "--max-rate": "--rate", "--no-check-certificate": "--insecure", "-k": "--insecure",
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
        [.store, .onlyPage, .json, .quiet, .verbose, .progress, .base, .manifest, .strict]
        + scopeOptions + mannerOptions + renderOptions + heldOptions + storedKeepOptions + networkOptions
        + identityOptions
    static let work: [Option] =
        [.store, .json, .quiet, .verbose, .progress, .strict, .stay]
        + scopeOptions + mannerOptions + renderOptions + heldOptions.filter { $0.name != Option.maxSize.name }
        + networkOptions + identityOptions
    static let update: [Option] =
        [.store, .due, .json, .quiet, .verbose, .progress, .strict]
        + (mannerOptions + renderOptions).map {
            asBefore.contains($0) ? $0.otherwise("as in the last run") : $0
        }
        + heldOptions.filter { $0 != .rule } + storedKeepOptions.map { $0.otherwise("as in the last run") }
        + networkOptions + identityOptions
    private static let storedKeepOptions = keepOptions.map { $0.in(.stored) }

    static let preload: [Option] =
        [
            .store, .json, .quiet, .verbose, .progress, .base, .format, .assets, .strict, .strong,
            .proveHeld,
        ]
        + [.perHost, .rate, .maxBody, .timeout] + networkOptions + identityOptions

    private static let asBefore: [Option] =
        [.robots, .nofollow, .noindex] + renderOptions.filter { ![.browser, .renderTabs].contains($0) }

    static let plan: [Option] =
        [.json, .quiet, .progress, .sample] + scopeOptions.filter { ![.sitemap, .noGuesses].contains($0) }
        + [.perHost, .robots, .rate, .timeout] + networkOptions + identityOptions

    static let scopeOptions: [Option] = [
        .scope, .include, .exclude, .includeHistory, .includeForms, .includeViews, .depth, .sitemap,
        .noGuesses,
    ]
    static let mannerOptions: [Option] = [
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
    static let heldOptions: [Option] = [
        .fetchPolicy, .rule, .allowShrink, .noIndex, .maxSize.in(.stored), .compress,
    ]
    static let networkOptions: [Option] = [
        .proxy, .resolve, .ipv4, .ipv6, .authorities, .insecure, .allowPrivate,
    ]
    static let identityOptions: [Option] = [
        .userAgent, .header, .user, .bearer, .netrc, .cookies, .saveCookies, .certificate, .certificateKey,
    ]

    static let onlyPage = Option(
        name: "--page", value: nil,
        help: "Fetch only this page with everything it needs, and follow no links",
        brief: "Fetch only this page and what it needs", standard: nil, place: .commandLine)
    static let scope = Option(
        name: "--scope", value: "EXTENT",
        help: "Follow pages on the same host, below the same path (folder), or in the whole domain",
        brief: "Follow pages of the same host, path or domain",
        standard: "host", group: .scope)
    static let include = Option(
        name: "--include", value: "PATTERN",
        help: "Also follow pages that match: /blog/**, *.pdf, docs.example.com, regex:[0-9]{4}$",
        brief: "Also follow matching pages, such as /blog/** or *.pdf",
        standard: nil,
        group: .scope, repeats: true)
    static let exclude = Option(
        name: "--exclude", value: "PATTERN",
        help: "Never fetch matching URLs, neither as pages nor as assets",
        brief: "Never fetch matching URLs, not even as assets", standard: nil,
        group: .scope,
        repeats: true)
    static let depth = Option(
        name: "--depth", value: "N", help: "Maximum number of links from the start URLs to a page",
        standard: "no limit",
        group: .scope)
    static let sitemap = Option(
        name: "--sitemap", value: "URL", help: "Also take pages from this sitemap",
        standard: "sitemaps named in robots.txt",
        group: .scope, repeats: true)
    static let noGuesses = Option(
        name: "--no-guesses", value: nil, help: "Do not try strings in scripts that only look like URLs",
        standard: nil,
        group: .scope)

    static let pictures = Option(
        name: "--pictures", value: nil,
        help: "Compare screenshots, if prefetch took them with --render-pictures",
        brief: "Compare screenshots (see prefetch --render-pictures)", standard: nil)
    static let render = Option(
        name: "--render", value: "WHICH",
        help:
            "Render pages in a browser: auto (a sample of each kind of page whose scripts cannot be analysed, more if that finds new assets), always or never",
        brief: "Render pages in a browser: auto, always or never",
        standard: "auto", group: .rendering)
    static let browser = Option(
        name: "--browser", value: "PATH", help: "Path of Chromium or Chrome",
        standard: "the first one found", group: .rendering, variable: "LARDER_CHROMIUM")
    static let renderTabs = Option(
        name: "--render-tabs", value: "N", help: "Maximum number of pages rendered at the same time",
        standard: "depends on cores and memory", group: .rendering)
    static let renderScroll = Option(
        name: "--render-scroll", value: "N", help: "Maximum number of screens to scroll down a page",
        standard: "20",
        group: .rendering)
    static let renderTime = Option(
        name: "--render-time", value: "TIME", help: "Maximum time for one page", standard: "20s",
        group: .rendering)
    static let act = Option(
        name: "--act", value: "WHICH",
        help:
            "Use controls of the first rendered pages of each kind, to load what they show: search (the search field), all (also tabs, menus and buttons, but none that changes something) or never",
        brief: "Use controls of rendered pages: search, all or never",
        standard: "all", group: .rendering)
    static let consent = Option(
        name: "--consent", value: "CHOICE",
        help:
            "Answer cookie banners on rendered pages: reject (the choice with the least tracking), accept or leave",
        brief: "Answer cookie banners: reject, accept or leave",
        standard: "reject", group: .rendering)
    static let freeze = Option(
        name: "--freeze", value: "WHEN",
        help:
            "Show rendered pages as they were, without scripts: auto (those that show something else offline), always or never",
        brief: "Show pages as they were, without scripts",
        standard: "auto", group: .rendering)
    static let renderDeep = Option(
        name: "--render-deep", value: nil,
        help: "Use the controls of every rendered page, and start videos",
        standard: nil, group: .rendering)
    static let renderDark = Option(
        name: "--render-dark", value: nil, help: "Also render pages in dark mode", standard: nil,
        group: .rendering)
    static let renderScript = Option(
        name: "--render-script", value: "FILE",
        help: "Run this script in each rendered page; PATTERN=FILE limits it to matching pages",
        standard: nil,
        group: .rendering, repeats: true)
    static let viewport = Option(
        name: "--viewport", value: "LIST",
        help: "Window sizes for rendering: 1280x900,390x844@3",
        standard: "1280x900",
        group: .rendering)

    static let renderPictures = Option(
        name: "--render-pictures", value: nil,
        help: "Take a screenshot of each rendered page, to compare with larder check --render",
        standard: nil, group: .rendering)
    static let steady = Option(
        name: "--steady", value: nil,
        help:
            "Give pages a fixed time and fixed random numbers when they are rendered and served, so that scripts compute the same URLs again",
        standard: nil, group: .rendering)

    static let manifest = Option(
        name: "--manifest", value: nil, help: "Treat the argument as a manifest, whatever its name",
        standard: nil,
        place: .commandLine)
    static let assets = Option(
        name: "--assets", value: "WHICH", help: "Also fetch the assets that bundles need: all or none",
        standard: "all",
        aliases: ["--requisites"])
    static let yes = Option(
        name: "--yes", value: nil, help: "Do not ask before the removal", standard: nil)
    static let strict = Option(
        name: "--strict", value: nil,
        help:
            "Exit with 1 if anything could not be fetched, including files that the site itself lacks (404), or if an earlier set of bundles stays live",
        brief: "Exit with 1 if anything could not be fetched",
        standard: nil)
    static let strong = Option(
        name: "--strong", value: nil,
        help: "Accept only SHA-256 or stronger digests: MD5 and SHA-1 do not stop an attacker",
        brief: "Accept only SHA-256 or stronger digests", standard: nil)
    static let sample = Option(
        name: "--sample", value: "N", help: "Maximum number of requests for the estimate",
        standard: "200")
    static let robots = Option(
        name: "--robots", value: "WHETHER", help: "What to do with robots.txt: obey or ignore",
        standard: "obey",
        group: .manners)
    static let nofollow = Option(
        name: "--nofollow", value: "WHAT",
        help:
            "What to do with links marked nofollow: follow, obey (also ugc and sponsored), or pages (obey only marks of whole pages)",
        standard: "follow", group: .manners)
    static let noindex = Option(
        name: "--noindex", value: "WHETHER",
        help: "Pages marked noindex: ignore the mark, or obey it (follow their links without storing them)",
        standard: "ignore", group: .manners)
    static let rate = Option(
        name: "--rate", value: "SIZE", help: "Maximum download rate in bytes per second, such as 500k",
        standard: "no limit",
        group: .manners)
    static let maxPages = Option(
        name: "--max-pages", value: "N",
        help: "Stop after N pages; a later run with a higher limit continues",
        brief: "Stop after N pages",
        standard: "no limit",
        group: .manners)
    static let maxBytes = Option(
        name: "--max-bytes", value: "SIZE",
        help: "Stop after this much data; the next run continues",
        standard: "no limit", group: .manners)
    static let maxTime = Option(
        name: "--max-time", value: "TIME",
        help: "Stop after this time, such as 90s, 10m or 2h; the next run continues",
        standard: "no limit", group: .manners)
    static let maxBody = Option(
        name: "--max-body", value: "SIZE", help: "Skip files larger than this", standard: "8GiB",
        group: .manners)
    static let timeout = Option(
        name: "--timeout", value: "TIME", help: "Give up a transfer after this time",
        standard: "no limit",
        group: .manners)
    static let hostPatience = Option(
        name: "--patience", value: "TIME",
        help: "When everything else is done, wait this long for hosts that have never answered",
        standard: "10s",
        group: .manners)

    static let fetchPolicy = Option(
        name: "--policy", value: "NAME",
        help:
            "Use of stored responses: revalidate (check all), protocol (check stale ones), prefer-cache (check none) or reload",
        brief: "Use of stored responses (see larder help policies)",
        standard: "revalidate", group: .stored)
    static let rule = Option(
        name: "--rule", value: "RULE",
        help: "Override what servers say about URLs, such as '/api/** max-age=600' (see larder help rules)",
        brief: "Override what servers say (see larder help rules)",
        standard: nil, group: .stored, repeats: true)

    static let allowShrink = Option(
        name: "--allow-shrink", value: nil,
        help:
            "Accept a snapshot that lost more than half of the pages or shows a login page, and replace stored pages by whatever the server sends",
        standard: nil, group: .stored)

    static let stay = Option(
        name: "--stay", value: nil,
        help: "When no work is left, wait for the next shared snapshot", standard: nil)

    static let proxy = Option(
        name: "--proxy", value: "URL",
        help: "Use this proxy: http://, https://, socks4a:// or socks5h://",
        brief: "Use this proxy, such as http:// or socks5h://",
        standard: "$http_proxy, $https_proxy, $no_proxy", group: .network)
    static let resolve = Option(
        name: "--resolve", value: "HOST:PORT:ADDRESS", help: "Connect to this address for a host",
        standard: "DNS", group: .network, repeats: true)
    static let ipv4 = Option(
        name: "--ipv4", value: nil, help: "Use only IPv4", standard: nil, group: .network)
    static let ipv6 = Option(
        name: "--ipv6", value: nil, help: "Use only IPv6", standard: nil, group: .network)
    static let authorities = Option(
        name: "--ca", value: "FILE", help: "Also trust the certificates in this PEM file",
        standard: "only the system's",
        group: .network)
    static let insecure = Option(
        name: "--insecure", value: nil, help: "Accept any TLS certificate; the report says so", standard: nil,
        group: .network)
    static let allowPrivate = Option(
        name: "--allow-private", value: nil, help: "Let pages of public servers request private addresses",
        standard: nil, group: .network)

    static let userAgent = Option(
        name: "--user-agent", value: "TEXT", help: "User-Agent header",
        standard: "larder/\(Larder.version)", group: .identity, variable: "LARDER_USER_AGENT")
    static let header = Option(
        name: "--header", value: "FIELD",
        help: "Send this header to all hosts, or to one: 'example.com X-Key: 1'",
        brief: "Send this header to all hosts, or to one",
        standard: nil,
        group: .identity, repeats: true)
    static let user = Option(
        name: "--user", value: "NAME:PASSWORD",
        help:
            "Log in to the hosts of the URLs with HTTP basic authentication; digest:NAME:PASSWORD uses digest",
        standard: nil, group: .identity)
    static let bearer = Option(
        name: "--bearer", value: "TOKEN", help: "Send this bearer token to the hosts of the URLs",
        standard: nil, group: .identity)
    static let netrc = Option(
        name: "--netrc", value: "FILE", help: "Read logins by host from this file", standard: nil,
        group: .identity)
    static let cookies = Option(
        name: "--cookies", value: "FILE",
        help: "Send the cookies in this file (Netscape format or JSON)",
        brief: "Send the cookies in this file",
        standard: "only cookies that servers set during the run",
        group: .identity, repeats: true)
    static let includeHistory = Option(
        name: "--include-history", value: nil,
        help: "Also follow links to histories, old versions, comparisons and print views of pages",
        brief: "Also follow histories of pages", standard: nil, group: .scope)
    static let includeForms = Option(
        name: "--include-forms", value: nil,
        help: "Also follow links to forms for editing, logging in and registering",
        brief: "Also follow forms to edit or log in", standard: nil, group: .scope)
    static let includeViews = Option(
        name: "--include-views", value: nil,
        help: "Also follow links to all views of the same content: sorted, filtered or in another format",
        brief: "Also follow all sorted or filtered views", standard: "a few of each kind", group: .scope)
    static let allowActions = Option(
        name: "--allow-actions", value: "PATTERN",
        help: "With a login, also follow matching links that may change something, such as /items/*/copy",
        standard: "such links are left out", group: .manners, repeats: true)
    static let saveCookies = Option(
        name: "--save-cookies", value: "FILE", help: "Write the cookies that servers set to this file",
        standard: nil,
        group: .identity)
    static let certificate = Option(
        name: "--cert", value: "FILE", help: "Client certificate for the hosts of the URLs (PEM)",
        standard: nil,
        group: .identity)
    static let certificateKey = Option(
        name: "--key", value: "FILE", help: "Private key of --cert (PEM)", standard: "in the --cert file",
        group: .identity)

    /// This option in another group of the help.
    func `in`(_ group: Group) -> Option {
        var option = self
        option.group = group
        return option
    }
}

/// The options of `serve` and its relatives.
extension Option {
    static let atRoot = Option(
        name: "--at-root", value: "SITE", help: "Serve this site at http://localhost:PORT/ itself",
        standard: "the portal")
    static let listen = Option(
        name: "--listen", value: "ADDRESS",
        help:
            "Address to listen on, * for all. A server needs --at-root or a password (larder password), a proxy needs --proxy-user",
        brief: "Address to listen on; * for all",
        standard: "loopback only")
    static let policy = Option(
        name: "--policy", value: "NAME",
        help: "Cache policy; for the list, see: larder help policies", standard: "offline")
    static let verify = Option(
        name: "--verify", value: "WHEN",
        help:
            "Verify stored bodies before serving them: once (the first time), always, or never (only bundles)",
        brief: "Verify stored bodies: once, always or never",
        standard: "once")
    static let proveHeld = Option(
        name: "--verify", value: nil,
        help: "Also verify bundles that are already stored, and fetch changed ones again",
        brief: "Also verify bundles that are already stored", standard: nil)
    static let noShim = Option(
        name: "--no-shim", value: nil,
        help: "Do not add the script to pages that redirects URLs made by other scripts to the mirror",
        standard: nil
    )
    static let allowNetwork = Option(
        name: "--allow-network", value: nil,
        help: "Let pages use the network for URLs that are not redirected to the mirror",
        standard: nil)
    static let showPrivate = Option(
        name: "--show-private", value: nil,
        help:
            "With --listen, let other machines see responses fetched with your credentials, and load more with them; outside the site at the root only over --tls",
        standard: nil)
    static let readOnly = Option(
        name: "--read-only", value: nil, help: "Disable all changes through the portal",
        standard: nil)
    static let tls = Option(
        name: "--tls", value: "own|FILE",
        help:
            "Serve HTTPS: own (certificates of the store's authority, see larder ca), or a PEM file with certificate and key",
        brief: "Serve HTTPS: own certificates, or a PEM file",
        standard: "http")
    static let tlsKey = Option(
        name: "--tls-key", value: "FILE", help: "Private key of --tls FILE (PEM)",
        standard: "in the --tls file")
    static let bar = Option(
        name: "--bar", value: nil,
        help: "Show a bar on each page with its date, other snapshots and a search",
        brief: "Show a bar on each page: date, snapshots, search", standard: nil)
    static let openBrowser = Option(
        name: "--open", value: nil, help: "Open the portal in the browser",
        standard: nil,
        place: .commandLine)
    static let forget = Option(
        name: "--forget", value: nil, help: "Remove the password", standard: nil, place: .commandLine)
    static let preloaded = Option(
        name: "--preload", value: "MANIFEST",
        help:
            "Keep the bundles of this manifest current, as larder preload does: at start, at SIGHUP and after --every",
        standard: nil, repeats: true)
    static let every = Option(
        name: "--every", value: "TIME", help: "With --preload, check again after this time: 90s, 10m, 2h",
        standard: "only at start and at SIGHUP")
    static let patience = Option(
        name: "--timeout", value: "TIME",
        help: "Serve the stored response if the server has not answered after this time",
        brief: "Wait this long for the server, then use the store",
        standard: "5s")
    static let memory = Option(
        name: "--memory", value: "SIZE",
        help: "Memory limit of the process; memory that it does not need itself caches responses",
        brief: "Memory limit of the process",
        standard: "128MiB")
    static let stop = Option(
        name: "--stop", value: nil, help: "Stop the server on the port", standard: nil, place: .commandLine)
    static let clear = Option(
        name: "--clear", value: nil, help: "Delete the list, so that no prefetch fetches these URLs",
        standard: nil,
        place: .commandLine)

    static let serve: [Option] =
        [
            .store, .port, .proxyPort, .proxyUser, .connectPort, .untouched, .atRoot, .listen, .tls, .tlsKey,
            .policy,
            .rule.in(.general), .patience, .preloaded, .every, .base, .format,
            .assets, .verify, .strong, .memory, .maxSize, .compress.in(.general), .noShim, .allowNetwork,
            .showPrivate, .readOnly, .noSchedule, .scheduled, .bar, .openBrowser,
            .quiet,
        ] + networkOptions + identityOptions
}

/// The options of `proxy`, `record`, `replay` and `ca`.
extension Option {
    static let proxyPort = Option(
        name: "--proxy-port", value: "N",
        help: "Also run a proxy for programs on this port (see larder help proxy)",
        standard: nil)
    static let into = Option(
        name: "--into", value: "SITE", help: "Store all responses in this site",
        standard: "the sites that start on the same hosts")
    static let proxyUser = Option(
        name: "--proxy-user", value: "USER:PASSWORD", help: "Require this login from clients of the proxy",
        standard: "no login", place: .commandLine)
    static let connectPort = Option(
        name: "--connect-port", value: "N",
        help: "Also let clients of the proxy connect to this port; 0 allows any",
        brief: "Also let clients connect to this port; 0 allows any",
        standard: "80, 443, 8000, 8080, 8443, 9443", repeats: true)
    static let untouched = Option(
        name: "--no-intercept", value: "HOST",
        help: "Pass connections to this host through unchanged; *.example.com covers its subdomains",
        brief: "Pass connections to this host through unchanged",
        standard: nil, repeats: true)
    static let pem = Option(name: "--pem", value: nil, help: "Print only the certificate (PEM)")

    private static let ofProxy: [Option] =
        [.into, .rule.in(.general), .maxSize, .compress.in(.general), .memory, .untouched, .verify, .quiet]
        + networkOptions + identityOptions
    static let proxying: [Option] =
        [
            .store, .port.otherwise("8081"), .policy.otherwise("protocol"), .listen, .proxyUser, .connectPort,
            .patience,
        ] + ofProxy
    static let record: [Option] = [.store, .policy.otherwise("revalidate")] + ofProxy
    static let replay: [Option] =
        [.store] + ofProxy.filter { ![.into, .maxSize, .compress.in(.general)].contains($0) }
    static let authority: [Option] = [.store, .pem, .json]
    static let login: [Option] = [
        .store, .forgetLogin, .browser.in(.general), .json, .quiet, .proxy, .resolve, .insecure,
    ]
}

/// The options of `export` and `import`.
extension Option {
    static let archiveFormat = Option(
        name: "--format", value: "FORM",
        help: "Format: warc, wacz, har, folder, zip, tar, zim, run, html, mhtml, pdf or png",
        brief: "Format, such as warc or zip (see larder help archives)",
        standard: "by the file name")
    static let split = Option(
        name: "--split", value: "SIZE", help: "Start another WARC file at this size", standard: "one file")
    static let privateToo = Option(
        name: "--private", value: nil,
        help: "Include responses fetched with logins or cookies, and headers that set cookies",
        brief: "Include responses fetched with logins or cookies",
        standard: nil)
    static let selfServing = Option(
        name: "--self-serving", value: nil,
        help: "Write one executable file that serves the site on Linux without Larder (.run)",
        brief: "Write one executable file that serves the site", standard: nil, place: .commandLine)
    static let replaceFile = Option(
        name: "--force", value: nil, help: "Replace an existing file", standard: nil)
    static let language = Option(
        name: "--language", value: "CODE", help: "ZIM: language of the text, such as en or eng,fra",
        standard: "that of the first page, else of most pages")
    static let noScripts = Option(
        name: "--no-scripts", value: nil, help: "Single page: leave out its scripts", standard: nil)
    static let dark = Option(
        name: "--dark", value: nil, help: "PDF and PNG: use dark mode", standard: nil)
    static let oneViewport = Option(
        name: "--viewport", value: "SIZE", help: "PDF and PNG: window size, such as 390x844@3",
        standard: "1280x900")
    static let readBack = Option(
        name: "--verify", value: nil, help: "Read the result back and compare it with the store",
        standard: nil)
    static let sign = Option(
        name: "--sign", value: nil,
        help: "Sign the WACZ with the store's key, which is created on first use",
        brief: "Sign the WACZ with the store's key",
        standard: nil)
    static let intoSite = Option(
        name: "--site", value: "NAME", help: "Name of the site that gets the snapshot",
        standard: "the first page in the archives")
    static let folderAddress = Option(
        name: "--url", value: "URL", help: "Original URL of a folder or saved page",
        standard: "the one in its files")

    static let growth = Option(
        name: "--growth", value: "SIZE",
        help: "Maximum expansion of an archive beyond 200 times its size",
        brief: "Maximum expansion beyond 200 times the archive's size",
        standard: "512MiB, or a quarter of the free disk space")

    static let includeExported = Option(
        name: Option.include.name, value: "PATTERN",
        help: "Export only matching pages, with their assets: /blog/**, *.pdf, regex:[0-9]{4}$",
        brief: "Export only matching pages, with their assets",
        standard: "all",
        repeats: true)
    static let excludeExported = Option(
        name: Option.exclude.name, value: "PATTERN",
        help: "Leave out matching URLs, even if a page needs them",
        standard: nil, repeats: true)

    static let export: [Option] = [
        .store, .archiveFormat, .selfServing, .replaceFile, .snapshot, .includeExported, .excludeExported,
        .privateToo,
        .split,
        .language, .noScripts, .maxBody.otherwise("32M").in(.general), .browser.in(.general), .oneViewport,
        .dark, .readBack, .sign, .json, .quiet, .progress,
    ]
    static let importing: [Option] = [
        .store, .intoSite, .folderAddress, .growth, .noIndex.in(.general), .compress.in(.general),
        .json, .quiet, .progress,
    ]
}

/// The options of `search` and `index`.
extension Option {
    static let noIndex = Option(
        name: "--no-index", value: nil, help: "Do not update the search index",
        standard: nil,
        group: .stored)
    static let inSite = Option(name: "--site", value: "SITE", help: "Search only this site", standard: "all")
    static let limit = Option(name: "--limit", value: "N", help: "Maximum number of results", standard: "10")

    static let search: [Option] = [.store, .inSite, .type, .snapshot, .limit, .json, .quiet]
}

/// The options of `check` and `manifest`.
extension Option {
    static let target = Option(
        name: "--target", value: "TARGET",
        help: "Manifest or site to check if none is named; set it in .larder.json")
    static let live = Option(
        name: "--live", value: nil, help: "Also check the live server, beside --stored or --dir",
        standard: nil)
    static let folder = Option(
        name: "--dir", value: "DIR", help: "Check the files in this folder, such as a build", standard: nil,
        repeats: true)
    static let renderOffline = Option(
        name: "--render", value: nil,
        help: "Open pages of the site in a browser that can only reach the store",
        brief: "Open pages in a browser that has only the store",
        standard: "if a browser is found")
    static let requireLevel = Option(
        name: "--require", value: "LEVEL",
        help:
            "What must be proved about a site: read (all links lead to stored responses; opens no pages) or rehearsed (each kind of pages with scripts shows what it showed online)",
        brief: "What must be proved about a site: read or rehearsed",
        standard: "read, and no opened page differs")
    static let renderPages = Option(
        name: "--render-pages", value: "N",
        help: "Maximum number of pages to open, some of each kind; 0 opens all",
        standard: "60")
    static let offline = Option(
        name: "--offline", value: nil,
        help: "Check that the site is complete: each page with everything it is known to need",
        brief: "Check that the stored site is complete",
        standard: nil)
    static let quick = Option(
        name: "--quick", value: nil,
        help: "Trust digests that were computed before, and compare only sizes",
        standard: nil)
    static let report = Option(
        name: "--report", value: "FORMAT[=FILE]",
        help: "Write a report as text, json, junit, sarif, github or tap, printed or to a file",
        brief: "Write text, json, junit, sarif, github or tap",
        standard: "text",
        repeats: true)
    static let failOn = Option(
        name: "--fail-on", value: "VERDICTS",
        help: "Verdicts that lead to exit status 1, separated by commas",
        brief: "Verdicts that lead to exit status 1",
        standard: "mismatch,missing,skew")
    static let format = Option(
        name: "--format", value: "FORM", help: "Format of the manifest", standard: "detected")
    static let release = Option(
        name: "--known", value: "MANIFEST",
        help: "Manifest of another release: bundles that match it count as skewed instead of wrong",
        standard: nil,
        repeats: true)
    static let evidence = Option(
        name: "--evidence", value: "KIND",
        help: "Also report weak evidence: etag, or name=md5 for hashes in file names", standard: nil,
        repeats: true)
    static let output = Option(
        name: "--output", value: "FILE", help: "Write to this file", standard: "standard output")
    static let fetched = Option(
        name: "--live", value: nil, help: "Fetch the site, even if it is stored", standard: nil)
}
