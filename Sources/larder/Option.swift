internal import LarderKit

/// One option, as the parser and the help read it.
struct Option: Sendable, Equatable {
    /// With its dashes.
    let name: String
    /// What the help calls its value; nil for a flag.
    let value: String?
    let help: String
    /// What holds when it is not given, as the help shows it and `number` reads it; nil when there is none.
    var standard: String?
    var group = Group.general
    /// It may be given several times, and each counts.
    var repeats = false
    /// With its dash: the same in fewer letters.
    var short: String?
    /// The variable of the environment that says it where the command line does not.
    var variable: String?
    /// Where it may stand beside the command line.
    var place = Place.anywhere

    enum Place: Sendable {
        case anywhere
        /// It is about one run, and nothing that a file should say.
        case commandLine
    }

    /// Its value is shown to nobody.
    var isSecret: Bool { ["--user", "--bearer", "--header", "--proxy-user"].contains(name) }

    /// Values of the option for people: the address of a store without its password. Nil for values that may
    /// be secret, as a URL with a user's name or with a query is.
    func shown(_ values: [String]) -> [String]? {
        if name == Option.store.name { return values.map { Larder(at: $0).shownPath } }
        return isSecret || values.contains { $0.contains("@") || $0.contains("://") && $0.contains("?") }
            ? nil : values
    }

    /// What options are for, in the order of the help.
    enum Group: String, Sendable, CaseIterable {
        case general = "Options"
        case scope = "Which pages"
        case manners = "How gently, how much"
        case rendering = "What only running scripts ask for"
        case held = "What is held already"
        case network = "The network"
        case identity = "Who asks"
    }

    static let store = Option(
        name: "--store", value: "DIR",
        help: "the folder that holds the larder, or postgres://USER@HOST/DATABASE",
        standard: "$LARDER_STORE, else $XDG_DATA_HOME/larder, else ~/.local/share/larder",
        variable: "LARDER_STORE")
    static let quiet = Option(
        name: "--quiet", value: nil, help: "print errors only, and what --json asks for", standard: nil,
        short: "-q")
    static let verbose = Option(
        name: "--verbose", value: nil, help: "print a line for each request, on standard error",
        standard: nil,
        short: "-v")
    static let progress = Option(
        name: "--progress", value: "FORM",
        help:
            "block: figures that stay in place, on a terminal; json: a line a second, on standard error; none",
        standard: "block", variable: "LARDER_PROGRESS")
    static let json = Option(name: "--json", value: nil, help: "print the report as JSON", standard: nil)
    static let perHost = Option(
        name: "--per-host", value: "N", help: "the most connections that one host gets at once",
        standard: "16",
        group: .manners)
    static let port = Option(
        name: "--port", value: "N", help: "the port to serve on; 0 takes any free one", standard: "8080",
        variable: "LARDER_PORT")
    static let held = Option(
        name: "--held", value: nil, help: "check what the larder holds, without the network", standard: nil)
    static let base = Option(
        name: "--base", value: "URL", help: "where the manifest's site is: production, staging",
        standard: nil,
        repeats: true)
    static let siteOnly = Option(
        name: "--site-only", value: nil,
        help: "only show the site, until Ctrl-C: commands can be tried on it",
        standard: nil, place: .commandLine)
    static let once = Option(
        name: "--once", value: nil, help: "fetch one page from the mirror, print a summary and end",
        standard: nil,
        place: .commandLine)
    static let repair = Option(
        name: "--repair", value: nil,
        help:
            "take damaged bodies out of service, remove what nothing refers to, and make a damaged database anew",
        standard: nil, place: .commandLine)
    static let links = Option(
        name: "--links", value: nil, help: "list what it links to and what links to it", standard: nil)
    static let visit = Option(
        name: "--visit", value: "N", help: "as this visit shows it", standard: "what is served")
    static let type = Option(
        name: "--type", value: "TYPE",
        help: "only this media type: text/html, image/*, or a short name", standard: "all")
    static let status = Option(
        name: "--status", value: "N", help: "only this status, such as 404", standard: "all")
    static let site = Option(name: "--site", value: nil, help: "it is the name of a site", standard: nil)
    static let url = Option(name: "--url", value: nil, help: "it is a URL", standard: nil)
    static let pattern = Option(name: "--pattern", value: nil, help: "it is a pattern", standard: nil)
    static let maxSize = Option(
        name: "--max-size", value: "SIZE", help: "how large the larder may be, such as 500M, 2G, 1.5GiB or 0",
        standard: "no limit")
    static let compress = Option(
        name: "--compress", value: nil,
        help: "make what a folder keeps small by zstd: pages and scripts take a sixth of the room",
        standard: nil, group: .held)
    static let keepLast = Option(
        name: "--keep-last", value: "N",
        help: "keep the last N snapshots of each site, the served one among them, and remove the others",
        standard: "all", place: .commandLine)
    static let allowIncomplete = Option(
        name: "--allow-incomplete", value: nil,
        help: "for --max-size, evict pages that are served now if nothing else is left to remove",
        standard: nil, place: .commandLine)
    static let dryRun = Option(
        name: "--dry-run", value: nil, help: "list what would go, and take nothing", standard: nil,
        place: .commandLine)
    static let due = Option(
        name: "--due", value: nil, help: "only sites that are due, as larder schedule says", standard: nil,
        place: .commandLine)
    static let scheduled = Option(
        name: "--scheduled", value: nil, help: "update the sites that are due, as larder schedule says",
        standard: nil)
    static let hour = Option(
        name: "--hour", value: "N", help: "the hour of the timer for once a day, from 0 to 23", standard: "4")
    static let help = Option(
        name: "--help", value: nil, help: "explain the command", standard: nil, short: "-h",
        place: .commandLine)

