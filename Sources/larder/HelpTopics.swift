internal import LarderKit

/// A help text on a subject that concerns several commands: `larder help TOPIC`. To add one, add it to
/// `all`; the help, `docs/commands.md` and suggestions follow. `TopicBlock` in HelpCommand.swift describes
/// its layout.
struct HelpTopic: Sendable {
    let name: String
    let summary: String
    /// The text below the heading. Its lines are broken by hand, because much of it is tables.
    let text: String

    static let all = [rules, policies, rendering, archives, postgres]

    /// Returns the topic with this name; nil if there is none.
    static func topic(named name: String) -> HelpTopic? { all.first { $0.name == name } }

    private static let rules = HelpTopic(
        name: "rules", summary: "Override headers and policy of URLs",
        text: """
            Examples
              --rule '/api/** max-age=600'
              --rule 'https://api.example.com/** type=application/json max-age=!0'
              --rule '/search no-query policy=prefer-cache'
              --rule '/private/** not-allowed'
              --rule '/api/query post policy=prefer-cache'
              --rule '/bundles/** version=build'
              --rule '/api/** refuse type=text/html'
              --rule '*.example.com refuse smaller-than=100 text=Log%20in'

            A rule is a URL pattern, followed by settings separated by spaces. For each setting, the first
            matching rule that has it applies. In .larder.json and in manifests, rules are "rule" or "rules".

            Patterns
              https://example.com/docs/**   contains :// - compared with the URL
              /api/*                        starts with / - compared with path and query, on any host
              example.com/docs/**           compared with host, path and query
              *.example.com                 no slash - compared with the host
              A host matches with any port; example.com:8080 matches only that port.
              * matches anything but a slash, ** anything, ? one character. Queries are compared only if the
              pattern has a question mark.

            Settings
              type=TYPE          apply the rule only to this media type: text/html, image/*
              max-age=SECONDS    treat the stored response as fresh for at least this long; max-age=!SECONDS
                                 for exactly this long
              policy=NAME        cache policy (see larder help policies)
              allowed            store on disk (default)
              memory-only        store only in the memory of the server
              not-allowed        do not store. Prefetch does not request URLs that may not be stored on disk
              no-query           if the URL is not stored, serve it without its query or with another query
              version=NAMES      these parameters (separated by commas) only mark versions, as v, ver, _ and t do
                                 by default: if the URL is not stored, serve another version
              any-order          if the URL is not stored, serve it with the same parameters in another order
              post               store responses to POST, PUT and other such requests, and serve them for the
                                 same method, URL and body (JSON is compared by value) if the policy serves stored
                                 responses. Without this, such requests are never answered from the store
              refuse             do not store a matching response, and keep the stored one; with status=N,
                                 larger-than=SIZE, smaller-than=SIZE or text=WORDS only if that applies too.
                                 WORDS must be in the first 4 kB; write %20 for a space. k, M, G are powers of 1000

            Without any rule, an HTML page in place of a script, style sheet, image or font is refused. The
            report lists refused responses with the reason.
            """)

    private static let policies = HelpTopic(
        name: "policies", summary: "When to use stored responses and when the network",
        text: CachePolicy.allCases.map { "  " + $0.rawValue.padded(19) + explanation(of: $0) }.joined(
            separator: "\n")
                + """


                Bundles of a manifest are independent of the policy: one that is stored with the right digest is
                served without a request, any other is loaded.
                """)

    /// Returns the right column of the table of policies. A new policy does not compile before it is added here.
    private static func explanation(of policy: CachePolicy) -> String {
        switch policy {
        case .protocol:
            """
            RFC 9111: use fresh responses from the store; check stale ones with the server
                                 (default of larder proxy)
            """
        case .preferCache: "use the stored response, however old; load only missing ones"
        case .offline: "use the stored response, however old; never load (default of larder serve)"
        case .reload: "always load"
        case .reloadEndToEnd: "always load, and ask caches on the way to do the same"
        case .revalidate:
            """
            check every stored response with the server (default of larder prefetch and
                                 larder record)
            """
        case .refreshBehind: "serve the stored response at once, then refresh it in the background"
        case .auto: "protocol while the server answers, offline while it does not"
        }
    }

