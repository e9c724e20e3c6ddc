internal import LarderKit

/// `larder help [COMMAND]`
enum HelpCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        guard let name = arguments.operands.first else {
            terminal.say(overview)
            return .done
        }
        if let topic = HelpTopic.all.first(where: { $0.name == name }) {
            terminal.say(topic.text)
            return .done
        }
        guard let entry = CommandEntry.named(name) else {
            terminal.fail(CommandEntry.unknown(name))
            return .usage
        }
        terminal.say(text(of: entry))
        return .done
    }

    static var overview: String {
        let width = (CommandEntry.all.map(\.name.utf8.count).max() ?? 0) + 2
        let groups = CommandEntry.Group.allCases.map { group in
            let members = group.members.map { "  " + $0.name.padded(width) + $0.summary }
            return ([group.rawValue] + members).joined(separator: "\n")
        }
        return """
            \(Wrapping.lines("larder \(Larder.version): \(promise)"))

            \(groups.joined(separator: "\n\n"))

            \(Wrapping.lines(more))

            \(Wrapping.lines(exitStatus))
            """
    }

    static let promise = "stocks web pages before you go offline, and serves them back as they were"

    private static let more = """
        larder help COMMAND explains one, larder help rules, policies, rendering, archives and postgres what options name;
        larder --version says which version this is.
        """

    static let exitStatus = """
        Exit status: 0 done; 1 done, but something is missing, failed or differs; 2 the command line or a manifest is wrong;
        3 the machine or the network would not, or the report could not be written; 130 interrupted: a prefetch keeps
        everything so far, and the same command goes on.
        """

    static func text(of entry: CommandEntry) -> String {
        var lines = [Wrapping.lines("larder \(entry.name): \(entry.summary)"), "", "Examples"]
        lines += entry.examples.map { "  \($0)" }
        lines += [
            "", "Usage",
            "  larder \(entry.name)\(entry.operands.isEmpty ? "" : " " + entry.operands) [OPTIONS]",
        ]
        if !entry.options.isEmpty {
            let names = entry.options.map(\.title)
            let width = (names.map(\.utf8.count).max() ?? 0) + 2
            for group in Option.Group.allCases {
                let members = zip(names, entry.options).filter { $0.1.group == group }
                if !members.isEmpty { lines += ["", group.rawValue] }
                for (name, option) in members {
                    let standard = option.standard.map { " (default: \($0))" } ?? ""
                    let repeats = option.repeats ? "; may be given several times" : ""
                    lines.append(
                        "  " + name.padded(width)
                            + Wrapping.lines(option.help + repeats + standard, indent: width + 2))
                }
            }
        }
        for note in entry.notes { lines += ["", Wrapping.lines(note)] }
        return lines.joined(separator: "\n")
    }
}

/// `larder manual [COMMAND]`, `larder completions SHELL`
enum PagesCommand {
    static func manual(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        guard let name = arguments.operands.first else {
            terminal.say(ManualPage.overview)
            return .done
        }
        guard let entry = CommandEntry.named(name) else {
            terminal.fail(CommandEntry.unknown(name))
            return .usage
        }
        terminal.say(ManualPage.text(of: entry))
        return .done
    }

    static func completions(_ arguments: Arguments, _ terminal: Terminal) async -> ExitStatus {
        guard let shell = Completions.Shell(rawValue: arguments.operands[0]) else {
            let names = Completions.Shell.allCases.map(\.rawValue).joined(separator: ", ")
            terminal.fail("\"\(arguments.operands[0])\" is no shell that larder knows: there are \(names)")
            return .usage
        }
        terminal.say(Completions.text(for: shell))
        return .done
    }
}

/// What options of several commands name, and no command's help has room for.
struct HelpTopic: Sendable {
    let name: String
    let text: String

    static let all = [rules, policies, rendering, archives, postgres]