    /// Every option once, by the table.
    static var all: [Option] {
        var all: [Option] = []
        for option in CommandEntry.all.flatMap(\.options)
        where !all.contains(where: { $0.name == option.name }) {
            all.append(option)
        }
        return all
    }

    /// As the help shows it: `-q, --quiet`, `--port N`.
    var title: String { (short.map { "\($0), " } ?? "") + name + (value.map { " \($0)" } ?? "") }

    /// Without its dashes, as files write it.
    var key: String { String(name.dropFirst(2)) }

    /// The same option where something else holds when it is not given.
    func otherwise(_ standard: String) -> Option {
        var option = self
        option.standard = standard
        return option
    }
}

/// What `prefetch`, `update` and `plan` understand.
extension Option {
    static let prefetch: [Option] =
        [.store, .json, .quiet, .verbose, .progress, .base, .manifest, .strict]
        + scopeOptions + mannerOptions + renderOptions + heldOptions + networkOptions + identityOptions
    static let work: [Option] =
        [.store, .json, .quiet, .verbose, .progress, .strict, .stay]
        + scopeOptions + mannerOptions + renderOptions + heldOptions.filter { $0.name != Option.maxSize.name }
        + networkOptions + identityOptions
    /// How a site is prefetched is known from the last time.
    static let update: [Option] =
        [.store, .due, .json, .quiet, .verbose, .progress, .strict]
        + (mannerOptions + renderOptions).map {
            asBefore.contains($0) ? $0.otherwise("as the last time") : $0
        }
        + heldOptions.filter { $0 != .rule } + networkOptions + identityOptions

    static let preload: [Option] =
        [
            .store, .json, .quiet, .verbose, .progress, .base, .format, .requisites, .strict, .strong,
            .proveHeld,
        ]
        + [.perHost, .rate, .maxBody, .timeout] + networkOptions + identityOptions

    private static let asBefore: [Option] =
        [.robots, .nofollow, .noindex] + renderOptions.filter { ![.browser, .renderTabs].contains($0) }

    static let plan: [Option] =
        [.json, .quiet, .progress, .sample] + scopeOptions.filter { ![.sitemap, .noGuesses].contains($0) }
        + [.perHost, .robots, .rate, .timeout] + networkOptions + identityOptions