    private static let postgres = HelpTopic(
        name: "postgres", summary: "Keep the store in PostgreSQL, for several machines",
        text: """
            Examples
              createdb --encoding UTF8 --template template0 larder
              larder prefetch https://example.com/ --store 'postgres://ann@db.example.com/larder'
              larder serve --store 'postgres://ann@db.example.com/larder?schema=larder&sslmode=verify-full'
              LARDER_STORE='postgres:///larder' larder status
              larder store copy ~/.local/share/larder postgres:///larder
              larder store copy postgres:///larder 'postgres:///larder?schema=outside&bodies=s3://pages/larder&s3-region=eu-west-1'

            --store and LARDER_STORE accept a PostgreSQL database (version 15 or later; needs libpq5) in place of
            a folder. All commands work the same. All machines see the same store: servers notice changes within a
            second, and several machines can prefetch different sites at the same time. The first prefetch creates
            the tables.

            Several machines can prefetch one site together:
              larder work https://example.com/ --store 'postgres://ann@db.example.com/larder'
              larder work --store 'postgres://ann@db.example.com/larder'
              larder work --stay --store 'postgres://ann@db.example.com/larder'
            The first command starts a shared snapshot, the second joins it from another machine, the third also
            waits for the next one. Each worker has hosts of its own, so that a host is treated as gently as by one
            prefetch; a site on a single host keeps only one worker busy. Limits hold for all workers together. If a
            worker stops or crashes, others take over its hosts within 15 seconds, and only its open requests are
            repeated. If none is left, larder work continues. The last worker publishes the snapshot.

            Parameters of the address
              schema=NAME    schema of the tables (default: larder); one database can have several stores
              folder=PATH    folder for what this machine keeps itself: bodies in transfer, copies of bodies over 1 MiB
                             (up to 4 GB), the search index, logins and authorities (default: below larder-servers/ in
                             $XDG_DATA_HOME or ~/.local/share)
              bodies=PLACE   place for bodies over 64 KiB (or over bodies-over=BYTES): a folder that all machines
                             share, or s3://BUCKET/PREFIX. Set it when the store is created, and use it ever after;
                             larder store copy moves an existing store
              s3-region=, s3-endpoint=
                             of the bucket (default: AWS_REGION and AWS_ENDPOINT_URL, else us-east-1 and Amazon).
                             Credentials come only from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and
                             AWS_SESSION_TOKEN in the environment
            All other parameters (host, port, sslmode, connect_timeout, …) and the PG… environment variables are
            those of libpq. Keep the password in a PGPASSFILE: Larder never prints an address with its password, but
            other users can see command lines.

            Administration
              The user needs the right to create the schema once, and then to read and write its tables. A user who
              can only read can serve.
              Connection poolers must work in session mode.
              To see who writes to the store, run larder store status. To change the tables for a new version of Larder,
              stop other workers and servers and run larder store migrate.
              With several servers, as in postgres://ann@db1,db2/larder?target_session_attrs=any, any of them is read,
              also a standby, and the writable one is used for writing. While none answers, larder serve returns 503,
              and prefetch and work wait for two minutes (work --stay without limit).
              Back up with pg_dump or pg_basebackup. larder fsck --repair removes damaged data; it cannot rebuild a
              PostgreSQL store.
            """)