    private static let rules = HelpTopic(
        name: "rules",
        text: """
            larder help rules: what you want otherwise than servers say

            Examples
              --rule '/api/** max-age=600'
              --rule 'https://api.example.com/** type=application/json max-age=!0'
              --rule '/search no-query policy=prefer-cache'
              --rule '/private/** not-allowed'
              --rule '/api/query post policy=prefer-cache'
              --rule '/bundles/** version=build'
              --rule '/api/** refuse type=text/html'
              --rule '*.example.com refuse smaller-than=100 text=Log%20in'

            A rule is a pattern of URLs and, behind it, with spaces between, what it says of them. For each question
            the first rule counts that matches and answers it. larder.json and manifests have them as "rule" and "rules".

            Patterns
              https://example.com/docs/**   with ://: the URL
              /api/*                        with a slash first: path and query, on any host
              example.com/docs/**           host, path and query
              *.example.com                 without a slash: the host
              A host means all its ports; example.com:8080 is that one alone.
              * is anything but a slash, ** anything at all, ? any one character. A query is looked at only where
              the pattern has a question mark.

            What a rule may say
              type=TYPE          it is for this media type alone: text/html, image/*
              max-age=SECONDS    what is held stays fresh at least so long; with ! before the number, exactly so long
              policy=NAME        the policy for these; see larder help policies
              allowed, memory-only, not-allowed
                                 whether it may be stored: on the disk, for as long as a server runs, or not at all. A
                                 prefetch does not ask for what may not be on the disk
              no-query           what is not held may be answered by the same without its query, or with another
              version=NAMES      these parameters (with commas between) tell versions apart, as v, ver, _ and t do by
                                 themselves: what is not held may be answered by another version of it
              any-order          what is not held may be answered by the same parameters in another order
              post               what a POST, a PUT or another such request was answered is kept, and answers the same one
                                 (method, URL and body, of JSON the value) where the policy shows what is held; else
                                 nothing that changes something is ever answered so
              refuse             what comes and matches is not kept, and what was held before stays; with
                                 status=N, larger-than=SIZE, smaller-than=SIZE or text=WORDS only what is so as well.
                                 WORDS stand in the first 4 kB; %20 is a space. k, M and G are powers of 1000

            Without any rule, a page of HTML in the place of what is called a script, a style, a picture or a font is
            refused. What was refused is in the report, with its reason.
            """)