    static let scopeOptions: [Option] = [.scope, .include, .exclude, .depth, .sitemap, .noGuesses]
    static let mannerOptions: [Option] = [
        .perHost, .robots, .nofollow, .noindex, .rate, .maxPages, .maxBytes, .maxTime, .maxBody, .timeout,
        .hostPatience,
    ]
    static let renderOptions: [Option] = [
        .render, .browser, .renderTabs, .renderScroll, .renderTime, .renderDeep, .renderDark, .renderScript,
        .renderPictures, .steady, .viewport,
    ]
    static let heldOptions: [Option] = [
        .fetchPolicy, .rule, .allowShrink, .noIndex, .maxSize.in(.held), .compress,
    ]
    static let networkOptions: [Option] = [
        .proxy, .resolve, .ipv4, .ipv6, .authorities, .insecure, .allowPrivate,
    ]
    static let identityOptions: [Option] = [
        .userAgent, .header, .user, .bearer, .netrc, .cookies, .saveCookies, .certificate, .certificateKey,
    ]

    static let scope = Option(
        name: "--scope", value: "EXTENT",
        help:
            "host: pages on the hosts of the URLs; path: in their folders; domain: on all hosts of their domains",
        standard: "host", group: .scope)
    static let include = Option(
        name: "--include", value: "PATTERN",
        help: "follow these pages as well: /blog/**, *.pdf, docs.example.com, regex:[0-9]{4}$", standard: nil,
        group: .scope, repeats: true)
    static let exclude = Option(
        name: "--exclude", value: "PATTERN", help: "never ask for these, pages or not", standard: nil,
        group: .scope,
        repeats: true)
    static let depth = Option(
        name: "--depth", value: "N", help: "follow pages at most so many links away from the URLs",
        standard: "any number",
        group: .scope)
    static let sitemap = Option(
        name: "--sitemap", value: "URL", help: "a list of pages",
        standard: "those that robots.txt names, which count as well",
        group: .scope, repeats: true)
    static let noGuesses = Option(
        name: "--no-guesses", value: nil, help: "do not try what only looks like a link in a script",
        standard: nil,
        group: .scope)

    static let pictures = Option(
        name: "--pictures", value: nil,
        help: "compare how pages looked, where a prefetch kept that with --render-pictures", standard: nil)
    static let render = Option(
        name: "--render", value: "WHICH",
        help:
            "which pages are shown in a browser: auto, a few of each kind whose scripts cannot be read through, "
            + "and more where that brings something; always; never",
        standard: "auto", group: .rendering)
    static let browser = Option(
        name: "--browser", value: "PATH", help: "the Chromium or Chrome that shows them",
        standard: "the first that is found", group: .rendering, variable: "LARDER_CHROMIUM")
    static let renderTabs = Option(
        name: "--render-tabs", value: "N", help: "how many pages are shown at once",
        standard: "by cores and memory", group: .rendering)
    static let renderScroll = Option(
        name: "--render-scroll", value: "N", help: "how many screens a page is scrolled, at most",
        standard: "20",
        group: .rendering)
    static let renderTime = Option(
        name: "--render-time", value: "TIME", help: "how long one page may take", standard: "20s",
        group: .rendering)
    static let renderDeep = Option(
        name: "--render-deep", value: nil,
        help: "open details, tabs and menus, and play films for their beginning",
        standard: nil, group: .rendering)
    static let renderDark = Option(
        name: "--render-dark", value: nil, help: "see pages in dark colours too", standard: nil,
        group: .rendering)
    static let renderScript = Option(
        name: "--render-script", value: "FILE",
        help: "run this script in pages that have come to rest; PATTERN=FILE for some of them",
        standard: "none",
        group: .rendering, repeats: true)
    static let viewport = Option(
        name: "--viewport", value: "LIST",
        help: "how large the page is seen, and how else for a moment: 1280x900,390x844@3",
        standard: "1280x900",
        group: .rendering)

    static let renderPictures = Option(
        name: "--render-pictures", value: nil,
        help: "keep a picture of each page that is shown, which check --offline --render compares",
        standard: nil, group: .rendering)
    static let steady = Option(
        name: "--steady", value: nil,
        help:
            "show pages the time and the chance of this visit, now and whenever they are served, so that scripts make "
            + "the same addresses of them",
        standard: nil, group: .rendering)