    private static let archives = HelpTopic(
        name: "archives", summary: "Formats of larder export and larder import",
        text: """
            Examples
              larder export https://example.com/ example.warc.gz --verify
              larder export https://example.com/ example.wacz
              larder export https://example.com/ stick/example/
              larder export https://example.com/docs/a.html a.html
              larder import crawl.warc.gz --site https://example.com/
              larder import build/ --url https://example.com/docs/

            Export a site or page
              warc    WARC 1.1, each record compressed separately (.warc.gz), or uncompressed (.warc). Contains responses,
                      requests as far as known, and revisit records for repeated bodies. --split starts another
                      file at a size (NAME-00000, …) and removes surplus files of an earlier export
              wacz    WACZ 1.1.1: the WARC with an index, the pages with their text, and digests; for ReplayWeb.page and
                      pywb. --sign signs the digests with the store's key (P-384, signing.key): anyone who knows your
                      public key can verify that the archive is yours
              har     HAR 1.2, for browser tools; bodies that are not UTF-8 are in base64
              folder  A folder (DIR/) that opens in a browser without Larder: relative links, portable file names,
                      redirects as pages. ~missing.txt lists missing assets, ~larder.jsonl the URL and headers of each
                      file. Bodies without links are unchanged. Where scripts compute URLs (webpack, Docusaurus) or use
                      modules (Vite), the script ~larder.js maps them to the files; fetched data is in ~data/, and a copy
                      of each module and worker in ~modules/. Browsers do not load 3D models, and workers that load other
                      files, from a folder, so pages that use them need a web server; the report and START-HERE.html
                      say so
              zip     The same in a zip file, as one folder
              tar     The same in a tar file compressed with zstd (.tar.zst)
              zim     For Kiwix, with a search index; needs zimwriterfs (zim-tools). --verify runs zimcheck. The language is that
                      of the first page, else of most pages; --language sets it (eng,fra)
              run     One executable file (.run, or --self-serving): this command with the site. On Linux, it serves the site
                      without Larder until Ctrl-C: it checks the site, unpacks it into a temporary folder and prints its
                      address (a free port, or --port). The machine needs the libraries that the report names. Its other
                      commands are those of larder

            Export one page (a URL, or the first page of a site)
              html    A single file that needs no network: images, styles, fonts, media, frames and scripts are included,
                      modules in an import map, data that scripts are known to fetch beside them. Integrity digests and
                      security policies are replaced by a policy that blocks the network. Bodies over --max-body are left
                      out and reported, like missing ones. Limits: routers in scripts see another address; no service
                      workers, no modules in workers, no import map prefixes. --no-scripts removes scripts
              mhtml   As browsers save pages. Browsers do not run its scripts
              pdf     Printed by Chromium or Chrome (--browser or LARDER_CHROMIUM) from the store alone
              png     A screenshot of the whole page, up to 16,384 pixels high; --viewport sets the width, --dark the
                      colours. pdf and png work for any snapshot

            Import
              WARC 1.0 and 1.1 and ARC, also .gz, .zst and .xz; WACZ; HAR with content; MHTML; ZIM if zimdump (zim-tools) is
              installed. The format is detected from the content. Parts that MHTML names by cid: get URLs below ~cid/ on the
              page's host; files of a ZIM get URLs on the host NAME.zim.invalid. The signature of a WACZ is verified and
              reported. A record whose digest does not match is refused; records without a digest are accepted.
              Folders, and zip or tar files of them (.gz, .zst, .xz): exports of Larder (~larder.jsonl), HTTrack (hts-cache),
              wget and wget2 (folders named after hosts, -K originals), pages saved by browsers or SingleFile
              (saved.html with saved_files/), and any other folder with --url. Links to files become URLs again. File names
              are decoded as the tool wrote them (page?q=1, page@q=1, page%3Fq=1). Symbolic links that leave the
              folder, links to folders and special files are skipped and reported.

            What the formats contain
              Bodies are stored and exported without content encoding; X-Archive-Orig-* headers record the original one.
              HTTP versions, reason phrases, and request details beyond method, URL and varying headers are not kept.
              Larder's own notes are in Larder-Notes (_larder in HAR), which other programs ignore. Set-Cookie headers are
              exported only with --private. With --private, a WARC, WACZ or HAR that is imported again gives the same
              responses, byte for byte. Folders, zip and tar files lose responses to POST and additional variants, and links
              in pages are written differently. ZIM and MHTML contain no headers. The network zone of a response is never
              taken from an archive: imported pages can only link to public addresses.
            """)

