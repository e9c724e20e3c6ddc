internal import LarderKit

/// What `prefetch`, `update` and `plan` understand.
extension Option {
    static let prefetch: [Option] =
        [.store, .json, .quiet, .verbose, .progress, .base, .manifest, .strict]
        + scopeOptions + mannerOptions + heldOptions + networkOptions + identityOptions
    /// How a site is prefetched is known from the last time.
    static let update: [Option] =
        [.store, .json, .quiet, .verbose, .progress, .strict]
        + mannerOptions.map { asBefore.contains($0) ? $0.otherwise("as the last time") : $0 }
        + heldOptions.filter { $0 != .rule } + networkOptions + identityOptions

    static let preload: [Option] =
        [.store, .json, .quiet, .verbose, .progress, .base, .format, .requisites, .strict]
        + [.perHost, .rate, .maxBody, .timeout] + networkOptions + identityOptions

    private static let asBefore: [Option] = [.robots, .nofollow, .noindex]

    static let plan: [Option] =
        [.json, .quiet, .progress, .sample] + scopeOptions.filter { ![.sitemap, .noGuesses].contains($0) }
        + [.perHost, .robots, .rate, .timeout] + networkOptions + identityOptions

    static let scopeOptions: [Option] = [.scope, .include, .exclude, .depth, .sitemap, .noGuesses]
    static let mannerOptions: [Option] = [
        .perHost, .robots, .nofollow, .noindex, .rate, .maxPages, .maxBytes, .maxTime, .maxBody, .timeout,
        .hostPatience,
    ]
    static let heldOptions: [Option] = [.fetchPolicy, .rule, .allowShrink, .maxSize.in(.held)]
    static let networkOptions: [Option] = [
        .proxy, .resolve, .ipv4, .ipv6, .authorities, .insecure, .allowPrivate,
    ]
    static let identityOptions: [Option] = [
        .userAgent, .header, .user, .bearer, .netrc, .cookies, .saveCookies, .certificate, .certificateKey,
    ]

    static let scope = Option(
        name: "--scope", value: "EXTENT",
        help: "host: pages on the hosts of the URLs; path: in their folders; domain: on all hosts of their domains",
        standard: "host", group: .scope)
    static let include = Option(
        name: "--include", value: "PATTERN",
        help: "follow these pages as well: /blog/**, *.pdf, docs.example.com, regex:[0-9]{4}$", standard: nil,
        group: .scope, repeats: true)
    static let exclude = Option(
        name: "--exclude", value: "PATTERN", help: "never ask for these, pages or not", standard: nil, group: .scope,
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
        name: "--no-guesses", value: nil, help: "do not try what only looks like a link in a script", standard: nil,
        group: .scope)

    static let manifest = Option(
        name: "--manifest", value: nil, help: "what is named is a manifest, whatever it is called", standard: nil,
        place: .commandLine)
    static let requisites = Option(
        name: "--requisites", value: "WHICH", help: "all: what the bundles need comes along; none: the bundles alone",
        standard: "all")
    static let strict = Option(
        name: "--strict", value: nil,
        help: "exit with 1 where anything could not be had, though the last good set is served",
        standard: nil)
    static let sample = Option(
        name: "--sample", value: "N", help: "look at most at so many pages", standard: "120")
    static let robots = Option(
        name: "--robots", value: "WHETHER", help: "obey or ignore what robots.txt says of pages", standard: "obey",
        group: .manners)
    static let nofollow = Option(
        name: "--nofollow", value: "WHAT",
        help: "leave links alone that say nofollow: pages where a page says it of all of its links, links where a link "
            + "says it as well (ugc and sponsored too), ignore nowhere",
        standard: "pages; ignore with --robots ignore", group: .manners)
    static let noindex = Option(
        name: "--noindex", value: "WHETHER",
        help: "obey reads pages that say noindex for their links and keeps them not; they say it to search engines",
        standard: "ignore", group: .manners)
    static let rate = Option(
        name: "--rate", value: "SIZE", help: "take at most so many bytes a second", standard: "no limit",
        group: .manners)
    static let maxPages = Option(
        name: "--max-pages", value: "N",
        help: "so many pages are enough; with more, or without it, the next run goes on beyond", standard: "no limit",
        group: .manners)
    static let maxBytes = Option(
        name: "--max-bytes", value: "SIZE", help: "stop when so much came over the network; the next run goes on",
        standard: "no limit", group: .manners)
    static let maxTime = Option(
        name: "--max-time", value: "TIME", help: "stop after so long: 90s, 10m, 2h; the next run goes on",
        standard: "no limit", group: .manners)
    static let maxBody = Option(
        name: "--max-body", value: "SIZE", help: "leave out files that are larger", standard: "8GiB", group: .manners)
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
        help: "revalidate asks whether what is held still holds, protocol only about what is not fresh, prefer-cache "
            + "not at all, reload loads everything again",
        standard: "revalidate", group: .held)
    static let rule = Option(
        name: "--rule", value: "RULE",
        help: "what you want otherwise than servers say: '/api/** max-age=600'; see larder help rules",
        standard: nil, group: .held, repeats: true)

    static let allowShrink = Option(
        name: "--allow-shrink", value: nil,
        help: "serve a visit that has less than half of the pages of the one before, or a login in place of the site",
        standard: nil, group: .held)

    static let proxy = Option(
        name: "--proxy", value: "URL", help: "go through this proxy: http://, https://, socks4a://, socks5h://",
        standard: "what $http_proxy, $https_proxy and $no_proxy say", group: .network)
    static let resolve = Option(
        name: "--resolve", value: "HOST:PORT:ADDRESS", help: "where a host is",
        standard: "what the name service says", group: .network, repeats: true)
    static let ipv4 = Option(name: "--ipv4", value: nil, help: "use IPv4 only", standard: nil, group: .network)
    static let ipv6 = Option(name: "--ipv6", value: nil, help: "use IPv6 only", standard: nil, group: .network)
    static let authorities = Option(
        name: "--ca", value: "FILE", help: "trust these certificates as well (PEM)", standard: "the system's alone",
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
        help: "send this field: 'Accept-Language: de' to all hosts, 'example.com X-Key: 1' to one", standard: nil,
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
        name: "--save-cookies", value: "FILE", help: "keep the cookies that servers set in this file", standard: nil,
        group: .identity)
    static let certificate = Option(
        name: "--cert", value: "FILE", help: "show this certificate to the hosts of the URLs (PEM)", standard: nil,
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