    static let manifest = Option(
        name: "--manifest", value: nil, help: "what is named is a manifest, whatever it is called",
        standard: nil,
        place: .commandLine)
    static let requisites = Option(
        name: "--requisites", value: "WHICH",
        help: "all: what the bundles need comes along; none: the bundles alone",
        standard: "all")
    static let strict = Option(
        name: "--strict", value: nil,
        help: "exit with 1 where anything could not be had, though the last good set is served",
        standard: nil)
    static let strong = Option(
        name: "--strong", value: nil,
        help: "verify by SHA-256 or better alone: MD5 and SHA-1 do not stop an attacker", standard: nil)
    static let sample = Option(
        name: "--sample", value: "N", help: "look at most at so many pages", standard: "120")
    static let robots = Option(
        name: "--robots", value: "WHETHER", help: "obey or ignore what robots.txt says of pages",
        standard: "obey",
        group: .manners)
    static let nofollow = Option(
        name: "--nofollow", value: "WHAT",
        help:
            "leave links alone that say nofollow: pages where a page says it of all of its links, links where a link "
            + "says it as well (ugc and sponsored too), ignore nowhere",
        standard: "pages; ignore with --robots ignore", group: .manners)
    static let noindex = Option(
        name: "--noindex", value: "WHETHER",
        help:
            "obey reads pages that say noindex for their links and keeps them not; they say it to search engines",
        standard: "ignore", group: .manners)
    static let rate = Option(
        name: "--rate", value: "SIZE", help: "take at most so many bytes a second", standard: "no limit",
        group: .manners)
    static let maxPages = Option(
        name: "--max-pages", value: "N",
        help: "so many pages are enough, for updates too; a prefetch with more, or without it, goes on",
        standard: "no limit",
        group: .manners)
    static let maxBytes = Option(
        name: "--max-bytes", value: "SIZE",
        help: "stop when so much came over the network; the next run goes on",
        standard: "no limit", group: .manners)
    static let maxTime = Option(
        name: "--max-time", value: "TIME", help: "stop after so long: 90s, 10m, 2h; the next run goes on",
        standard: "no limit", group: .manners)
    static let maxBody = Option(
        name: "--max-body", value: "SIZE", help: "leave out files that are larger", standard: "8GiB",
        group: .manners)
    static let timeout = Option(
        name: "--timeout", value: "TIME", help: "give a transfer up after so long, however it goes",
        standard: "no limit",
        group: .manners)
    static let hostPatience = Option(
        name: "--patience", value: "TIME",
        help: "wait so long, when all else is done, for hosts that have never answered", standard: "10s",
        group: .manners)

    static let fetchPolicy = Option(
        name: "--policy", value: "NAME",
        help:
            "revalidate asks whether what is held still holds, protocol only about what is not fresh, prefer-cache "
            + "not at all, reload loads everything again",
        standard: "revalidate", group: .held)
    static let rule = Option(
        name: "--rule", value: "RULE",
        help: "what you want otherwise than servers say: '/api/** max-age=600'; see larder help rules",
        standard: nil, group: .held, repeats: true)

    static let allowShrink = Option(
        name: "--allow-shrink", value: nil,
        help:
            "serve a visit that has less than half of the pages of the one before, or a login in place of the site; "
            + "replace stored pages by whatever the server sends",
        standard: nil, group: .held)

    static let stay = Option(
        name: "--stay", value: nil,
        help: "when nothing is left, wait until another visit is shared", standard: nil)

    static let proxy = Option(
        name: "--proxy", value: "URL",
        help: "go through this proxy: http://, https://, socks4a://, socks5h://",
        standard: "what $http_proxy, $https_proxy and $no_proxy say", group: .network)
    static let resolve = Option(
        name: "--resolve", value: "HOST:PORT:ADDRESS", help: "where a host is",
        standard: "what the name service says", group: .network, repeats: true)
    static let ipv4 = Option(
        name: "--ipv4", value: nil, help: "use IPv4 only", standard: nil, group: .network)
    static let ipv6 = Option(
        name: "--ipv6", value: nil, help: "use IPv6 only", standard: nil, group: .network)
    static let authorities = Option(
        name: "--ca", value: "FILE", help: "trust these certificates as well (PEM)",
        standard: "the system's alone",
        group: .network)
    static let insecure = Option(
        name: "--insecure", value: nil, help: "take any certificate; the report says so", standard: nil,
        group: .network)
    static let allowPrivate = Option(
        name: "--allow-private", value: nil, help: "let pages of public servers lead to private addresses",
        standard: nil, group: .network)

