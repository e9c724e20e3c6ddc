internal import LarderKit
internal import Web

/// Every command with its options: parsing and help read this table, and nothing else describes a command.
struct CommandEntry: Sendable {
    let name: String
    /// What stands behind the name, for people.
    let operands: String
    let operandCount: ClosedRange<Int>
    let summary: String
    let examples: [String]
    let options: [Option]
    /// A word that begins with a dash, and is no option, is an operand.
    var readsWords = false
    /// What else there is to know, a paragraph each.
    var notes: [String] = []
    let run: @Sendable (Arguments, Terminal) async -> ExitStatus

    static let all: [CommandEntry] = [
        CommandEntry(
            name: "prefetch", operands: "URL...|MANIFEST", operandCount: 1...1000,
            summary: "stock a site: its pages and everything they need",
            examples: [
                "larder prefetch https://example.com/docs/",
                "larder prefetch https://example.com/docs/ --scope path --exclude '*.pdf'",
                "larder prefetch manifests/site.json",
            ],
            options: Option.prefetch,
            notes: [
                """
                Ctrl-C once stops cleanly and names the command that goes on; twice stops at once. What is stored is kept
                either way. Options that you always want may stand in larder.json: see larder help config.
                """
            ], run: PrefetchCommand.run),
        CommandEntry(
            name: "preload", operands: "MANIFEST|URL...", operandCount: 1...1000,
            summary: "ask a manifest what is current, and fetch only what differs",
            examples: [
                "larder preload https://example.com/weex/config",
                "larder preload manifests/demo.json --base https://example.com/",
                "larder preload https://example.com/md5sums.txt --strict",
            ],
            options: Option.preload,
            notes: [
                """
                A bundle that is held with the digest that the manifest gives is not asked for. All that are required change
                together: they are served when each of them verifies, and until then the last good set is. So it is when the
                network is down: the exit status is 0, and the report says from when the set is.
                """,
                """
                The digests of what is held are kept, and held against the manifest without reading it again: ten thousand
                bundles take a tenth of a second. With --verify they are read. A server reads each once before it says that
                it verifies, and so does larder check --held; what they find damaged is fetched by the next preload.
                """,
                """
                Exit status 1 says that something came that does not verify, or is gone; 3 that nothing could be had, and
                nothing is held yet. The manifest stays with its site: larder update holds against it what it fetches.
                """,
                "Forms of manifest: \(CheckOptions.formats.joined(separator: ", ")).",
            ], run: PreloadCommand.run),
        CommandEntry(
            name: "update", operands: "[SITE...]", operandCount: 0...1000,
            summary: "fetch what has changed of the sites that are held",
            examples: ["larder update", "larder update example.com", "larder update --due"],
            options: Option.update, run: UpdateCommand.run),
        CommandEntry(
            name: "work", operands: "[URL...]", operandCount: 0...1000,
            summary: "prefetch along with other machines that share a PostgreSQL",
            examples: [
                "larder work https://example.com/ --store postgres:///larder",
                "larder work --store postgres:///larder",
            ],
            options: Option.work,
            notes: [
                """
                With URLs it begins a visit of a site, or joins it; without, it joins whatever visits are shared, one after the
                other. Each worker leases hosts, so that one of them at a time asks a host; limits hold for all together.
                The last one publishes, and its report is of the whole visit.
                """,
                """
                What a worker had that is stopped, killed or cut off goes to others: at once after Ctrl-C, else within 15
                seconds. How pages are chosen is what the first said; the network's options are each worker's own.
                See larder help postgres.
                """,
            ], run: WorkCommand.run),
        CommandEntry(
            name: "plan", operands: "URL...", operandCount: 1...1000,
            summary: "estimate what a prefetch would fetch, by a few pages",
            examples: [
                "larder plan https://example.com/", "larder plan https://example.com/docs/ --scope path",
            ],
            options: Option.plan, run: PlanCommand.run),
        CommandEntry(
            name: "explain", operands: "URL", operandCount: 1...1,
            summary: "say whether a URL would be fetched, why, and who links to it",
            examples: ["larder explain https://example.com/docs/intro.html"],
            options: [.store, .json, .quiet], run: ExplainCommand.run),
        CommandEntry(
            name: "serve", operands: "", operandCount: 0...0,
            summary: "show what is held on http://localhost:8080/, offline",
            examples: [
                "larder serve", "larder serve --port 9000",
                "larder serve --at-root https://example.com/ --listen '*'",
                "larder serve --preload https://example.com/bundles.json --every 10m",
            ],
            options: Option.serve,
            notes: [
                """
                The portal at the server's own address stocks, updates, pins, drops and removes too, by its own pages alone. With
                --listen it wants the password that larder password sets; with --read-only it changes nothing.
                """,
                """
                Without --listen it refuses requests that a proxy passed on, as Via, Forwarded and X-Forwarded-* say: those
                are of other machines.
                """,
                """
                With --tls own it speaks https, by certificates that the larder's authority signs for this machine's names
                and addresses: clients trust them that trust what larder ca --pem prints. --tls FILE shows a certificate of
                your own. Other machines are shown one site (--at-root), or the portal: names below localhost are each
                machine's own, and no others keep sites apart.
                """,
                """
                With --bar each page that a browser shows has a bar: from when it is, its other visits, a search, and the way
                to the portal, where the bar is switched off and on, too. No page can read it, or is changed by it.
                """,
                """
                What servers are asked for by a policy or a rule is kept on top of the visit that is served, which stays
                as it is; larder visits lists it, and larder rollback leaves it.
                """,
                """
                An earlier visit is looked at by its day: http://localhost:8080/@2026-11-20/https://example.com/
                """,
                """
                --memory limits the memory of the whole process. The server itself needs about 35 MiB; the rest keeps answers
                ready, at least an eighth of SIZE. Pages of the search index that the kernel keeps in memory, and takes back
                when programs need it, do not count.
                """,
                """
                On a full or read-only disk everything stored is served, whatever the policy. What cannot be recorded then is
                reported once.
                """,
                """
                SIGHUP has the store read anew, or with --preload the manifests asked. SIGTERM and Ctrl-C answer what has been
                asked, for up to 5 s, and end the server.
                """,
                """
                What --compress keeps small and nobody has to change goes out as it is kept, in zstd, to clients that take it.
                """,
                """
                Bundles of a manifest go out byte for byte, with Larder-Bundle: verified and their digests; what a server
                sends in their place and does not verify is never shown.
                """,
                """
                Policies: protocol (RFC 9111), prefer-cache (load only what is missing), offline (load nothing), reload,
                reload-end-to-end, revalidate (ask whether it still holds), refresh-behind (answer, then load), auto
                (protocol while the server answers, else offline).
                """,
            ], run: ServeCommand.run),
        CommandEntry(
            name: "proxy", operands: "", operandCount: 0...0,
            summary: "record what any program asks the network for, and answer it",
            examples: [
                "larder proxy", "larder proxy --policy offline",
                "larder proxy --into ci --policy prefer-cache",
                "larder proxy --listen 192.0.2.1 --proxy-user build:secret",
            ],
            options: Option.proxying,
            notes: [
                """
                Programs use it by http_proxy and https_proxy; for https they have to trust the larder's own authority, as
                larder ca explains. Bodies go out byte for byte under their own URLs, with the fields that came, or as RFC
                9111 changes them. Policies, rules, digests and visits are those of larder serve.
                """,
                """
                With --listen, clients on other machines reach the public network; the private network only if they are in
                it, or with --allow-private; and nothing on this machine. None of them gets what your credentials brought.
                """,
                """
                A request that the policy lets nobody answer gets a 504 with Larder: miss. What passes is listed live at the
                proxy's own address. Cookies that servers set are passed on and not kept.
                """,
            ], run: ProxyCommand.run),
        CommandEntry(
            name: "record", operands: "-- COMMAND...", operandCount: 1...10_000,
            summary: "run a command, and keep all that it asks the network for",
            examples: [
                "larder record -- npm ci", "larder record --into build -- pip install -r requirements.txt",
            ],
            options: Option.record,
            notes: [
                """
                The command gets a proxy of its own by its environment: http_proxy, https_proxy, all_proxy, and the files of
                trusted authorities that curl, git, pip, requests, Node, Cargo, wget, apt and whatever uses OpenSSL read.
                All answers are kept, those to POST and what says no-store included, but for those to HEAD and for parts of
                files (Range), which are a whole only when all of it came. The exit status is the command's.
                """
            ], run: RecordCommand.record),
        CommandEntry(
            name: "replay", operands: "-- COMMAND...", operandCount: 1...10_000,
            summary: "run a command with what was recorded in the network's place",
            examples: [
                "larder replay -- npm ci", "larder replay -- git clone https://example.com/project.git",
            ],
            options: Option.replay,
            notes: [
                """
                Nobody is asked for anything. What was not recorded gets a 504, and is named when the command has ended; its
                exit status is the command's.
                """
            ], run: RecordCommand.replay),
        CommandEntry(
            name: "ca", operands: "", operandCount: 0...0,
            summary: "show the authority that the proxy's clients have to trust",
            examples: ["larder ca", "larder ca --pem > larder-ca.pem"],
            options: Option.authority,
            notes: [
                """
                Each larder has an authority of its own, made when it is first needed. Its key is in a file that nobody else
                may read; whoever has that can pretend to be any host to those who trust it.
                """
            ], run: AuthorityCommand.run),
        CommandEntry(
            name: "login", operands: "[URL]", operandCount: 0...1,
            summary: "sign in to a site, and keep its cookies",
            examples: ["larder login https://wiki.example.com/", "larder login"],
            options: Option.login,
            notes: [
                """
                The window has a profile of the larder's own. When it is closed, the cookies of the site are kept in the larder,
                where nobody else may read them; each prefetch and update of the site sends them, keeps what they become, and
                marks what they brought as private. Without an URL it lists the sites where the larder is signed in.
                """
            ], run: LoginCommand.run),
        CommandEntry(
            name: "logout", operands: "SITE", operandCount: 1...1,
            summary: "forget the cookies of a site",
            examples: ["larder logout wiki.example.com"],
            options: [.store, .json, .quiet],
            notes: [
                "What was fetched with them stays, and stays private. The last one takes the browser's profile along."
            ],
            run: LogoutCommand.run),
        CommandEntry(
            name: "password", operands: "", operandCount: 0...0,
            summary: "set the password by which other machines get at the portal",
            examples: ["larder password", "larder password --forget"],
            options: [.store, .forget, .quiet],
            notes: [
                """
                With larder serve --listen, the portal is shown to whoever says it, and nobody else; without one the portal is
                not shown there. It is asked for in the terminal, or read from the standard input, and kept as its scrypt in a
                file of the larder's. On loopback nobody needs it: the portal's own pages carry what an order has to come with.
                """
            ], run: PasswordCommand.run),
        CommandEntry(
            name: "misses", operands: "", operandCount: 0...0,
            summary: "list what was asked of the server and is not held",
            examples: ["larder misses", "larder misses --json", "larder misses --clear"],
            options: [.store, .clear, .json, .quiet],
            notes: [
                "The next prefetch of their site fetches them; what is held meanwhile is not listed any more."
            ],
            run: MissesCommand.run),
        CommandEntry(
            name: "status", operands: "", operandCount: 0...0,
            summary: "say what is held",
            examples: ["larder status", "larder status --json"],
            options: [.store, .json, .quiet], run: StatusCommand.run),
        CommandEntry(
            name: "search", operands: "WORDS...", operandCount: 1...1000,
            summary: "find pages by the words in them",
            examples: [
                "larder search ordered dictionary", "larder search std::collections::HashMap insert",
                "larder search '\"exit status\"' title:subprocess -windows --site docs.python.org",
            ],
            options: Option.search, readsWords: true,
            notes: [
                """
                All the words have to be there, whatever their case and accents are; where nothing has all of them, what has
                some is shown, and that is said. "several words" stand one behind the other, -word must not be there,
                title:word, url:word and heading:word look only there, word* is how a word begins, a OR b is one of them,
                a NEAR b are close to each other.
                """,
                """
                What a prefetch, an update or an import brings is found when it has ended; what it had no time for is read by the
                first search, and what servers loaded when larder index has run. Exit status 1 says that nothing was found.
                """,
                """
                The words of a page are those that it shows, with its title, its description and what stands for its pictures,
                and where a browser showed it, what its scripts wrote; not those of <noscript>, nor of parts that are hidden.
                """,
            ], run: SearchCommand.run),
        CommandEntry(
            name: "list", operands: "[SITE]", operandCount: 0...1,
            summary: "list the URLs that are shown: status, media type, size",
            examples: [
                "larder list", "larder list https://example.com/ --type image", "larder list --status 404",
            ],
            options: [.store, .type, .status, .json],
            notes: ["Short names of media types: \(TypeFilter.names.joined(separator: ", "))."],
            run: ListCommand.run),
        CommandEntry(
            name: "show", operands: "URL", operandCount: 1...1,
            summary: "tell all that is known of a URL: visits, headers, links",
            examples: [
                "larder show https://example.com/a.html", "larder show https://example.com/a.html --links",
            ],
            options: [.store, .links, .json, .quiet],
            notes: ["Exit status 1 says that the URL is not held; then what is there instead is shown."],
            run: ShowCommand.run),
        CommandEntry(
            name: "cat", operands: "URL", operandCount: 1...1,
            summary: "print the body of a URL, byte for byte as it was fetched",
            examples: [
                "larder cat https://example.com/logo.png > logo.png",
                "larder cat https://example.com/ --visit 3",
            ],
            options: [.store, .visit], run: CatCommand.run),
        CommandEntry(
            name: "visits", operands: "[SITE]", operandCount: 0...1,
            summary: "list the visits of the sites, and which is served",
            examples: ["larder visits", "larder visits https://example.com/"],
            options: [.store, .json, .quiet], run: VisitsCommand.run),
        CommandEntry(
            name: "rollback", operands: "SITE [VISIT]", operandCount: 1...2,
            summary: "serve an earlier visit of a site, or the one that is named",
            examples: ["larder rollback https://example.com/", "larder rollback https://example.com/ 3"],
            options: [.store, .json, .quiet], run: RollbackCommand.run),
        CommandEntry(
            name: "diff", operands: "SITE [A] [B]", operandCount: 1...3,
            summary: "say what changed of a site from one visit to another",
            examples: [
                "larder diff https://example.com/", "larder diff https://example.com/ 3 5 --json",
                "larder diff https://example.com/ --pictures",
            ],
            options: [.store, .pictures, .json, .quiet],
            notes: ["larder serve shows the pictures of two visits side by side."], run: DiffCommand.run),
        CommandEntry(
            name: "drop", operands: "SITE VISIT...", operandCount: 2...1000,
            summary: "drop visits of a site; what later ones show stays",
            examples: ["larder drop https://example.com/ 3", "larder drop https://example.com/ 3 4 5"],
            options: [.store, .json, .quiet],
            notes: ["The visit that is served cannot be dropped. The room comes back with larder gc."],
            run: DropCommand.run),
        CommandEntry(
            name: "pin", operands: "URL|PATTERN|SITE", operandCount: 1...1,
            summary: "keep something, with all that it needs, from eviction",
            examples: [
                "larder pin https://example.com/", "larder pin https://example.com/docs/a.html",
                "larder pin 'https://example.com/docs/**'", "larder pin '*.example.com'",
            ],
            options: [.store, .site, .url, .pattern, .json, .quiet],
            notes: [
                """
                Without --site, --url or --pattern, what contains a star is a pattern; what names a site that is held
                is that site, with all its pages and visits; anything else is a URL.
                """,
                """
                In a pattern * is anything but a slash, ** anything at all, ? any one character. With :// it is held
                against URLs, with a slash first against paths ('/**.woff2'), without a slash against hosts; a query
                is looked at where the pattern has a ?.
                """,
            ], run: PinCommand.pin),
        CommandEntry(
            name: "unpin", operands: "URL|PATTERN|SITE", operandCount: 1...1,
            summary: "let go of what was pinned",
            examples: ["larder unpin https://example.com/", "larder unpin 'https://example.com/docs/**'"],
            options: [.store, .site, .url, .pattern, .json, .quiet], run: PinCommand.unpin),
        CommandEntry(
            name: "pins", operands: "", operandCount: 0...0,
            summary: "list what is pinned, and how much that is",
            examples: ["larder pins", "larder pins --json"],
            options: [.store, .json, .quiet], run: PinsCommand.run),
        CommandEntry(
            name: "gc", operands: "", operandCount: 0...0,
            summary: "remove what nothing refers to, and what is beyond a size",
            examples: [
                "larder gc", "larder gc --max-size 2G", "larder gc --max-size 2G --dry-run",
                "larder gc --keep-last 3", "larder gc --compress",
            ],
            options: [
                .store, .maxSize, .allowIncomplete, .keepLast, .compress.in(.general), .dryRun, .json, .quiet,
                .progress,
            ],
            notes: [
                """
                For --max-size, these go until the larder fits: temporary files, room that nothing uses, snapshots that are
                not served (the oldest first), and pages that larder serve loaded. Pages of the served snapshots go only
                with --allow-incomplete, those first that were not served for the longest time; the next prefetch of their
                site fetches them again. Pinned pages stay. k, M, G and T are powers of 1000, kiB, MiB, GiB and TiB powers of 1024. Exit status 1 says
                that the larder is still larger than that. --dry-run lists by name what would go, and takes nothing; it
                needs room for a copy of the database in $TMPDIR. --compress makes small what was kept as it came; what
                comes afterwards is made small by whoever is told so, best by larder.json: see larder help config.
                """
            ], run: GCCommand.run),
        CommandEntry(
            name: "fsck", operands: "", operandCount: 0...0,
            summary: "check that the larder is undamaged, and repair it",
            examples: ["larder fsck", "larder fsck --repair"],
            options: [.store, .repair, .json, .quiet, .progress],
            notes: [
                """
                Compares bodies with their digests, link tables and pages of the database with their checksums, and the
                database with the journal. Exit status 1 says that something is damaged. --repair takes damaged bodies out of service (the next prefetch
                fetches them again), and rebuilds link tables, the journal and, if necessary, the database.
                """
            ], run: FsckCommand.run),
        CommandEntry(
            name: "index", operands: "[SITE]", operandCount: 0...1,
            summary: "make what is held to be found by larder search",
            examples: ["larder index", "larder index https://example.com/"],
            options: [.store, .json, .quiet, .progress],
            notes: [
                """
                Only what was not read yet is read. Ctrl-C stops it, and the next one goes on behind that. The index is a file
                of its own, search.db; when that is deleted or damaged, larder index makes it anew.
                """
            ], run: IndexCommand.run),
        CommandEntry(
            name: "check", operands: "MANIFEST|SITE", operandCount: 1...1,
            summary: "compare bundles with digests, or prove that a site is held",
            examples: [
                "larder check manifests/demo.json --base http://localhost:3000/",
                "larder check site.json --base https://example.com/ --dir dist --held",
                "larder check site.json --report junit=junit.xml --report sarif=larder.sarif",
                "larder check --offline https://example.com/",
            ],
            options: [
                .live, .held, .folder, .base, .format, .release, .evidence, .offline, .quick, .renderOffline,
                .renderPages, .browser.in(.general), .report,
                .failOn, .strong, .store,
                .json, .quiet, .progress,
            ],
            notes: [
                """
                A manifest is a file or a URL. Its bundles are fetched, unless --held or --dir says where else to look; with
                several places or bases they stand side by side. Optional bundles never fail. The integrity attributes of
                an HTML page are a manifest too.
                """,
                """
                What does not match is fetched once more: a server that answers two things has two releases, which is a skew.
                Weak evidence fails and proves nothing; it is told with what is not verified, and in the JSON.
                """,
                """
                With --offline every page of the site is gone through by the links that are kept: what they need has to be
                held, and its bytes have to be those that came. Links that the site itself has dead are told as gone,
                pages that a limit, a trap or robots.txt kept out as left-out: neither fails unless --fail-on says so.
                """,
                """
                With --held, the bytes are read: what changed on the disk since it was fetched is missing, and the next run
                fetches it. With --quick, digests that were computed before are believed.
                """,
                "Forms of manifest: \(CheckOptions.formats.joined(separator: ", ")).",
                "Verdicts: \(CheckReport.Verdict.allCases.map(\.rawValue).joined(separator: ", ")).",
            ], run: CheckCommand.run),
        CommandEntry(
            name: "manifest", operands: "URL|DIR|SITE", operandCount: 1...1,
            summary: "write down what a site or a build consists of, for check",
            examples: [
                "larder manifest dist > manifest.json", "larder manifest https://example.com/ --type js",
            ],
            options: [.fetched, .type, .output, .store, .quiet],
            notes: [
                """
                A folder gives its files by their paths; a site that is held what is shown of it; any other URL is fetched
                with its site. Exit status 1 says that something is not in it, which is named.
                """
            ],
            run: ManifestCommand.run),
        CommandEntry(
            name: "export", operands: "SITE|URL FILE|DIR/", operandCount: 2...2,
            summary: "write a site or a page: WARC, HAR, ZIM, files, HTML, MHTML, PDF",
            examples: [
                "larder export https://example.com/ example.wacz",
                "larder export https://example.com/ example.warc.gz --visit 3 --verify",
                "larder export https://example.com/ docs.warc.gz --include '/docs/**' --split 1G",
                "larder export https://example.com/ stick/example/",
                "larder export https://example.com/ example.zim",
                "larder export https://example.com/docs/a.html a.html",
                "larder export https://example.com/docs/a.html a.pdf",
            ],
            options: Option.export,
            notes: [
                """
                The forms, and what each of them holds, are in larder help archives. A URL stands for that page with what it
                needs, in any form. The same visit gives the same file, byte for byte, where no browser and no other program
                makes it. Until a file is whole it does not have its name. Exit status 1 says that something is damaged or too
                large, and left out, or that what was read back is not what is held.
                """
            ], run: ExportCommand.run),
        CommandEntry(
            name: "import", operands: "FILE|DIR...", operandCount: 1...10_000,
            summary: "take archives and folders in as a visit of a site",
            examples: [
                "larder import crawl.warc.gz", "larder import saved.har --site https://example.com/",
                "larder import crawl-00000.warc.gz crawl-00001.warc.gz", "larder import mirror/",
                "larder import build/ --url https://example.com/docs/",
            ],
            options: Option.importing,
            notes: [
                """
                Responses keep their dates, and are scanned for links as if they had just come. Those of one address are one:
                the newest. Kept is what a prefetch keeps: what succeeded, redirects, and what is gone (404, 410); of what
                larder itself exported, everything.
                """,
                """
                What is damaged, cut short or not what its digests say is refused and told, record by record; the records
                beside it are taken. Exit status 1 says that something was refused.
                """,
                """
                An imported response is shown for a URL only if no prefetch, server or proxy has stored one. It never counts as
                fresh, and is never validated against the live server.
                """,
                """
                An archive that begins at a stored site is refused unless that site consists of imports of the same files. To
                import it as a snapshot of that site, name the site with --site.
                """,
            ], run: ImportCommand.run),
        CommandEntry(
            name: "config", operands: "[COMMAND]", operandCount: 0...1,
            summary: "show which options are set, and by whom",
            examples: ["larder config", "larder config prefetch", "larder config --json"],
            options: [.json, .quiet],
            notes: [
                """
                The command line counts most, then the environment, then larder.json in the current folder, then
                config.json in ~/.config/larder ($XDG_CONFIG_HOME/larder where that is set; $LARDER_CONFIG names another),
                then what the help tells as default.
                """,
                """
                Files name options without their dashes, for all commands or in a section for one:
                {"per-host": 8, "prefetch": {"exclude": ["*.pdf"]}, "serve": {"port": 9000}}. A flag is true or false, and
                --flag=false on the command line takes it back. What a list says is replaced by who counts more, not added to.
                """,
            ], run: ConfigCommand.run),
        CommandEntry(
            name: "store", operands: "copy FROM TO|status|migrate", operandCount: 1...3,
            summary: "copy a larder, look how it is kept, bring it up to date",
            examples: [
                "larder store copy ~/.local/share/larder 'postgres://ann@db.example.com/larder'",
                "larder store copy postgres://ann@db.example.com/larder backup/ --verify",
                "larder store status --store postgres://ann@db.example.com/larder",
                "larder store migrate --store postgres://ann@db.example.com/larder",
            ],
            options: [.store, .readBack, .compress.in(.general), .json, .quiet, .progress],
            notes: [
                """
                A copy goes to where there is no larder yet. Each body is held against its digest before it goes, and with
                --verify once more where it went; what is damaged is left out and told (exit status 1). It may be stopped or
                killed at any moment: the same command goes on with it, and until it has ended nobody sees anything there.
                """,
                """
                Sites, visits, responses, links, bodies, pins, settings and what servers noted go along, with their numbers.
                Logins, the proxy's authority, the portal's password and the index of words are of the machine, and stay.
                """,
                """
                migrate is for a larder in a PostgreSQL that an earlier larder made, and holds nobody up; a folder is brought
                up to date by whatever opens it. Exit status 1 of status says that it is not up to date, or not whole.
                """,
            ], run: StoreCommand.run),
        CommandEntry(
            name: "sites", operands: "", operandCount: 0...0,
            summary: "print the names of the sites that are held",
            examples: ["larder sites", "larder sites --json"],
            options: [.store, .json, .quiet], run: SitesCommand.run),
        CommandEntry(
            name: "remove", operands: "SITE|URL|PATTERN", operandCount: 1...1,
            summary: "remove a site with all its visits, or URLs out of all visits",
            examples: [
                "larder remove https://example.com/", "larder remove https://example.com/old/video.mp4",
                "larder remove 'https://example.com/old/**'",
            ],
            options: [.store, .quiet], notes: ["The room comes back with larder gc."], run: RemoveCommand.run),
        CommandEntry(
            name: "open", operands: "[SITE|URL]", operandCount: 0...1,
            summary: "show a site in the browser; starts the server if none runs",
            examples: [
                "larder open", "larder open example.com", "larder open https://example.com/docs/",
                "larder open --stop",
            ],
            options: [.store, .port, .stop, .quiet],
            notes: [
                """
                The server that it starts goes on in the background, and the command ends at once. $BROWSER names the
                browser, where the desktop's own is not wanted.
                """
            ], run: OpenCommand.run),
        CommandEntry(
            name: "schedule", operands: "[SITE...] [EVERY]", operandCount: 0...1000,
            summary: "say how often sites are updated by themselves, and what is due",
            examples: [
                "larder schedule example.com daily", "larder schedule example.com every 6h",
                "larder schedule example.com off", "larder schedule", "larder schedule example.com --hour 6",
            ],
            options: [.store, .hour, .json, .quiet],
            notes: [
                """
                EVERY is hourly, daily, weekly, a time such as 6h or 3d, or off; it stays with the site. What is due is
                updated by larder update --due, and by larder serve --scheduled. The times vary a little, so that not
                everybody asks at once; what failed is tried again after ten minutes, then twice as late each time, and what
                was due while the machine slept is done once.
                """,
                """
                Without EVERY it prints a timer of systemd and a line of cron: for larder update --due every hour where any
                site has a schedule, else for larder update once a day.
                """,
            ], run: ScheduleCommand.run),
        CommandEntry(
            name: "completions", operands: "SHELL", operandCount: 1...1,
            summary: "print what bash, zsh or fish needs to complete larder's lines",
            examples: ["larder completions bash > ~/.local/share/bash-completion/completions/larder"],
            options: [], run: PagesCommand.completions),
        CommandEntry(
            name: "manual", operands: "[COMMAND]", operandCount: 0...1,
            summary: "print the manual page of larder or of a command",
            examples: ["larder manual prefetch > larder-prefetch.1"],
            options: [], run: PagesCommand.manual),
        CommandEntry(
            name: "demo", operands: "", operandCount: 0...0,
            summary: "show the whole product on a small site of its own, offline",
            examples: ["larder demo", "larder demo --once", "larder demo --site-only --port 8090"],
            options: [.port.otherwise("0"), .once, .siteOnly, .quiet], run: DemoCommand.run),
        CommandEntry(
            name: "help", operands: "[COMMAND|rules|policies]", operandCount: 0...1,
            summary: "explain larder or one of its commands",
            examples: ["larder help prefetch", "larder help rules"], options: [], run: HelpCommand.run),
    ]