    private static let policies = HelpTopic(
        name: "policies",
        text: """
            larder help policies: how what is held and the network share the work

              protocol           fresh as servers say (RFC 9111): as held; else ask whether it still holds
              prefer-cache       as held, however old; load only what is missing
              offline            as held; load nothing. A server's default, and nothing for a prefetch
              reload             load everything again
              reload-end-to-end  the same, and tell caches on the way
              revalidate         ask of everything whether it still holds. A prefetch's default
              refresh-behind     a server answers from what is held, and loads afterwards
              auto               protocol while the origin answers, offline when it does not

            A bundle that a manifest gives a digest is not asked for while it is held with that digest, and loaded when it
            is not, whatever the policy.
            """)
    private static let postgres = HelpTopic(
        name: "postgres",
        text: """
            larder help postgres: a larder that a PostgreSQL keeps, for more machines than one

            Examples
              createdb --encoding UTF8 --template template0 larder
              larder prefetch https://example.com/ --store 'postgres://ann@db.example.com/larder'
              larder serve --store 'postgres://ann@db.example.com/larder?schema=larder&sslmode=verify-full'
              LARDER_STORE='postgres:///larder' larder status
              larder store copy ~/.local/share/larder postgres:///larder
              larder store copy postgres:///larder 'postgres:///larder?schema=outside&bodies=s3://pages/larder&s3-region=eu-west-1'

            Where --store and LARDER_STORE name a folder, they may name a PostgreSQL (15 or later; libpq5 has to be
            there). Every command works alike, and what is written to one of them by any machine is what all others
            show: any number of servers, each of which sees a change within a second, and any number of prefetches,
            each of a site of its own. The tables are made by the first prefetch.

            Many workers may prefetch one site, on as many machines:
              larder work https://example.com/ --store 'postgres://ann@db.example.com/larder'
              larder work --store 'postgres://ann@db.example.com/larder'
              larder work --stay --store 'postgres://ann@db.example.com/larder'
            The first begins a visit that is shared, and the second joins what is shared, from wherever it runs; the third
            waits for the next one too. Each asks hosts of its own, so that a host is asked as gently as by one prefetch, and
            a site on one host has work for one. Limits hold for all together. One that is interrupted, killed or cut off
            loses its hosts to others, within 15 seconds, and nothing is asked for again but what was under way; if none is
            left, larder work goes on. The last one looks through all of it, and publishes as a prefetch does.

            schema=NAME    among which tables it is: larder, when it is not said. One database may have many larders
            folder=PATH    where this machine keeps what is its own: bodies on their way, copies of those over 1 MiB
                           (4 GB at most), the index of the search, logins, authorities. Without it, below
                           larder-servers/ in $XDG_DATA_HOME or ~/.local/share
            bodies=PLACE   where bodies over 64 KiB are (or over bodies-over=BYTES), each once: a folder that all machines
                           share, or s3://BUCKET/PREFIX. Said when the larder is made, and by everybody afterwards;
                           a larder that is there goes to such a one by larder store copy
            s3-region=, s3-endpoint=   of a bucket: us-east-1 and Amazon's, when neither these nor AWS_REGION and
                           AWS_ENDPOINT_URL say otherwise. Its keys are AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and
                           AWS_SESSION_TOKEN in the environment, and in no address

            larder store copy takes a larder from a folder into it, and back. larder store status says who writes to it;
            when a later larder wants its tables changed, it says so, and larder store migrate does that while others go on.
            Of several servers, as in postgres://ann@db1,db2/larder?target_session_attrs=any, whichever answers is read from,
            a standby too, and what writes finds the one that may be written to. While none answers, larder serve gives 503.
            All else behind the question mark is libpq's (host, port, sslmode, connect_timeout, ...), and so are the
            variables of the environment that begin with PG. Keep the password in a PGPASSFILE: what is in the address
            is not printed by larder, and is seen by whoever lists processes.
            A session has to stay with its connection: a pool between them has to work by sessions. The user needs the
            right to create the schema once, and then to read and write its tables; one who only reads can serve.
            A session that is cut is begun anew, and what was not committed is done again. Copies of all of it are
            the PostgreSQL's business (pg_dump, pg_basebackup): fsck --repair removes what is damaged, and makes no
            database anew. While it is away, a prefetch and a worker say so and wait, for two minutes; larder work --stay
            waits for as long as it takes.
            """)
    private static let archives = HelpTopic(
        name: "archives",
        text: """
            larder help archives: what goes in and out, and in which forms

            Examples
              larder export https://example.com/ example.warc.gz --verify
              larder export https://example.com/ example.wacz
              larder export https://example.com/ stick/example/
              larder export https://example.com/docs/a.html a.html
              larder import crawl.warc.gz --site https://example.com/
              larder import build/ --url https://example.com/docs/

            Out
              warc   WARC 1.1, each record compressed for itself (.warc.gz), or plain (.warc). A response, its request as far
                     as it is known, and for a body that is in the file already a revisit. --split begins another file at a
                     size (NAME-00000 and so on), and removes parts that an earlier export of the name had more
              wacz   WACZ 1.1.1: the WARC with an index, the list of pages with their text and the digests of all, as
                     ReplayWeb.page and pywb show it. --sign signs those digests with a key of the larder's own (P-384, in
                     signing.key of its folder): whoever knows the key knows that all of it is yours
              har    HAR 1.2, for the tools of browsers. Bodies that are no UTF-8 stand in base64
              folder A folder (DIR/) that a browser opens without a server: links are relative, names are such as every
                     file system takes, redirects to pages are pages. What pages need and is not held is listed in
                     ~missing.txt, and led to where it was; which file had which address, and what its server said of it, in
                     ~larder.jsonl. Bodies without links stay byte for byte.
                     Where scripts load by addresses that they put together (webpack, Docusaurus), ~larder.js stands first in
                     pages and leads them to the files; routers get the address that the page had, and what is fetched comes
                     from ~data/. Modules and workers want a server in front of it, as browsers take none from files; they are told
              zip    The same in a zip file
              tar    The same in a tar that zstd packs (.tar.zst)
              zim    For Kiwix, with an index of its words; zimwriterfs has to be there (zim-tools), and --verify has
                     zimcheck look at it. What is missing is asked of nobody, and what is empty left out. Its language is what
                     its first page says, else most pages; --language says another, or several (eng,fra)

            One page, of a URL or that a site begins with; a URL works with the forms above too
              html   One file that asks nobody when it is opened: pictures, styles, fonts, media, frames and scripts stand in
                     it, modules in an import map, what scripts are known to fetch beside them. Digests and policies are
                     taken away, and one put there that shuts the network out; links lead to where they led. What is over
                     --max-body is left out and told, and so is what is not held. Not there: what a router of scripts makes of
                     the address, service workers, modules of workers, prefixes of import maps. Of a srcset Chromium takes
                     the finest picture. --no-scripts leaves scripts out
              mhtml  A message of parts, as browsers save pages. Bodies stand as they came, but for digests and policies.
                     Browsers run no scripts of it, and take no parts out of other drawings
              pdf    On paper, as a Chromium or Chrome prints it, by what larder holds alone (LARDER_CHROMIUM or --browser)
              png    A picture of all of the page, up to 16,384 pixels high; --viewport says how wide, --dark in which colours
                     Both are of any visit. A page that runs on to another that is not held is told, and none is made

            In
              WARC 1.0 and 1.1, ARC; plain, .gz, .zst and .xz; WACZ; HAR with content; MHTML; ZIM where zimdump is there
              (zim-tools). The first bytes say which it is. What an MHTML names by cid: gets an address below ~cid/ of its
              page's host. The files of a ZIM get addresses of a host that is named as its file is (NAME.zim.invalid).
              A signature of a WACZ is verified, and said: by which key, or that it does not hold.
              Records without a digest are taken as they are; a digest that does not hold is a reason to refuse.
              Folders, and zip files and tars of them (plain, .gz, .zst, .xz where liblzma is there): of larder itself (~larder.jsonl says all), of HTTrack (with hts-cache/new.zip,
              what came and its heads; else the files), of wget and wget2 (folders named as hosts; what -K kept is what
              came), pages that a browser or SingleFile saved (saved.html with saved_files/), and any other with --url, which
              answers as a web server would have it answer. Links that were led to files are led to addresses again. What
              names cannot hold is read as its tool writes it, for Unix or for Windows (page?q=1, page@q=1, page%3Fq=1); where
              a name fits two addresses, links that are as they came tell which it is. Files
              have the dates that they have on the disk. Links stand for what they lead to; those out of a folder, those to
              folders, and what is no file are told and left.

            What forms hold
              Bodies stand without the content codings in which they came, which is how larder keeps them; what the
              server said of its coding stands in X-Archive-Orig-* fields. HTTP versions and the phrases behind status
              numbers are not kept, nor what a request said beyond its method, its address and what the answer varies by.
              What only larder knows, such as who asked for it first, stands in Larder-Notes (_larder in HAR), which
              others pass over. Fields that set cookies go out with --private alone. With it, what went out as WARC,
              WACZ or HAR and is imported again is what was held, byte for byte. Of folders, zip files and tars the same
              answers come back with their fields, but not those to POST, nor variants beside the one that readers get; links
              are spelled anew, and digests differ. Where only its server said in which encoding a page is, the file says so
              itself. A ZIM holds bodies, an MHTML one page, and neither holds fields. From where an answer came is never taken from an archive: its pages lead to public addresses alone.
            """)