    static let userAgent = Option(
        name: "--user-agent", value: "TEXT", help: "what larder calls itself to servers",
        standard: "larder/\(Larder.version)", group: .identity, variable: "LARDER_USER_AGENT")
    static let header = Option(
        name: "--header", value: "FIELD",
        help: "send this field: 'Accept-Language: de' to all hosts, 'example.com X-Key: 1' to one",
        standard: nil,
        group: .identity, repeats: true)
    static let user = Option(
        name: "--user", value: "NAME:PASSWORD",
        help: "log in at the hosts of the URLs, and nowhere else; digest:NAME:PASSWORD does so by digest",
        standard: nil, group: .identity)
    static let bearer = Option(
        name: "--bearer", value: "TOKEN", help: "show this token to the hosts of the URLs, and nowhere else",
        standard: nil, group: .identity)
    static let netrc = Option(
        name: "--netrc", value: "FILE", help: "logins by host", standard: "none", group: .identity)
    static let cookies = Option(
        name: "--cookies", value: "FILE", help: "send the cookies of this file (Netscape's format)",
        standard: "those that servers set meanwhile",
        group: .identity, repeats: true)
    static let saveCookies = Option(
        name: "--save-cookies", value: "FILE", help: "keep the cookies that servers set in this file",
        standard: nil,
        group: .identity)
    static let certificate = Option(
        name: "--cert", value: "FILE", help: "show this certificate to the hosts of the URLs (PEM)",
        standard: nil,
        group: .identity)
    static let certificateKey = Option(
        name: "--key", value: "FILE", help: "the key of --cert (PEM)", standard: "in the file of --cert",
        group: .identity)

    /// The same option among others.
    func `in`(_ group: Group) -> Option {
        var option = self
        option.group = group
        return option
    }
}

/// The options of the commands that have to do with serving.
extension Option {
    static let atRoot = Option(
        name: "--at-root", value: "SITE", help: "serve this site at http://localhost:PORT/ itself",
        standard: "the portal")
    static let listen = Option(
        name: "--listen", value: "ADDRESS",
        help:
            "the address to listen on, * for all; a mirror needs --at-root or larder password, a proxy --proxy-user",
        standard: "loopback only")
    static let policy = Option(
        name: "--policy", value: "NAME",
        help: "how what is held and servers share the work: one of the policies below", standard: "offline")
    static let verify = Option(
        name: "--verify", value: "WHEN",
        help:
            "hash stored bodies before they are served: once (the first time), always, or never (only bundles)",
        standard: "once")
    static let proveHeld = Option(
        name: "--verify", value: nil,
        help: "read and hash what is held too: what changed on the disk is fetched anew", standard: nil)
    static let noShim = Option(
        name: "--no-shim", value: nil,
        help: "leave out of pages the script that leads addresses to the larder which other scripts make",
        standard: nil
    )
    static let allowNetwork = Option(
        name: "--allow-network", value: nil,
        help: "let pages ask the network for what the larder does not lead to itself",
        standard: nil)
    static let showPrivate = Option(
        name: "--show-private", value: nil,
        help:
            "with --listen, show other machines what was fetched with credentials, and load with yours for them; what is not of the site at the root only with --tls",
        standard: nil)
    static let readOnly = Option(
        name: "--read-only", value: nil, help: "let nobody change anything by way of the portal",
        standard: nil)
    static let tls = Option(
        name: "--tls", value: "own|FILE",
        help:
            "speak https: by the larder's own authority (larder ca), or with the certificate and key in FILE (PEM)",
        standard: "http")
    static let tlsKey = Option(
        name: "--tls-key", value: "FILE", help: "the key of --tls FILE (PEM)",
        standard: "in the file of --tls")
    static let bar = Option(
        name: "--bar", value: nil,
        help: "have pages show a bar that says from when they are and leads to the portal", standard: nil)
    static let openBrowser = Option(
        name: "--open", value: nil, help: "show the portal in the browser, with an empty larder too",
        standard: nil,
        place: .commandLine)
    static let forget = Option(
        name: "--forget", value: nil, help: "take the password away", standard: nil, place: .commandLine)
    static let preloaded = Option(
        name: "--preload", value: "MANIFEST",
        help:
            "ask what the manifest names, once, and at every SIGHUP: bundles that differ are fetched, and shown when all "
            + "verify; see larder preload",
        standard: "none is asked", repeats: true)
    static let every = Option(
        name: "--every", value: "TIME", help: "with --preload, ask again so often: 90s, 10m, 2h",
        standard: "once")
    static let patience = Option(
        name: "--timeout", value: "TIME",
        help:
            "where a server that is asked first has not answered after so long, show what is held, and load behind",
        standard: "5s")
    static let memory = Option(
        name: "--memory", value: "SIZE",
        help: "how much memory the server takes as a whole; what it does not need itself keeps answers ready",
        standard: "128MiB")
    static let stop = Option(
        name: "--stop", value: nil, help: "stop the server on the port", standard: nil, place: .commandLine)
    static let clear = Option(
        name: "--clear", value: nil, help: "forget them, so that no prefetch fetches them", standard: nil,
        place: .commandLine)