    /// What to say of a word that is none of them.
    static func unknown(_ name: String) -> String {
        let close = Spelling.closest(to: name, among: all.map(\.name))
        return "there is no command \"\(name)\""
            + (close.map { "; did you mean \($0)?" } ?? "; see: larder help")
    }

    static func named(_ name: String) -> CommandEntry? {
        all.first { $0.name == name }
    }
}

extension CommandEntry {
    /// What people want of commands, in the order in which they come to want it.
    enum Group: String, CaseIterable {
        case first = "What everyone needs"
        case stock = "Stock"
        case read = "Read what is held"
        case bundles = "Check bundles"
        case care = "Look after the larder"
        case archives = "Archives, in and out"
        case proxy = "Programs of all kinds, by a proxy"
        case machines = "Apps and machines"

        var members: [CommandEntry] { names.compactMap(CommandEntry.named) }

        private var names: [String] {
            switch self {
            case .first: ["prefetch", "preload", "update", "serve", "open", "status"]
            case .stock: ["work", "login", "logout", "password", "plan", "explain", "misses", "schedule"]
            case .read: ["search", "list", "show", "cat", "visits", "diff", "rollback", "sites"]
            case .bundles: ["check", "manifest"]
            case .care: ["pin", "unpin", "pins", "gc", "drop", "remove", "fsck", "index", "store"]
            case .archives: ["export", "import"]
            case .proxy: ["proxy", "record", "replay", "ca"]
            case .machines: ["config", "completions", "manual", "demo", "help"]
            }
        }
    }
}