    private static let rendering = HelpTopic(
        name: "rendering", summary: "Find what only running scripts request",
        text: """
            Examples
              larder prefetch https://example.com/ --render always --viewport 1280x900,390x844@3
              larder prefetch https://example.com/ --render-script '/shop/**=open-all.js' --render-deep
              larder prefetch https://example.com/ --render never

            Most pages name everything they need, and are analysed without running them. For scripts that cannot be
            analysed, pages are opened in headless Chromium or Chrome, if it is installed; --browser or LARDER_CHROMIUM
            names its path.

            Which pages are rendered
              auto     Pages are grouped by folder and kind (example.com/docs/*.html). If scripts can send
                       requests, one page for each set of scripts is rendered; of a group with a reason (scripts with
                       hardly any text, a module loader that could not be analysed, URLs built by scripts, requests to
                       other hosts) three pages; and more, also of other groups with the same scripts, as long as that
                       finds new assets. Large groups come first. An update renders new pages, and
                       unchanged ones only if an asset changed or the page sends data. A host is skipped after 12 pages
                       without a new asset (more if it has many groups, up to 60); the report says how many groups were
                       skipped
              always   all pages
              never    no pages

            What rendering does
              Everything that a rendered page requests is served from the store or fetched by the crawl, with its limits,
              rules and digests, and stored as an asset of the page; its links are followed. POST requests are sent,
              and their responses are stored with what was sent; PUT and DELETE are refused. WebSockets and event streams
              are connected, and the messages of the first 10 seconds are recorded, up to 1 MiB a page.
              When such a page is served, requests that contain the current time
              (from=1764000000000&to=1764003600000) get the response that was recorded for the same distance from the time
              of recording. The report lists each group with the number of pages, of rendered pages and of assets found.

            Each page is scrolled to the end (--render-scroll), after one move of the mouse, and captured when it has been
            quiet for half a second, or after --render-time. Views behind fragments (#/about) are opened one by one, up to
            --max-pages, else 1,000 per document; the report lists those that were not.

            On the first pages of each group, controls are used (--act). The search field gets the focus and a word of the
            page. Details elements, elements that declare themselves as collapsed or as menus (aria-expanded, aria-controls,
            aria-haspopup) and up to forty tabs (role=tab) are opened. Up to twelve buttons at a time are pressed, in three
            rounds, and those for more of the same (Next, Load more, zoom) three times; pictures and short texts with the
            cursor of a link count as buttons. Lists, radio buttons, check boxes, sliders and dates get up to ten other
            values each, 40 in a page, and then the first one again. Buttons in forms, and buttons whose names say that they
            change something (Delete, Save, Buy, Share, Log out, in 25 languages), are not pressed. From then on, sockets
            are closed, requests other than GET are refused and counted, and pages cannot be left. In a run with cookies or
            a login, only the search field is used. --act search uses only the search field. --render-deep uses the controls
            of every rendered page, and plays the beginning of videos.

            If rendering found something, some pages are opened from the store alone before the prefetch ends. Missing responses are then
            fetched. If a page shows something else than before, the messages that its sockets and event streams got in
            their first seconds are replayed to it. If that does not help, it is served as a frozen copy (--freeze auto): as
            it was, without scripts, with a link to the page with its scripts. larder check SITE opens pages in the same way
            and reports the result.

            --render-pictures stores a screenshot of each page with its text. larder check SITE --render opens the pages from
            the store alone and reports differences in text or picture. larder diff SITE --pictures lists the pages whose
            appearance changed between snapshots; the portal shows them side by side.

            --steady helps where scripts build URLs from the time, Math.random() or crypto.randomUUID(): pages see the
            time of the prefetch and the same sequence of numbers, when rendered and when served. Updates keep it. Add
            --policy reload to apply it to pages that are already stored.
            """)
}