    static let serve: [Option] =
        [
            .store, .port, .proxyPort, .proxyUser, .connectPort, .untouched, .atRoot, .listen, .tls, .tlsKey,
            .policy,
            .rule.in(.general), .patience, .preloaded, .every, .base, .format,
            .requisites, .verify, .strong, .memory, .maxSize, .compress.in(.general), .noShim, .allowNetwork,
            .showPrivate, .readOnly, .scheduled, .bar, .openBrowser,
            .quiet,
        ] + networkOptions + identityOptions
}

/// What `proxy`, `record`, `replay` and `ca` understand.
extension Option {
    static let proxyPort = Option(
        name: "--proxy-port", value: "N",
        help: "be a proxy for programs too, on this port; see larder help proxy",
        standard: "none")
    static let into = Option(
        name: "--into", value: "SITE", help: "the site that takes in all that passes",
        standard: "the sites that start on the same hosts")
    static let proxyUser = Option(
        name: "--proxy-user", value: "USER:PASSWORD", help: "only who has this login may use the proxy",
        standard: "whoever reaches it", place: .commandLine)
    static let connectPort = Option(
        name: "--connect-port", value: "N",
        help: "let clients of the proxy connect to this port too; 0 is any",
        standard: "80, 443, 8000, 8080, 8443, 9443", repeats: true)
    static let untouched = Option(
        name: "--no-intercept", value: "HOST",
        help: "lead clients of the proxy to this host untouched, or to all below one: *.example.com",
        standard: "none", repeats: true)
    static let pem = Option(name: "--pem", value: nil, help: "print the certificate alone, in PEM")

    private static let ofProxy: [Option] =
        [.into, .rule.in(.general), .maxSize, .compress.in(.general), .memory, .untouched, .verify, .quiet]
        + networkOptions + identityOptions
    static let proxying: [Option] =
        [
            .store, .port.otherwise("8081"), .policy.otherwise("protocol"), .listen, .proxyUser, .connectPort,
            .patience,
        ] + ofProxy
    static let record: [Option] = [.store, .policy.otherwise("protocol")] + ofProxy
    static let replay: [Option] =
        [.store] + ofProxy.filter { ![.into, .maxSize, .compress.in(.general)].contains($0) }
    static let authority: [Option] = [.store, .pem, .json]
    static let login: [Option] = [.store, .browser.in(.general), .json, .quiet, .proxy, .resolve, .insecure]
}

/// What `export` and `import` understand beside what others do.
extension Option {
    static let archiveFormat = Option(
        name: "--format", value: "FORM",
        help: "the form: warc, wacz, har, folder, zip, tar, zim, html, mhtml, pdf or png",
        standard: "what the name of the file says")
    static let split = Option(
        name: "--split", value: "SIZE", help: "begin another WARC when one is so large", standard: "one file")
    static let privateToo = Option(
        name: "--private", value: nil,
        help: "export too what was fetched with a login or with cookies, and fields that set cookies",
        standard: nil)
    static let language = Option(
        name: "--language", value: "CODE", help: "of a ZIM: the language of its texts, such as en or eng,fra",
        standard: "what its first page says, else most pages")
    static let noScripts = Option(
        name: "--no-scripts", value: nil, help: "of a page in one file: leave its scripts out", standard: nil)
    static let dark = Option(
        name: "--dark", value: nil, help: "of a PDF or PNG: show the page in dark colours", standard: nil)
    static let oneViewport = Option(
        name: "--viewport", value: "SIZE", help: "of a PDF or PNG: the window, such as 390x844@3",
        standard: "1280x900")
    static let readBack = Option(
        name: "--verify", value: nil, help: "read back what was written, and compare it with what is held",
        standard: nil)
    static let sign = Option(
        name: "--sign", value: nil,
        help: "sign a WACZ with the larder's own key, which is made at the first time",
        standard: nil)
    static let intoSite = Option(
        name: "--site", value: "NAME", help: "the site that gets the visit",
        standard: "the first page in the archives")
    static let folderAddress = Option(
        name: "--url", value: "URL", help: "the address that a folder or a saved page had",
        standard: "what it says itself")