    private static let rendering = HelpTopic(
        name: "rendering",
        text: """
            larder help rendering: what only running scripts ask for

            Examples
              larder prefetch https://example.com/ --render always --viewport 1280x900,390x844@3
              larder prefetch https://example.com/ --render-script '/shop/**=open-all.js' --render-deep
              larder prefetch https://example.com/ --render never

            Most pages say what they need, and are read without being run. Where a scan sees scripts that it cannot read
            through, pages are shown in a Chromium or Chrome without a window, if there is one; LARDER_CHROMIUM or
            --browser says where it is.

            Which pages
              auto     of each folder and kind (example.com/docs/*.html) whose scans gave a reason one page while the rest of
                       the site comes, and two more then. Reasons are scripts and hardly any text, a loader whose names
                       could not be read, addresses that scripts put together, a fetch of what stands elsewhere. Where
                       they ask for what no scan found, further ones, until several in a row bring nothing. An update
                       shows what is new; what is as it was, only where something that it asks for is another, or
                       where it sends something. Names that stand below several things (/runs/1/log, /runs/2/log)
                       are kinds of their own. A host is left when 12 pages of it brought nothing, or half as many
                       as it has kinds (up to 60); the report says how many kinds that leaves out
              always   every page
              never    none

            What becomes of it
              All that such a page asks for comes by way of larder: what is held is given, the rest is fetched as
              everything else is, with the same limits, rules, manners and digests, and once. It belongs to the page from
              then on, and where its document leads is followed as any link. What it sends by POST is sent on, and the
              answer kept by what was sent, whenever that is sent again; PUT and DELETE are refused, and so are sockets.
              Where larder serves it, what scripts ask for by the time of day (from=1764000000000&to=1764003600000) is
              answered by what was asked for the same time ago.
              The report says of each kind how many pages there are, how many were rendered, and what that brought.

            A page is scrolled to its end, or by --render-scroll screens, and taken as it is when it has been quiet for
            half a second, at the latest after --render-time. Views that fragments name (#/about) are shown one by one, as
            many of one document as --max-pages says, else 1,000; each adds a second to its time, and those that were
            not shown are told.

            --render-deep opens details, what says that it is folded or has a menu (aria-expanded, aria-controls,
            aria-haspopup), and one tab after the other (role=tab, forty at most), with those that it shows. Other buttons
            are not pressed, as nobody knows what they do; a --render-script may press them.

            --render-pictures keeps a picture of each page beside its words; larder check --offline SITE --render opens pages
            from the larder alone, goes through them as the prefetch did, and tells where words or pictures differ from
            those. larder diff SITE --pictures names the pages that look another way than in an earlier visit; larder
            serve shows both pictures side by side.

            Where scripts make addresses of the time, Math.random() or crypto.randomUUID(), --steady has pages see the time
            of that prefetch, in whole seconds, and the same row of numbers, while they are rendered and when larder serves
            them; updates keep it. Pages that are held already become steady with --policy reload.
            """)
}
