internal import LarderKit

extension CommandEntry {
    /// All commands, in the order of the groups of the help; commands without a group come last.
    static let all: [CommandEntry] = [
        // MARK: Get started
        CommandEntry(
            name: "prefetch", operands: "URL...|MANIFEST", operandCount: 1...1000,
            summary: "Download a site for offline use",
            examples: [
                "larder prefetch https://example.com/docs/",
                "larder prefetch https://example.com/docs/ --scope path --exclude '*.pdf'",
                "larder add https://example.com/article --page",
                "larder prefetch site.json",
            ],
            options: Option.prefetch, aliases: ["get", "add"],
            synonyms: ["download", "mirror", "fetch", "crawl", "clone"],
            mainOptions: [
                .onlyPage, .scope, .depth, .include, .exclude, .maxPages, .rate, .render, .cookies, .store,
            ],
            notes: [
                """
                Downloads the pages and everything they need: scripts, images, style sheets and fonts from any host. The
                result is a snapshot. It goes live when the run is complete; until then the previous snapshot is served.
                """,
                """
                Press Ctrl-C once to stop; the same command continues later. Press it twice to stop at once. Everything
                downloaded so far is kept in both cases.
                """,
                """
                Patterns of --include and --exclude: /docs/** is compared with the path, example.com/docs/** with host and path,
                *.pdf or ads.example.com with the name of the file or the host. regex:[0-9]{4}$ is an extended regular expression
                that matches anywhere in the URL. * matches anything but a slash, ** anything.
                """,
                """
                --allow-shrink also replaces stored pages by whatever the server sends. --render-script '/shop/**=open.js' runs a
                script only in matching pages. In --media-command, %u is the URL, and %o a folder for its files. --strict also
                counts files that the site itself lacks (404), expired manifests, and an earlier set of bundles that stays live.
                """,
                "Set options that you always use in .larder.json: see larder help config.",
            ], run: PrefetchCommand.run),
        CommandEntry(
            name: "update", operands: "[SITE...]", operandCount: 0...1000,
            summary: "Download what has changed on stored sites",
            examples: [
                "larder update", "larder update example.com", "larder update --due",
                "larder update example.com --trust new-release.pub",
            ],
            options: Option.update, synonyms: ["sync", "refresh", "upgrade", "pull"],
            mainOptions: [
                .due, .fetchPolicy, .maxPages, .rate, .render, .cookies, .strict, .store, .quiet, .json,
            ],
            notes: [
                """
                Uses the options that the site was prefetched with. Unchanged responses cost one request without a body. An
                update never destroys a good copy: if a request fails, the stored response stays.
                """,
                """
                --trust is for a publisher who has changed the key that signs the manifest. The new keys replace those of the
                named sites when a manifest is accepted; larder status shows them.
                """,
            ], run: UpdateCommand.run),
        CommandEntry(
            name: "serve", operands: "", operandCount: 0...0,
            summary: "Serve the stored sites at http://localhost:8080/, offline",
            examples: [
                "larder serve", "larder serve --port 9000",
                "larder serve --at-root https://example.com/ --listen '*'",
                "larder serve --preload https://example.com/bundles.json --every 10m",
            ],
            options: Option.serve, synonyms: ["start", "server"],
            mainOptions: [
                .port, .policy, .atRoot, .listen, .tls, .noBar, .noSchedule, .openBrowser, .memory, .store,
            ],
            notes: [
                """
                The portal at the server's own address lists the sites and runs prefetches, updates, checks, exports and other
                jobs. With --read-only, nothing can be changed. Sites can be added there even if nothing is stored yet.
                """,
                """
                --listen needs --at-root, or the password that larder password sets. --show-private lets other machines see
                responses that were fetched with your credentials, and load more with them; outside the site at the root, only
                over --tls. --proxy-port with --listen needs --proxy-user.
                """,
                """
                If a server of this store already runs, the command says where, unless --port names another port. If port 8080
                is in use, the server takes the next free one.
                """,
                """
                Without --listen, the server refuses requests that were forwarded by a proxy (Via, Forwarded, X-Forwarded-*),
                because they come from other machines.
                """,
                """
                --tls own uses certificates that the store's authority signs for this machine's names and addresses. Clients
                that trust the certificate printed by larder ca --pem accept them. Other machines see the portal, or one site
                (--at-root): only names below localhost can keep several sites apart, and these belong to each machine itself.
                """,
                """
                Without --listen, pages that a browser opens have a bar with their date, other snapshots, a search and a link to
                the portal. Pages can neither read nor change it. "Turn off" in the bar and --no-bar hide it.
                """,
                """
                Responses loaded by a cache policy or a rule go into an overlay on top of the live snapshot, which stays
                unchanged. larder snapshots lists overlays, and larder rollback removes them.
                """,
                """
                To look at an earlier snapshot, put its number or date before the URL:
                http://localhost:8080/@3/https://example.com/ or http://localhost:8080/@2026-11-20/https://example.com/
                """,
                """
                --memory limits the whole process. The server needs about 35 MiB; the rest, but at least an eighth of SIZE,
                caches responses. Pages of the search index in the kernel's cache do not count.
                """,
                """
                On a full or read-only disk, everything stored is served, whatever the policy. What cannot be recorded is
                reported once.
                """,
                """
                --preload fetches the changed bundles of a manifest as larder preload does: at start, at SIGHUP, and as often as
                --every says. SIGHUP also reopens the store. SIGTERM and Ctrl-C finish open requests, for up to 5 seconds,
                and end the server.
                """,
                """
                Bundles of a manifest are served byte for byte, with their digests and Larder-Bundle: verified. A bundle that
                does not match its digest is never served.
                """,
            ], run: ServeCommand.run),
        CommandEntry(
            name: "open", operands: "[SITE|URL|SITE@N|URL@N]", operandCount: 0...1,
            summary: "Open a stored site in the browser; starts the server if needed",
            examples: [
                "larder open", "larder open example.com", "larder open example.com@3",
                "larder open https://example.com/docs/", "larder open --stop",
            ],
            options: [.store, .port, .stop, .noSchedule, .quiet], synonyms: ["browse", "view", "read"],
            notes: [
                """
                The server keeps running in the background after the command ends; larder open --stop stops it. $BROWSER
                names another browser than the desktop's.
                """,
                """
                SITE@N and URL@N open an earlier snapshot. N is its number, or a date such as 2026-11-29 or yesterday: then it
                is the last snapshot that had begun by the end of that day. @latest is the live one.
                """,
                """
                Without --port, uses the running server of the store, or starts one on port 8080, or on the next free port.
                """,
            ], run: OpenCommand.run),
        CommandEntry(
            name: "status", operands: "", operandCount: 0...0,
            summary: "Show the stored sites, their age and size",
            examples: ["larder status", "larder status --json"],
            options: [.store, .json, .quiet], synonyms: ["stats", "stat"], run: StatusCommand.run),
        // MARK: Look inside
        CommandEntry(
            name: "search", operands: "WORDS...", operandCount: 1...1000,
            summary: "Search the text of stored pages",
            examples: [
                "larder search ordered dictionary", "larder search std::collections::HashMap insert",
                "larder search '\"exit status\"' title:subprocess -windows --site docs.python.org",
            ],
            options: Option.search, aliases: ["find"], synonyms: ["grep"], acceptsDashedOperands: true,
            notes: [
                """
                Finds pages with all words, in any case and with or without accents. If few pages have them all, pages with some
                of the words are shown too, with a remark. "several words" is a phrase, -word excludes, title:word, url:word and
                heading:word search only there, word* matches beginnings, a OR b matches either, a NEAR b matches words close
                to each other.
                """,
                """
                Prefetch, update and import add their pages to the index before they end. If they are stopped before that, the
                next search does it. Pages loaded by a server or proxy are added by larder index. Exit status 1 means that
                nothing was found.
                """,
                """
                The index contains the visible text of a page, its title, its description and the alternative text of images,
                and for rendered pages the text that scripts wrote. It does not contain <noscript> or hidden parts.
                """,
            ], run: SearchCommand.run),
        CommandEntry(
            name: "list", operands: "[SITE|SITE@N]", operandCount: 0...1,
            summary: "List stored URLs with status, media type and size",
            examples: [
                "larder list", "larder list https://example.com/ --type image", "larder list --status 404",
                "larder list --sites",
            ],
            options: [.store, .sites, .type, .status, .json, .quiet], aliases: ["ls"],
            notes: ["Short names of media types: \(TypeFilter.names.joined(separator: ", "))."],
            run: ListCommand.run),
        CommandEntry(
            name: "show", operands: "URL", operandCount: 1...1,
            summary: "Show everything known about a URL: snapshots, headers, links",
            examples: [
                "larder show https://example.com/a.html", "larder show https://example.com/a.html --links",
            ],
            options: [.store, .links, .json, .quiet], aliases: ["info"], synonyms: ["inspect"],
            notes: ["If the URL is not stored, shows similar URLs that are, and exits with 1."],
            run: ShowCommand.run),
        CommandEntry(
            name: "cat", operands: "URL", operandCount: 1...1,
            summary: "Print a stored body, byte for byte",
            examples: [
                "larder cat https://example.com/logo.png > logo.png",
                "larder cat https://example.com/ --snapshot 3", "larder cat https://example.com/@yesterday",
            ],
            options: [.store, .snapshot], run: CatCommand.run),
        CommandEntry(
            name: "misses", operands: "", operandCount: 0...0,
            summary: "List URLs that were requested from the server but not stored",
            examples: ["larder misses", "larder misses --json", "larder misses --clear"],
            options: [.store, .clear, .json, .quiet],
            notes: [
                """
                The next prefetch or update of their site fetches them, and then they leave the list. A running server
                adds to the list every few seconds.
                """
            ], run: MissesCommand.run),
        // MARK: Snapshots
        CommandEntry(
            name: "snapshots", operands: "[SITE]", operandCount: 0...1,
            summary: "List the snapshots of sites, and which is live",
            examples: ["larder snapshots", "larder snapshots https://example.com/"],
            options: [.store, .json, .quiet], aliases: ["history"], hiddenAliases: ["visits"],
            synonyms: ["log", "versions"],
            notes: [
                """
                Each prefetch or update makes a snapshot; they are numbered per site, from 1. 3+ is the
                overlay on snapshot 3: the responses that a server or proxy loaded on top of it. A rejected snapshot did not go
                live, for example because a login page came in place of the site.
                """,
                """
                Responses are pages, assets, redirects, errors, and the copies of rendered pages. larder list also has the URLs
                that only earlier snapshots have, because they are still served.
                """,
            ], run: SnapshotsCommand.run),
        CommandEntry(
            name: "diff", operands: "SITE|PAGE [A] [B]|OLD NEW", operandCount: 1...3,
            summary: "Show what changed between two snapshots, or write an update file",
            examples: [
                "larder diff https://example.com/", "larder diff https://example.com/ 3 5 --json",
                "larder diff https://example.com/news.html yesterday latest",
                "larder diff https://example.com/ --pictures",
                "larder diff dist-1.0/ dist-1.1/ --patch update.tar --base https://app.example/ --from-release 1.0 --release 1.1 --sign larder.key",
            ],
            options: [
                .store, .pageText, .pictures, .updateFile, .updateSigningKey, .passphraseFile, .updateBase,
                .updateVersion, .updateFromVersion, .replaceFile, .json, .quiet, .progress,
            ], synonyms: ["compare", "changes"],
            notes: [
                """
                Without A and B, compares the live snapshot with the one before it. A and B are numbers, or dates such as
                yesterday. For a site, lists the URLs that differ; for a stored page, prints the lines of its text that differ,
                each with a few equal ones. The portal of larder serve also shows the screenshots of two snapshots side by side.
                """,
                """
                With --patch, writes the changes to a file for machines without a network, which apply it with larder preload:
                between two snapshots, or between the folders OLD and NEW of two builds. An empty OLD gives a file with the
                whole release. Each changed file is stored as its difference from the most similar earlier one, also if its
                name has another hash. The machine refuses the file as a whole if anything in it does not verify.
                """,
            ], run: DiffCommand.run),
        CommandEntry(
            name: "rollback", operands: "SITE|SITE@N", operandCount: 1...2,
            summary: "Make another snapshot live, usually the one before",
            examples: ["larder rollback https://example.com/", "larder rollback example.com@3"],
            options: [.store, .json, .quiet], synonyms: ["revert"],
            notes: [
                """
                SITE@N makes snapshot N live. Without it, goes back to the one before the live snapshot; if the live snapshot
                has an overlay, removes only the overlay. The next update makes a new snapshot as usual; to stay with this one,
                end scheduled updates with larder schedule SITE off.
                """
            ], run: RollbackCommand.run),
        CommandEntry(
            name: "remove", operands: "SITE|SITE@N|URL|PATTERN", operandCount: 1...1000,
            summary: "Remove a site, a snapshot, or URLs",
            examples: [
                "larder remove https://example.com/", "larder remove example.com@3",
                "larder remove https://example.com/old/video.mp4",
                "larder remove 'https://example.com/old/**'",
            ],
            options: [.store, .yes, .quiet], aliases: ["rm"], synonyms: ["delete", "purge"],
            notes: [
                """
                On a terminal, the command asks first. SITE@N removes one snapshot; later snapshots keep the responses that they
                share with it. The live snapshot cannot be removed this way. A URL or pattern is removed from all snapshots.
                larder undo reverses the last removal. larder gc frees the disk space and makes removals final.
                """
            ], run: RemoveCommand.run),
        CommandEntry(
            name: "undo", operands: "", operandCount: 0...0,
            summary: "Reverse the last removal",
            examples: ["larder undo"], options: [.store, .json, .quiet], synonyms: ["restore", "unremove"],
            notes: [
                """
                Restores what larder remove or the portal removed last. This is possible until the next removal or larder gc, which
                frees the space. Exit status 1: nothing can be undone. 2: a removed site was prefetched again.
                """
            ], run: UndoCommand.run),
        // MARK: Bundles and CI
        CommandEntry(
            name: "check", operands: "[MANIFEST|SITE|URL|FILE...]", operandCount: 0...10_000,
            summary: "Check bundles, links, or that a stored site is complete",
            examples: [
                "larder check --links --dir dist",
                "larder check --links README.md docs/guide.md",
                "larder check https://example.com/",
                "larder check manifest.json --base http://localhost:3000/",
                "larder check site.json --base https://example.com/ --dir dist --stored",
                "larder check site.json --report junit=junit.xml --report sarif=larder.sarif",
            ],
            options: [
                .offline, .stored, .live, .folder, .base, .format, .release, .evidence, .quick,
                .requireLevel, .renderOffline, .renderPages, .browser.inGroup(.general), .report, .failOn,
                .trust, .allowRollback, .strong, .strict,
                .target, .checkLinks, .store, .json,
                .quiet,
                .progress,
            ] + Option.linkOptions + Option.networkOptions + [.header, .cookies],
            aliases: ["verify"], synonyms: ["test", "validate", "lint"],
            mainOptions: [
                .offline, .stored, .live, .folder, .base, .checkLinks, .requireLevel, .report, .failOn,
                .trust, .strong,
            ],
            notes: [
                """
                A manifest (a file, or a URL that is not a stored site) is compared with its server, or with the places named
                by --stored, --dir and --live. A stored site is checked offline, as with --offline. Without an argument, checks
                what "check": {"target": …} in .larder.json names, else all stored sites.
                """,
                """
                The URL of a stored site means its stored copy, and nothing is requested; with --live, it means the live page.
                The URL of a manifest always means its server.
                """,
                """
                Several places or bases are shown side by side. Optional bundles never fail. The integrity attributes of an
                HTML page are a manifest too. --dir reads the files that the manifest lists; other files in the folder are
                not reported.
                """,
                """
                With --trust, or if a site has stored keys for the manifest, a manifest without their signature is a mismatch.
                With --stored alone, the manifest of the live snapshot is read, and its signature verified again.
                """,
                """
                An update file (larder diff --patch) is itself verified: its structure, its digests, and its signature if a
                key is known.
                """,
                """
                A bundle that does not match is fetched again. If the server then sends something else, two releases are mixed:
                the verdict is skew. Weak evidence can only fail a check; it is reported beside bundles that are not verified.
                """,
                """
                --offline follows all stored links from the start pages: everything that a page is known to need must be stored
                with unchanged bytes. URLs that do not exist on the live site are reported as broken, and those excluded by a limit,
                a trap or robots.txt as not-fetched; neither fails unless --fail-on says so.
                """,
                """
                Reading cannot tell what scripts request. If a browser is found, pages with scripts are therefore opened in it,
                from the store alone, some of each kind (pages of one host with the same scripts), and their controls are used as
                by prefetch. A request that is not stored is missing. A page of which less than nine tenths of the words
                agree with what it showed when it was prefetched is a mismatch. The report names the kinds that could not be
                compared; they fail with --require rehearsed. --quick and --require read open no pages.
                """,
                """
                --stored reads the bytes: a body that changed on disk counts as missing, and the next run fetches it. --quick
                trusts digests that were computed before.
                """,
                """
                --links checks all links of a stored site, of a URL (which is fetched into a temporary store), of the folders of
                --dir, or of HTML, Markdown, CSS and sitemap files: pages, assets, fragments and redirects. The file - is standard
                input. Each link to another site is requested once, at most two requests at a time, with HEAD where servers answer it;
                the results are kept in the store, if there is one, or in the file of --cache. Results of requests with headers
                or certificates are not kept. With --base, links to URLs below it mean files of the folder.
                """,
                """
                A link is dead only if its target does not exist: 404, 410, no such file, host or server. Logins, rate limits,
                robots.txt and protection against bots are reported as blocked, and errors of servers as failed: the check could
                not tell. Only dead and fragment-missing fail, unless --fail-on says otherwise.
                """,
                """
                Lines of .larderignore have the form: PATTERN [in DOCUMENTS] [until 2027-01-31] [# reason]. In these patterns and
                those of --ignore, an asterisk stands for any characters. Links in tags with the attribute data-larder-ignore are
                not checked. A baseline lists the links that are broken now, so that only new ones fail.
                """,
                """
                "check": {"target": …, "links": true} in .larder.json lets larder check without arguments check both the target
                and the links of the folders in "dir", or of the stored sites if there is none.
                """,
                "Manifest formats: \(CheckOptions.formats.joined(separator: ", ")).",
                "Verdicts: \(CheckReport.Verdict.allCases.map(\.rawValue).joined(separator: ", ")).",
                "Verdicts on links: \(LinkCheckReport.Verdict.allCases.map(\.rawValue).joined(separator: ", ")).",
            ], run: CheckCommand.run),
        CommandEntry(
            name: "preload", operands: "MANIFEST|URL|UPDATE...", operandCount: 1...1000,
            summary: "Fetch the bundles of a manifest that have changed",
            examples: [
                "larder preload https://example.com/weex/config",
                "larder preload manifest.json --base https://example.com/",
                "larder preload https://example.com/md5sums.txt --strict",
                "larder preload /media/usb/update.tar",
            ],
            options: Option.preload,
            mainOptions: [
                .base, .format, .assets, .strict, .trust, .strong, .rehashStored, .header, .store, .quiet,
                .json,
            ],
            notes: [
                """
                A bundle that is stored with the digest in the manifest is not requested. All required bundles change together:
                they go live when each of them verifies, and until then the last good set is served. If the network is down,
                the exit status is 0 and the report says how old the set is.
                """,
                """
                Digests of stored bundles are remembered, so that ten thousand bundles take a tenth of a second; --verify reads
                the bytes. A bundle that the server finds damaged is fetched by the next preload.
                """,
                """
                With --trust, the manifest must be signed by the key (minisign): in the manifest, or in MANIFEST.minisig beside it.
                The keys stay with the site, so that later runs, larder update and the server require them too; naming others
                replaces them. A refused manifest changes nothing.
                """,
                """
                Exit status 1: the manifest is refused, or a bundle, or a file of a TUF repository under the plain name of a
                target, did not verify or is gone. 3: nothing could be fetched, and no good set is stored. The manifest stays
                with its site, and larder update enforces it.
                """,
                """
                UPDATE is an update file of larder diff --patch: it has the manifest and the changed bundles, and nothing is
                fetched. It needs the bundles of the release that it was made from, and is refused as a whole if they differ.
                """,
                "Manifest formats: \(CheckOptions.formats.joined(separator: ", ")).",
            ], run: PreloadCommand.run),
        CommandEntry(
            name: "manifest", operands: "URL|DIR|SITE", operandCount: 1...1,
            summary: "Write a manifest of a build or site, for larder check",
            examples: [
                "larder manifest dist > manifest.json", "larder manifest https://example.com/ --type js",
                "larder manifest dist --output manifest.json --sign larder.key",
                "larder manifest dist --created --expires 30d --output manifest.json",
                "larder manifest dist --format waict > waict-manifest.json",
                """
                larder manifest www --format cordova --output www/chcp.manifest --release 1.2 --base https://example.com/www
                """,
            ],
            options: [
                .fetched, .type, .writtenFormat, .releaseVersion, .created, .expires, .filesBase, .output,
                .signingKey,
                .signatureForm, .passphraseFile, .store, .json, .quiet,
            ],
            notes: [
                """
                For a folder, lists its files, except hidden ones (.name); for a stored site, its live URLs; any other URL is
                fetched with its site. Exit status 1: something could not be included; it is named.
                """,
                """
                The format larder contains MD5, SHA-256 and sizes; waict (the Integrity-Policy-WAICT-v1 header of browsers)
                SHA-256; cordova (chcp.manifest) MD5. With --release and --base, chcp.json is written beside chcp.manifest. It
                contains the digest of chcp.manifest, so that the two belong together.
                """,
                """
                --sign signs the manifest in the format of minisign, and names the key in it. With --output FILE, the signature
                is in FILE.minisig, and that of chcp.json in chcp.json.minisig; --signature inside puts it into the manifest, as
                does a manifest on standard output. --json needs --output, and reports the files and the signer.
                """,
                """
                For reproducible builds, $SOURCE_DATE_EPOCH is the time of --created and of the signature, from which --expires
                counts.
                """,
            ], run: ManifestCommand.run),
        CommandEntry(
            name: "key", operands: "new|show FILE", operandCount: 1...2,
            summary: "Make or show a key that signs manifests",
            examples: [
                "larder key new", "larder key new --out release.key --no-passphrase",
                "larder key show larder.pub",
            ],
            options: [.keyFile, .noPassphrase, .passphraseFile, .replaceFile, .json, .quiet],
            synonyms: ["keygen"],
            notes: [
                """
                new writes the secret key to FILE, which only you can read, and the public key beside it (larder.key and
                larder.pub). show prints the public key of either file, and its fingerprint. Minisign reads and writes the same
                files.
                """,
                """
                The passphrase is read from the terminal, --passphrase-file or $LARDER_KEY_PASSPHRASE. Deriving the
                key from it takes 256 MiB of memory for keys of larder, and 1 GiB for those of minisign.
                """,
                """
                --trust of other commands accepts a public key (RW… or a .pub file), first-use (the key that the manifest names),
                none, a certificate (.pem) that signs updates of Expo, or the trusted root.json of a TUF repository. update
                --trust replaces the keys that are stored with the named sites.
                """,
            ], run: KeyCommand.run),
        TUFCommand.entry,
        PublishCommand.entry,
        // MARK: Archives
        CommandEntry(
            name: "export", operands: "SITE|SITE@N|URL FILE|DIR/", operandCount: 2...2,
            summary: "Export a site or page: WARC, WACZ, HAR, ZIM, files, HTML, PDF",
            examples: [
                "larder export https://example.com/ example.wacz",
                "larder export https://example.com/ example.warc.gz --snapshot 3 --verify",
                "larder export example.com docs.warc.gz --include '/docs/**' --split 1G",
                "larder export https://example.com/ stick/example/",
                "larder export https://example.com/ example --self-serving",
                "larder export https://example.com/ example.zim",
                "larder export https://example.com/docs/a.html a.html",
                "larder export https://example.com/docs/a.html a.pdf",
            ],
            options: Option.export, synonyms: ["save"],
            mainOptions: [
                .archiveFormat, .selfServing, .replaceFile, .snapshot, .includeExported, .excludeExported,
                .withPrivate,
                .split,
                .verifyCopy,
                .store, .json,
            ],
            notes: [
                """
                The formats are described in larder help archives. A URL exports that page with everything it needs. The same
                snapshot gives the same file, byte for byte, unless a browser or another program writes it. An incomplete file
                never has the final name. Exit status 1: something damaged or too large was left out, or reading back found a
                difference.
                """
            ], run: ExportCommand.run),
        CommandEntry(
            name: "import", operands: "FILE|DIR...", operandCount: 1...10_000,
            summary: "Import archives or folders as a snapshot of a site",
            examples: [
                "larder import crawl.warc.gz", "larder import saved.har --site https://example.com/",
                "larder import crawl-00000.warc.gz crawl-00001.warc.gz", "larder import mirror/",
                "larder import build/ --url https://example.com/docs/",
            ],
            options: Option.archiveImport,
            notes: [
                """
                Responses keep their dates and are scanned for links. Of several responses for a URL, the newest is stored.
                Successful responses, redirects and 404 or 410 are stored; from Larder's own exports, everything.
                """,
                """
                Damaged or truncated records, and those that do not match their digests, are skipped and reported one by one;
                the others are imported. Exit status 1: something was skipped.
                """,
                """
                An imported response is served only if no prefetch, server or proxy has stored one for the URL. It never counts
                as fresh, and is never validated against the live server.
                """,
                """
                An archive that begins at a stored site is refused unless that site consists of imports of the same files. To
                import it as a snapshot of that site, name the site with --site; to keep it apart, name a new site.
                """,
                """
                An update file of larder diff --patch is applied as by larder preload, with --trust and --allow-rollback.
                """,
            ], run: ImportCommand.run),
        // MARK: Proxy
        CommandEntry(
            name: "record", operands: "COMMAND...", operandCount: 1...10_000,
            summary: "Run a command and store all its network responses",
            examples: [
                "larder record npm ci", "larder record --into build pip install -r requirements.txt",
                "larder record curl -sS https://example.com/",
            ],
            options: Option.record, runsOtherProgram: true,
            notes: [
                """
                The command runs with a proxy of its own, set through its environment: http_proxy, https_proxy, all_proxy, and
                the certificate variables of curl, git, pip, requests, Node, Cargo, wget, apt and OpenSSL. All responses are
                stored, including those to POST and those marked no-store, except responses to HEAD and partial responses
                (Range) of which the rest is missing. The exit status is that of the command.
                """
            ], run: RecordCommand.record),
        CommandEntry(
            name: "replay", operands: "COMMAND...", operandCount: 1...10_000,
            summary: "Run a command again with the recorded responses, offline",
            examples: [
                "larder replay npm ci", "larder replay git clone https://example.com/project.git",
            ],
            options: Option.replay, runsOtherProgram: true,
            notes: [
                """
                No request reaches the network. A request that is not stored gets a 504 and is listed when the command has
                ended. The exit status is that of the command.
                """
            ], run: RecordCommand.replay),
        CommandEntry(
            name: "proxy", operands: "", operandCount: 0...0,
            summary: "Run a caching, recording proxy for any program",
            examples: [
                "larder proxy", "larder proxy --policy offline",
                "larder proxy --into ci --policy prefer-cache",
                "larder proxy --listen 192.0.2.1 --proxy-user build:secret",
            ],
            options: Option.proxyCommand,
            notes: [
                """
                Set http_proxy and https_proxy to use it. For https, programs must trust the store's authority: see larder ca.
                Bodies pass unchanged under their own URLs, with the headers of the server or as RFC 9111 changes them.
                Policies, rules, digests and snapshots work as in larder serve.
                """,
                """
                --listen needs --proxy-user. Clients on other machines can then reach the public network, the private network only
                if they are in it or with --allow-private, and never this machine itself. They never get responses that were
                fetched with your credentials.
                """,
                """
                A request that the policy cannot answer gets a 504 with Larder: miss. The proxy's own address shows live
                traffic. Cookies pass through and are not stored.
                """,
            ], run: ProxyCommand.run),
        // MARK: Maintenance
        CommandEntry(
            name: "schedule", operands: "[SITE...] [EVERY]", operandCount: 0...1000,
            summary: "Set how often sites are updated, and list the schedules",
            examples: [
                "larder schedule example.com daily", "larder schedule example.com every 6h",
                "larder schedule example.com off", "larder schedule", "larder schedule --install",
                "larder schedule example.com --print-timer --hour 6",
            ],
            options: [.store, .install, .printTimer, .hour, .json, .quiet],
            notes: [
                """
                EVERY is hourly, daily, weekly, a time such as 6h or 3d, or off. larder serve, larder open and larder update
                --due update sites that are due; several at a time do not update a site twice. Times vary a little, so that not
                all clients ask at once. A failed update is retried after ten minutes, and each further time after twice as
                long. Updates missed while the machine slept are done once.
                """,
                """
                Without EVERY, lists the schedules and what runs them. --install installs a systemd timer of the user that runs
                larder update --due every 15 minutes, also when no server runs. --print-timer prints it, with a cron line; if no
                site has a schedule, it is for larder update once a day.
                """,
            ], run: ScheduleCommand.run),
        CommandEntry(
            name: "gc", operands: "[SITE...]", operandCount: 0...1000,
            summary: "Free disk space: unused data, old snapshots, or down to a size",
            examples: [
                "larder gc", "larder gc --keep-last 3",
                "larder gc example.com --keep-daily 7 --keep-weekly 8",
                "larder gc --max-size 2G --dry-run",
                "larder gc --max-size 2G", "larder gc --compress",
            ],
            options: [
                .store, .keepLast, .keepDaily, .keepWeekly, .keepWithin, .maxSize, .allowIncomplete,
                .compress.inGroup(.general), .dryRun, .details, .json, .quiet, .progress,
            ],
            aliases: ["prune"], synonyms: ["clean", "cleanup"],
            notes: [
                """
                A snapshot stays if one of the --keep options keeps it; the live one always does. Days and weeks without a snapshot
                do not count. The options of larder prefetch and update with these names are stored with the site, and larder gc
                applies them if it has none itself. With SITE, snapshots of other sites stay.
                """,
                """
                --max-size removes, in this order and only until the store fits: temporary files, unused space, snapshots that
                are not live (oldest first, but the last one of each site stays at first), overlays, these last ones, and with
                --allow-incomplete live pages (least recently served first). The next update fetches those again. Pinned pages
                stay. Exit status 1: the store is still larger.
                """,
                """
                No snapshot is removed in vain: one that frees nothing stays, and if the store cannot become small enough, all
                of them stay. With larder prefetch, update and serve, only the last one of each site stays then.
                """,
                """
                --dry-run lists what would be removed; it needs space in $TMPDIR for copies of the databases. --compress
                compresses bodies that are already stored; to compress new ones too, set "compress" in .larder.json.
                Sizes: k, M, G, T are powers of 1000; KiB, MiB, GiB, TiB powers of 1024.
                """,
            ], run: GCCommand.run),
        CommandEntry(
            name: "pin", operands: "[URL|PATTERN|SITE]", operandCount: 0...1,
            summary: "Protect pages from removal by gc, or list the pins",
            examples: [
                "larder pin https://example.com/", "larder pin https://example.com/docs/a.html",
                "larder pin 'https://example.com/docs/**'", "larder pin '*.example.com'", "larder pin",
            ],
            options: [.store, .site, .url, .pattern, .json, .quiet], synonyms: ["protect"],
            notes: [
                """
                A pinned page keeps everything it needs. Without --site, --url or --pattern: an argument with a star is a
                pattern, the name of a stored site is that site with all pages and snapshots, anything else is a URL.
                """,
                """
                In patterns, * matches anything but a slash, ** anything, ? one character. A pattern with :// is compared with
                URLs, one that begins with a slash with paths ('/**.woff2'), one without a slash with hosts. Queries are
                compared only if the pattern has a question mark.
                """,
            ], run: PinCommand.pin),
        CommandEntry(
            name: "unpin", operands: "URL|PATTERN|SITE", operandCount: 1...1,
            summary: "Remove a pin",
            examples: ["larder unpin https://example.com/", "larder unpin 'https://example.com/docs/**'"],
            options: [.store, .site, .url, .pattern, .json, .quiet], run: PinCommand.unpin),
        CommandEntry(
            name: "fsck", operands: "", operandCount: 0...0,
            summary: "Check the store for damage, and repair it",
            examples: ["larder fsck", "larder fsck --repair"],
            options: [.store, .repair, .json, .quiet, .progress], synonyms: ["repair", "doctor"],
            notes: [
                """
                Compares bodies with their digests, link tables and database pages with their checksums, and the database with
                the journal. Exit status 1: something is damaged. --repair takes damaged bodies out of service (the next update
                fetches them again), and rebuilds link tables, the journal and, if necessary, the database.
                """
            ], run: FsckCommand.run),
        CommandEntry(
            name: "store", operands: "copy FROM TO|status|migrate", operandCount: 1...3,
            summary: "Copy a store, show its state, or migrate it",
            examples: [
                "larder store copy ~/.local/share/larder 'postgres://ann@db.example.com/larder'",
                "larder store copy postgres://ann@db.example.com/larder backup/ --verify",
                "larder store status --store postgres://ann@db.example.com/larder",
                "larder store migrate --store postgres://ann@db.example.com/larder",
            ],
            options: [.store, .verifyCopy, .compress.inGroup(.general), .json, .quiet, .progress],
            synonyms: ["backup"],
            notes: [
                """
                copy writes to a place without a store. Each body is verified before it is written, and with --verify again
                afterwards; damaged bodies are left out and reported (exit status 1). A stopped copy continues with the same
                command, and is not usable before it is complete.
                """,
                """
                A copy contains sites, snapshots, responses, links, bodies, pins, settings and the notes of servers. Logins, the
                proxy's authority, the portal's password and the search index belong to the machine and are not copied.
                """,
                """
                migrate brings a PostgreSQL store of an earlier version up to date; stop other workers and servers first. Folders
                are migrated when they are opened. status exits with 1 if the store needs migration or is incomplete.
                """,
            ], run: StoreCommand.run),
        // MARK: Plan, log in, share
        CommandEntry(
            name: "plan", operands: "URL...", operandCount: 1...1000,
            summary: "Estimate pages, size and time of a prefetch",
            examples: [
                "larder plan https://example.com/", "larder plan https://example.com/docs/ --scope path",
            ],
            options: Option.plan, synonyms: ["estimate"], run: PlanCommand.run),
        CommandEntry(
            name: "explain", operands: "URL", operandCount: 1...1,
            summary: "Explain whether a URL would be fetched, and why",
            examples: ["larder explain https://example.com/docs/intro.html"],
            options: [.store, .json, .quiet], synonyms: ["why"], run: ExplainCommand.run),
        CommandEntry(
            name: "login", operands: "[URL]", operandCount: 0...1,
            summary: "Log in to a site in a browser window, for later prefetches",
            examples: [
                "larder login https://wiki.example.com/", "larder login",
                "larder login --forget https://wiki.example.com/",
            ],
            options: Option.login,
            notes: [
                """
                The window uses a profile of its own. When it is closed, the site's cookies are stored so that only you can read
                them. Each prefetch and update of the site sends them, stores changes to them, and marks the responses as
                private. Without a URL, lists the sites with a stored login.
                """
            ], run: LoginCommand.run),
        CommandEntry(
            name: "work", operands: "[URL...]", operandCount: 0...1000,
            summary: "Prefetch a site together with other machines (PostgreSQL)",
            examples: [
                "larder work https://example.com/ --store postgres:///larder",
                "larder work --store postgres:///larder",
            ],
            options: Option.work,
            notes: [
                """
                With URLs, starts or joins a shared snapshot of that site; without, joins all shared snapshots one after the
                other. Each worker leases hosts, so that only one at a time sends requests to a host. Limits hold for all
                workers together. The last worker publishes the snapshot, and its report covers all of it.
                """,
                """
                If a worker is stopped or killed, others take over its hosts, at once or within 15 seconds. The first worker's
                options decide which pages are fetched; network options are each worker's own. See larder help postgres.
                """,
            ], run: WorkCommand.run),
        // MARK: Other commands
        CommandEntry(
            name: "ca", operands: "", operandCount: 0...0,
            summary: "Show the certificate authority that clients of the proxy must trust",
            examples: ["larder ca", "larder ca --pem > larder-ca.pem"],
            options: Option.authority,
            notes: [
                """
                Each store has its own authority, created on first use. Its key is in a file that only you can read; anyone who
                has it can impersonate any host towards clients that trust it.
                """
            ], run: AuthorityCommand.run),
        CommandEntry(
            name: "completions", operands: "SHELL", operandCount: 1...1,
            summary: "Print completions for bash, zsh or fish",
            examples: ["larder completions bash > ~/.local/share/bash-completion/completions/larder"],
            options: [], run: PagesCommand.completions),
        CommandEntry(
            name: "config", operands: "[COMMAND]", operandCount: 0...1,
            summary: "Show the options that are set, and where",
            examples: [
                "larder config", "larder config prefetch", "larder config --json",
                "larder config --schema > larder-config.schema.json",
            ],
            options: [.json, .schema, .quiet], synonyms: ["settings"],
            notes: [
                """
                Order of precedence: command line, environment, .larder.json in the current folder, config.json in
                ~/.config/larder ($XDG_CONFIG_HOME/larder if set; $LARDER_CONFIG names another file), defaults.
                """,
                """
                The files contain options without their dashes, for all commands or in a section for one:
                {"per-host": 8, "prefetch": {"exclude": ["*.pdf"]}, "serve": {"port": 9000}}. A flag is true or false;
                --flag=false on the command line switches it off. A list replaces a list with less precedence. A program
                ("browser") may be named everywhere but in .larder.json, which may come from another person.
                """,
            ], run: ConfigCommand.run),
        CommandEntry(
            name: "demo", operands: "", operandCount: 0...0,
            summary: "Try everything on a small built-in site, offline",
            examples: ["larder demo", "larder demo --once", "larder demo --site-only --port 8090"],
            options: [.port.withDefault("0"), .once, .siteOnly, .quiet], run: DemoCommand.run),
        CommandEntry(
            name: "drop", operands: "SITE SNAPSHOT...", operandCount: 2...1000,
            summary: "Remove snapshots of a site (now: larder remove SITE@N)",
            examples: ["larder drop https://example.com/ 3", "larder drop https://example.com/ 3 4 5"],
            options: [.store, .json, .quiet], run: RemoveCommand.drop),
        CommandEntry(
            name: "help", operands: "[COMMAND|TOPIC]", operandCount: 0...2,
            summary: "Show help for a command or topic",
            examples: ["larder help prefetch", "larder help rules"], options: [], run: HelpCommand.run),
        CommandEntry(
            name: "index", operands: "[SITE]", operandCount: 0...1,
            summary: "Update the search index",
            examples: ["larder index", "larder index https://example.com/"],
            options: [.store, .json, .quiet, .progress], synonyms: ["reindex"],
            notes: [
                """
                Reads only pages that are not in the index yet. Ctrl-C stops it, and the next run continues. The index is in
                search.db; if that file is deleted or damaged, larder index creates it again.
                """
            ], run: IndexCommand.run),
        CommandEntry(
            name: "logout", operands: "SITE", operandCount: 1...1,
            summary: "Delete the stored login of a site (same as larder login --forget)",
            examples: ["larder logout wiki.example.com"],
            options: [.store, .json, .quiet],
            notes: [
                """
                Responses that were fetched with it stay stored, and stay private. With the last login, the browser profile is
                deleted too.
                """
            ], run: LogoutCommand.run),
        CommandEntry(
            name: "manual", operands: "[COMMAND]", operandCount: 0...1,
            summary: "Print a manual page",
            examples: ["larder manual prefetch > larder-prefetch.1"],
            options: [], synonyms: ["man"], run: PagesCommand.manual),
        CommandEntry(
            name: "password", operands: "", operandCount: 0...0,
            summary: "Set the password that other machines need for the portal",
            examples: ["larder password", "larder password --forget"],
            options: [.store, .forget, .quiet],
            notes: [
                """
                With larder serve --listen, the portal is available to other machines only with this password. It is read from
                the terminal or from standard input, and stored as a scrypt hash. On this machine no password is needed.
                """
            ], run: PasswordCommand.run),
        CommandEntry(
            name: "pins", operands: "", operandCount: 0...0,
            summary: "List pins and their size (same as larder pin)",
            examples: ["larder pins", "larder pins --json"],
            options: [.store, .json, .quiet], run: PinsCommand.run),
        CommandEntry(
            name: "sites", operands: "", operandCount: 0...0,
            summary: "List the names of stored sites (same as larder list --sites)",
            examples: ["larder sites", "larder sites --json"],
            options: [.store, .json, .quiet], run: SitesCommand.run),
    ]
}