    static let growth = Option(
        name: "--growth", value: "SIZE",
        help: "how much more than 200 times its size an archive may become",
        standard: "512MiB, or a quarter of what the disk has left")

    static let includeExported = Option(
        name: Option.include.name, value: "PATTERN",
        help: "only these pages, with what they need: /blog/**, *.pdf, regex:[0-9]{4}$", standard: "all",
        repeats: true)
    static let excludeExported = Option(
        name: Option.exclude.name, value: "PATTERN",
        help: "leave these out, pages or not, whatever needs them",
        standard: nil, repeats: true)

    static let export: [Option] = [
        .store, .archiveFormat, .visit, .includeExported, .excludeExported, .privateToo, .split,
        .language, .noScripts, .maxBody.otherwise("32M").in(.general), .browser.in(.general), .oneViewport,
        .dark, .readBack, .sign, .json, .quiet, .progress,
    ]
    static let importing: [Option] = [
        .store, .intoSite, .folderAddress, .growth, .noIndex.in(.general), .compress.in(.general),
        .json, .quiet, .progress,
    ]
}

/// What `search` and `index` understand beside what others do.
extension Option {
    static let noIndex = Option(
        name: "--no-index", value: nil, help: "do not make what came to be found by larder search",
        standard: nil,
        group: .held)
    static let inSite = Option(name: "--site", value: "SITE", help: "only this site", standard: "all")
    static let limit = Option(name: "--limit", value: "N", help: "the most hits", standard: "10")

    static let search: [Option] = [.store, .inSite, .type, .visit, .limit, .json, .quiet]
}

/// What `check` and `manifest` understand beside what others do.
extension Option {
    static let live = Option(
        name: "--live", value: nil, help: "fetch from the origin as well, beside --held and --dir",
        standard: nil)
    static let folder = Option(
        name: "--dir", value: "DIR", help: "check the files of a folder, such as a build", standard: nil,
        repeats: true)
    static let renderOffline = Option(
        name: "--render", value: nil,
        help: "with --offline: open pages in a browser too, which reaches nothing but the larder",
        standard: nil)
    static let renderPages = Option(
        name: "--render-pages", value: "N", help: "with --render: how many, some of each kind; 0 opens all",
        standard: "60")
    static let offline = Option(
        name: "--offline", value: nil, help: "prove that a site is held with all that its pages need",
        standard: nil)
    static let quick = Option(
        name: "--quick", value: nil,
        help: "with --offline or --held: hash nothing that was hashed before, and look at sizes",
        standard: nil)
    static let report = Option(
        name: "--report", value: "FORMAT[=FILE]",
        help: "text, json, junit, sarif, github or tap, printed or into a file", standard: "text",
        repeats: true)
    static let failOn = Option(
        name: "--fail-on", value: "VERDICTS", help: "what makes the exit status 1, with commas between",
        standard: "mismatch,missing,skew")
    static let format = Option(
        name: "--format", value: "FORM", help: "the form of the manifest", standard: "what its shape tells")
    static let release = Option(
        name: "--known", value: "MANIFEST",
        help: "the manifest of another release: what is as it says is skewed, not just wrong",
        standard: "none",
        repeats: true)
    static let evidence = Option(
        name: "--evidence", value: "KIND",
        help: "tell weak evidence too: etag, or name=md5 for hashed file names", standard: "none",
        repeats: true)
    static let output = Option(
        name: "--output", value: "FILE", help: "write it into a file", standard: "standard output")
    static let fetched = Option(
        name: "--live", value: nil, help: "fetch the site, even where it is held", standard: nil)
}
