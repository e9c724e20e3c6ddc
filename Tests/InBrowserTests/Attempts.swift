import Web

/// Something that a page tries to do to another site, and its result on the web.
///
/// The script is the body of an async function. It returns the result as a short text. `at` gives it the addresses of the
/// hosts: on the web the original ones, in a mirror those of the mirror, because an attacker would know them.
struct Attempt: Sendable {
    /// The place where an attempt is made: on the web itself, or in a mirror with some policy and addresses.
    enum Setting: String, Sendable, CaseIterable {
        case web
        case offline, auto
        /// On this machine, with one site at the root: the site of the page that makes the attempt, or another site.
        case atRoot, besideRoot
        /// On a server that listens for other machines, where all origins share one name: the page belongs to the site at
        /// the root, or is in its folder for other origins.
        case sharedRoot, besideSharedRoot
    }

    /// The way in which an attempt is made.
    struct Manner: OptionSet {
        let rawValue: Int
        /// The script runs as if the user had clicked.
        static let asUser = Manner(rawValue: 1)
        /// The attempt has a tab of its own, because it changes the tab's state for later attempts.
        static let alone = Manner(rawValue: 2)
        /// The script navigates the tab; the result is the page where it ends.
        static let leaves = Manner(rawValue: 4)
        /// A TCP connection counts as an arrival.
        static let connects = Manner(rawValue: 8)
        /// The attempt has no equivalent on the web.
        static let mirrorOnly = Manner(rawValue: 16)
        /// Requests that reach origins are ignored.
        static let mayArrive = Manner(rawValue: 32)
    }

    /// An accepted difference between the mirror and the web, with its reason.
    struct Exception {
        let settings: [Setting]
        /// The expected result; nil accepts any.
        let word: String?
        /// The expected arrivals; nil expects those of the web.
        let arrivals: [String]?
        let reason: String
    }

    let name: String
    /// The document in which the script runs, such as `evil/agent`.
    let page: String
    /// The expected result on the web.
    let word: String
    /// The requests that reach servers on the web, in the format of `WebRange.arrivals`.
    let arrivals: [String]
    let manner: Manner
    let script: String
    /// Whether the web allows the attempt. Below a shared root, where documents have an opaque origin, a mirror may
    /// refuse it all the same.
    let isAllowed: Bool
    var exceptions: [Exception] = []

    init(
        _ name: String, on page: String = "evil/agent", _ word: String, arrives arrivals: [String] = [],
        by manner: Manner = [], allowed isAllowed: Bool = false, _ script: String
    ) {
        self.name = name
        self.page = page
        self.word = word
        self.arrivals = arrivals
        self.manner = manner
        self.script = script
        self.isAllowed = isAllowed
    }

    /// Returns a copy with an accepted difference in some settings. The first one that has a setting applies to it.
    func but(
        _ settings: [Setting], says word: String?, arrives arrivals: [String]? = nil, because reason: String
    ) -> Attempt {
        var attempt = self
        attempt.exceptions.append(
            Exception(settings: settings, word: word, arrivals: arrivals, reason: reason))
        return attempt
    }
}

extension Attempt {
    static var all: [Attempt] {
        reading + writing + leading + framing + opening + working + planting + storing + probing + leaking
            + allowed + aroundTheRoot
    }

    // MARK: - Reading

    private static let credentialed = "a response fetched with credentials is not served to other sites"
    private static let sameOrigin = "to the browser, URLs beside the root have the root's origin"
    static let rootName = "the site at the root is named localhost, which has no siblings"
    static let originKeyed = "a common domain would include pages on other ports of the host name"
    static let noOrigin = "documents beside the root have an opaque origin, and so no storage"

    private static let reading: [Attempt] = [
        Attempt(
            "fetch another site's page", "refused",
            arrives: ["GET bank/account {} O:evil R:evil/ cross-site cors empty"],
            "return read(at.bank + '/act/account')"),
        Attempt(
            "fetch another site's page with credentials", "refused",
            arrives: ["GET bank/account {none} O:evil R:evil/ cross-site cors empty"],
            "return read(at.bank + '/act/account', { credentials: 'include' })"),
        Attempt(
            "fetch another site's JSON with credentials", "refused",
            arrives: ["GET bank/account.json {none} O:evil R:evil/ cross-site cors empty"],
            "return read(at.bank + '/act/account.json', { credentials: 'include' })"),
        Attempt(
            "fetch another site's page with the mode same-origin", "refused",
            "return read(at.bank + '/act/account', { mode: 'same-origin' })"),
        Attempt(
            "fetch another site's page with the mode no-cors", "opaque",
            arrives: ["GET bank/account {none} O:- R:evil/ cross-site no-cors empty"],
            "return read(at.bank + '/act/account', { mode: 'no-cors', credentials: 'include' })"),
        Attempt(
            "fetch another site's page by a redirect of the own site", "refused",
            arrives: ["GET bank/account {none} O:evil R:evil/ cross-site cors empty"],
            "return read(at.evil + '/to-bank', { credentials: 'include' })"),
        Attempt(
            "fetch from an API that allows only another site", "refused",
            arrives: ["GET cdn/api.json {} O:evil R:evil/ cross-site cors empty"],
            "return read(at.cdn + '/act/api.json', { credentials: 'include' })"),
        Attempt(
            "fetch a response with CORS for all origins, with credentials", "refused",
            "return read(at.cdn + '/data.json', { credentials: 'include' })"
        ).but(
            [.sharedRoot], says: "read", because: "every page may read it, and the request has no credentials"
        ),
        Attempt(
            "fetch a response without CORS headers", "refused",
            "return read(at.cdn + '/closed.json')"),
        Attempt(
            "send an XMLHttpRequest with credentials", "refused",
            arrives: ["GET bank/account {none} O:evil R:evil/ cross-site cors empty"],
            """
            return new Promise((done) => {
              const request = new XMLHttpRequest()
              request.open("GET", at.bank + "/act/account")
              request.withCredentials = true
              request.onload = () => done(request.responseText.includes("SECRET") ? "read" : "answered")
              request.onerror = () => done("refused")
              request.send()
            })
            """),
        Attempt(
            "read the pixels of an image", "shown",
            arrives: ["GET bank/card.png {none} O:- R:evil/ cross-site no-cors image"],
            """
            const image = make("img", { src: at.bank + "/act/card.png" })
            if (await image.outcome !== "loaded") return "refused"
            const context = make("canvas").getContext("2d")
            context.drawImage(image, 0, 0)
            try { context.getImageData(0, 0, 1, 1) } catch { return "shown" }
            return "read"
            """
        ).but([.offline], says: "refused", because: credentialed).but(
            [.sharedRoot], says: "read", because: sameOrigin),
        Attempt(
            "show an image with crossorigin use-credentials", "refused",
            arrives: ["GET bank/card.png {none} O:evil R:evil/ cross-site cors image"],
            "return loads('img', { crossorigin: 'use-credentials', src: at.bank + '/act/card.png' })"),
        Attempt(
            "run JSON as a script", "ran unread",
            arrives: ["GET bank/account.json {none} O:- R:evil/ cross-site no-cors script"],
            """
            let said = "ran unread"
            self.onerror = (text) => { if (text !== "Script error.") said = "told: " + text; return true }
            await loads("script", { src: at.bank + "/act/account.json" })
            return said
            """),
        Attempt(
            "read a style sheet's rules", "shown",
            """
            const link = make("link", { rel: "stylesheet", href: at.bank + "/style.css" })
            if (await soon(link.outcome) !== "loaded") return "refused"
            try { return link.sheet.cssRules.length ? "read" : "empty" } catch { return "shown" }
            """
        ).but([.offline], says: "refused", because: credentialed).but(
            [.sharedRoot], says: "read", because: sameOrigin),
        Attempt(
            "import a module", "refused",
            "return import(at.bank + '/module.js').then(() => 'read', () => 'refused')"),
        Attempt(
            "import a module of a CDN that does not allow it", "refused",
            "return import(at.cdn + '/closed.js').then(() => 'read', () => 'refused')"),
        Attempt(
            "use a font of a CDN that does not allow it", "refused",
            "return new FontFace('Closed', `url(${at.cdn}/closed.woff2)`).load().then(() => 'loaded', () => 'refused')"
        ),
        Attempt(
            "open another site's event stream", "refused",
            arrives: ["GET bank/events {none} O:evil R:evil/ cross-site cors empty"],
            """
            return new Promise((done) => {
              const source = new EventSource(at.bank + "/act/events", { withCredentials: true })
              source.onmessage = () => { source.close(); done("read") }
              source.onerror = () => { source.close(); done("refused") }
            })
            """),
        Attempt(
            "look into an SVG picture in an object", "apart",
            """
            const object = make("object", { data: at.bank + "/doc.svg", type: "image/svg+xml" })
            await soon(object.outcome)
            try { return object.getSVGDocument() ? "read" : "apart" } catch { return "apart" }
            """),
        Attempt(
            "look into a PDF in an object", "apart",
            """
            const object = make("object", { data: at.bank + "/doc.pdf", type: "application/pdf" })
            await soon(object.outcome, "nothing", 300)
            try { return object.contentDocument?.body.innerText.includes("SECRET") ? "read" : "apart" } catch { return "apart" }
            """),
        Attempt(
            "draw a part of another site's SVG image", "refused",
            """
            const space = "http://www.w3.org/2000/svg"
            const svg = document.createElementNS(space, "svg"), use = document.createElementNS(space, "use")
            use.setAttribute("href", at.bank + "/doc.svg#word")
            svg.append(use)
            document.body.append(svg)
            await soon(new Promise((done) => { use.onload = use.onerror = done }), "nothing", 300)
            return svg.getBBox().width > 0 ? "shown" : "refused"
            """
        ).but([.sharedRoot], says: "shown", because: sameOrigin),
        Attempt(
            "learn the size and status of an image from resource timing", "hidden",
            arrives: ["GET bank/card.png {none} O:- R:evil/ cross-site no-cors image"],
            """
            const address = at.bank + "/act/card.png?timed"
            await loads("img", { src: address })
            const entry = performance.getEntriesByName(address)[0]
            return entry && (entry.encodedBodySize || entry.responseStatus || entry.requestStart) ? "told" : "hidden"
            """
        ).but([.sharedRoot], says: "told", because: sameOrigin),
        Attempt(
            "show an image with CORP same-origin", "refused",
            "return loads('img', { src: at.bank + '/corp.png' })"),
        Attempt(
            "show an image with CORP same-site", "refused",
            "return loads('img', { src: at.bank + '/corp-site.png' })"),
        Attempt(
            "distinguish stored URLs from missing ones", "alike",
            arrives: ["account", "account-not"].flatMap {
                [
                    "GET bank/\($0) {none} O:evil R:evil/ cross-site cors empty",
                    "GET bank/\($0) {} O:evil R:evil/ cross-site cors empty",
                    "GET bank/\($0) {} O:- R:evil/ cross-site no-cors empty",
                ]
            },
            """
            const of = async (place) => [
              await read(at.bank + place), await read(at.bank + place, { credentials: "include" }),
              await read(at.bank + place, { mode: "no-cors" }),
            ].join()
            const [held, not] = [await of("/act/account"), await of("/act/account-not")]
            return held === not ? "alike" : `${held} against ${not}`
            """),
        Attempt(
            "read the own page from an opaque origin", "refused",
            arrives: ["GET evil/account.json {} O:null R:- cross-site cors empty"],
            """
            const window = await frame(at.evil + "/agent", { sandbox: "allow-scripts" })
            return ask(window, "read(at.evil + '/act/account.json', { credentials: 'include' })")
            """
        ).but(
            [.besideSharedRoot], says: nil,
            arrives: ["GET evil/account.json {} O:evil R:evil/ same-origin cors empty"],
            because: "beside the root, requests do not show which document of an origin sent them"),
        Attempt(
            "read another site from a srcdoc document", "refused",
            arrives: ["GET bank/account {none} O:evil R:evil/ cross-site cors empty"],
            """
            const window = await frame(undefined, { srcdoc: `<script>${agent}</` + "script>" })
            return ask(window, "read(at.bank + '/act/account', { credentials: 'include' })")
            """),
        Attempt(
            "read another site from a blob: document", "refused",
            arrives: ["GET bank/account {none} O:evil R:- cross-site cors empty"],
            """
            const blob = new Blob([`<script>${agent}</` + "script>"], { type: "text/html" })
            const window = await frame(URL.createObjectURL(blob))
            return ask(window, "read(at.bank + '/act/account', { credentials: 'include' })")
            """),
        Attempt(
            "read another site from a data: document", "refused",
            arrives: ["GET bank/account {none} O:null R:- cross-site cors empty"],
            """
            const window = await frame("data:text/html," + encodeURIComponent(`<script>${agent}</` + "script>"))
            return ask(window, "read(at.bank + '/act/account', { credentials: 'include' })")
            """),
        Attempt(
            "read another site from a worker", "refused",
            arrives: ["GET bank/account {none} O:evil R:- cross-site cors empty"],
            """
            const code = `fetch("${at.bank}/act/account", { credentials: "include" }).then((answer) => answer.text())
              .then((text) => postMessage(text.includes("SECRET") ? "read" : "answered"), () => postMessage("refused"))`
            const worker = new Worker(URL.createObjectURL(new Blob([code])))
            return soon(new Promise((done) => { worker.onmessage = (event) => done(event.data) }))
            """),
        Attempt(
            "read another site from an SVG document", on: "evil/agent.svg", "refused",
            arrives: ["GET bank/account {none} O:evil R:evil/ cross-site cors empty"],
            "return read(at.bank + '/act/account', { credentials: 'include' })"),
        Attempt(
            "read another site from an XHTML document", on: "evil/agent.xhtml", "refused",
            arrives: ["GET bank/account {none} O:evil R:evil/ cross-site cors empty"],
            "return read(at.bank + '/act/account', { credentials: 'include' })"),
        Attempt(
            "read another site from an XML document", on: "evil/agent.xml", "refused",
            arrives: ["GET bank/account {none} O:evil R:evil/ cross-site cors empty"],
            "return read(at.bank + '/act/account', { credentials: 'include' })"),
        Attempt(
            "read with the header Larder-Policy", "refused",
            """
            return read(at.bank + "/act/account", { credentials: "include", headers: { "Larder-Policy": "reload" } })
            """),
    ]

    // MARK: - Writing

    private static let writing: [Attempt] = [
        Attempt(
            "post a form to another site", "bank/act/transfer",
            arrives: ["POST bank/transfer {none} O:evil R:evil/ cross-site navigate document"], by: [.leaves],
            """
            const form = make("form", { method: "post", action: at.bank + "/act/transfer" })
            setTimeout(() => form.submit())
            """),
        Attempt(
            "post a form to another site in a frame", "sent",
            arrives: ["POST bank/transfer {none} O:evil R:evil/ cross-site navigate iframe"],
            """
            const hidden = make("iframe", { name: "hidden" })
            await soon(hidden.outcome, "nothing", 100)
            hidden.outcome = new Promise((done) => { hidden.onload = done })
            make("form", { method: "post", action: at.bank + "/act/transfer", target: "hidden" }).submit()
            await soon(hidden.outcome)
            return "sent"
            """),
        Attempt(
            "post by fetch", "opaque",
            arrives: ["POST bank/transfer {none} O:evil R:evil/ cross-site no-cors empty"],
            "return read(at.bank + '/act/transfer', { method: 'POST', mode: 'no-cors', credentials: 'include', body: 'x' })"
        ),
        Attempt(
            "post JSON, which needs a preflight", "refused",
            """
            const headers = { "Content-Type": "application/json" }
            return read(at.bank + "/act/transfer", { method: "POST", credentials: "include", headers, body: "{}" })
            """),
        Attempt(
            "send a PUT, which needs a preflight", "refused",
            "return read(at.bank + '/act/transfer', { method: 'PUT', credentials: 'include', body: 'x' })"),
        Attempt(
            "send a DELETE, which needs a preflight", "refused",
            "return read(at.bank + '/act/account', { method: 'DELETE', credentials: 'include' })"),
        Attempt(
            "send a PUT to an API that allows only another site", "refused",
            "return read(at.cdn + '/act/api.json', { method: 'PUT', credentials: 'include', headers: { 'X-Own': '1' } })"
        ),
        Attempt(
            "send a beacon", "sent",
            arrives: ["POST bank/transfer {none} O:evil R:evil/ cross-site no-cors empty"],
            "return navigator.sendBeacon(at.bank + '/act/transfer', 'x') ? 'sent' : 'refused'"
        ).but(
            [.auto, .atRoot, .besideRoot], says: "sent", arrives: [],
            because: "a mirror does not pass on beacons"),
        Attempt(
            "send a link's ping", "sent",
            arrives: ["POST bank/transfer {none} O:evil R:- cross-site no-cors empty"],
            """
            make("a", { ping: at.bank + "/act/transfer", href: "#here" }).click()
            return "sent"
            """),
        Attempt(
            "change data by the URL of an image", "refused",
            arrives: ["GET bank/transfer {none} O:- R:evil/ cross-site no-cors image"],
            "return loads('img', { src: at.bank + '/act/transfer' })"),
    ]

    // MARK: - Navigation

    private static let leading: [Attempt] = [
        Attempt(
            "link to another site", "bank/act/account",
            arrives: ["GET bank/account {jar lax none} O:- R:evil/ cross-site navigate document"],
            by: [.leaves, .asUser],
            "const link = make('a', { href: at.bank + '/act/account' }); setTimeout(() => link.click())"),
        Attempt(
            "set the location to another site", "bank/act/account",
            arrives: ["GET bank/account {jar lax none} O:- R:evil/ cross-site navigate document"],
            by: [.leaves],
            "setTimeout(() => { location = at.bank + '/act/account' })"),
        Attempt(
            "refresh to another site", "bank/act/account",
            arrives: ["GET bank/account {jar lax none} O:- R:evil/ cross-site navigate document"],
            by: [.leaves],
            """
            const meta = document.createElement("meta")
            meta.httpEquiv = "refresh"
            meta.content = "0; url=" + at.bank + "/act/account"
            setTimeout(() => document.head.append(meta))
            """),
        Attempt(
            "redirect to another site", "bank/act/account",
            arrives: ["GET bank/account {jar lax none} O:- R:evil/ cross-site navigate document"],
            by: [.leaves],
            "setTimeout(() => { location = at.evil + '/to-bank' })"),
        Attempt(
            "open another site in a window", "opened",
            arrives: ["GET bank/account {jar lax none} O:- R:evil/ cross-site navigate document"],
            by: [.asUser],
            "return open(at.bank + '/act/account') ? 'opened' : 'refused'"),
        Attempt(
            "navigate the page around a frame to another site", on: "bank/agent", "stays", by: [.alone],
            """
            const window = await frame(at.evil + "/agent")
            await ask(window, "parent.location = at.evil + '/agent'")
            return soon(new Promise(() => {}), "stays", 300)
            """),
    ]

    // MARK: - Frames

    private static let framing: [Attempt] = [
        Attempt(
            "look into a frame of another site", "refused",
            arrives: ["GET bank/account {none} O:- R:evil/ cross-site navigate iframe"],
            """
            const window = await frame(at.bank + "/act/account")
            try { return window.document.body.innerText.includes("SECRET") ? "read" : "seen" } catch { return "refused" }
            """),
        Attempt(
            "frame a page that forbids framing", "nothing",
            "return shows(at.bank + '/framed-deny')"),
        Attempt(
            "frame a page that allows framing only by its own site", "nothing",
            "return shows(at.bank + '/framed-self')"),
        Attempt(
            "frame a page that allows framing only by a named site", "nothing",
            "return shows(at.bank + '/framed-app')"),
        Attempt(
            "send a message to a frame whose origin is not the target origin", "nothing",
            """
            const window = await frame(at.player + "/agent")
            const heard = new Promise((done) => addEventListener("message", (event) => done(event.data.said)))
            window.postMessage({ id: 1, code: "'heard'" }, at.bank)
            window.postMessage({ id: 2, code: "'nothing'" }, "*")
            return soon(heard)
            """),
    ]

    // MARK: - Windows

    private static let opening: [Attempt] = [
        Attempt(
            "look into a window of another site", "refused", by: [.asUser],
            """
            const window = await popup(at.bank + "/agent")
            try { return "read " + window.document.title } catch { return "refused" }
            """),
        Attempt(
            "read the location of a window of another site", "refused", by: [.asUser],
            """
            const window = await popup(at.bank + "/agent")
            try { return "read " + window.location.href } catch { return "refused" }
            """),
        Attempt(
            "keep a reference to a window whose page severs its opener", "parted", by: [.asUser],
            """
            const window = open(at.bank + "/coop")
            for (let turn = 0; turn < 40; turn++) {
              if (window.closed) return "parted"
              if (await Promise.race([ask(window, "'joined'"), soon(new Promise(() => {}), "nothing", 50)]) === "joined") return "joined"
            }
            return "nothing"
            """),
    ]

    // MARK: - Workers

    private static let working: [Attempt] = [
        Attempt(
            "start a worker of another site", "refused",
            """
            try {
              const worker = new Worker(at.bank + "/worker.js")
              return await soon(new Promise((done) => {
                worker.onmessage = () => done("started")
                worker.onerror = () => done("refused")
              }))
            } catch { return "refused" }
            """),
        Attempt(
            "start a shared worker of another site", "refused",
            """
            try {
              const worker = new SharedWorker(at.bank + "/worker.js")
              return await soon(new Promise((done) => {
                worker.port.onmessage = () => done("started")
                worker.onerror = () => done("refused")
              }))
            } catch { return "refused" }
            """),
        Attempt(
            "register a service worker of another site", "refused", by: [.alone],
            "return navigator.serviceWorker.register(at.bank + '/sw.js').then(() => 'registered', () => 'refused')"
        ),
        Attempt(
            "register a service worker for another site", "refused", by: [.alone],
            """
            return navigator.serviceWorker.register(at.evil + "/sw.js", { scope: at.bank + "/" })
              .then(() => "registered", () => "refused")
            """
        ).but(
            [.sharedRoot], says: "registered",
            because: "it receives no requests for other sites"),
        Attempt(
            "register a service worker for a scope above its folder", "refused", by: [.alone],
            """
            return navigator.serviceWorker.register(at.evil + "/folder/sw.js", { scope: at.evil + "/" })
              .then(() => "registered", () => "refused")
            """),
        Attempt(
            "intercept another site's requests by a service worker", "nothing",
            arrives: ["GET bank/account {none} O:- R:evil/ cross-site navigate iframe"], by: [.alone],
            """
            try {
              await navigator.serviceWorker.register(at.evil + "/sw.js")
              await soon(navigator.serviceWorker.ready)
            } catch { return "nothing" }
            const taken = new Promise((done) => addEventListener("message", (event) => done(event.data)))
            await frame(at.bank + "/act/account")
            return soon(taken, "nothing", 200)
            """),
    ]

    // MARK: - Cookies

    private static let planted = """
        const window = await frame(at.bank + "/agent")
        const seen = await ask(window, "document.cookie")
        await loads("img", { src: at.bank + "/act/seen.png" })
        return seen === "nothing" ? "no answer" : seen.includes("planted") ? "planted" : "refused"
        """

    private static let planting: [Attempt] = [
        Attempt(
            "set a cookie for another site", "refused",
            arrives: ["GET bank/seen.png {none} O:- R:evil/ cross-site no-cors image"], by: [.alone],
            """
            for (const name of [domain(at.bank), "bank.example"])
              document.cookie = `planted=1; SameSite=None; Secure; Domain=${name}`
            \(planted)
            """),
        Attempt(
            "set a cookie for a public suffix", "refused",
            arrives: ["GET bank/seen.png {none} O:- R:evil/ cross-site no-cors image"], by: [.alone],
            """
            for (const name of [domain(at.bank).split(".").pop(), "example", "localhost", ".localhost"])
              document.cookie = `planted=1; SameSite=None; Secure; Domain=${name}`
            \(planted)
            """),
        Attempt(
            "set cookies for other sites by response headers", "refused",
            arrives: [
                "GET bank/seen.png {none} O:- R:evil/ cross-site no-cors image",
                "GET evil/plant {} O:- R:evil/agent same-origin cors empty",
            ], by: [.alone],
            """
            await fetch(at.evil + "/act/plant")
            \(planted)
            """),
        Attempt(
            "share a host-only cookie with a sibling host", on: "www.bank/agent", "apart", by: [.alone],
            """
            document.cookie = "own=1"
            if (!document.cookie.includes("own=1")) return "not set"
            const window = await frame(at["static.bank"] + "/agent")
            return (await ask(window, "document.cookie")).includes("own") ? "shared" : "apart"
            """),
        Attempt(
            "set document.domain to a public suffix", "refused", by: [.alone],
            """
            for (const name of ["example", "localhost"]) {
              try { document.domain = name; return "taken" } catch {}
            }
            return "refused"
            """
        ).but([.atRoot, .sharedRoot], says: "taken", because: "the root has the name of the server itself"),
    ]

    // MARK: - Browser storage

    private static let storing: [Attempt] = [
        Attempt(
            "read another site's local storage", "apart", by: [.alone, .asUser],
            """
            await ask(await popup(at.bank + "/agent"), "localStorage.word = 'SECRET'")
            try { return localStorage.word ? "read" : "apart" } catch { return "apart" }
            """),
        Attempt(
            "find another site's databases", "apart", by: [.alone, .asUser],
            """
            await ask(await popup(at.bank + "/agent"),
              "new Promise((done) => { indexedDB.open('SECRET').onsuccess = done })")
            try { return (await indexedDB.databases()).length ? "read" : "apart" } catch { return "apart" }
            """),
        Attempt(
            "find another site's caches", "apart", by: [.alone, .asUser],
            """
            await ask(await popup(at.bank + "/agent"), "caches.open('SECRET').then(() => 'made')")
            try { return (await caches.keys()).length ? "read" : "apart" } catch { return "apart" }
            """),
        Attempt(
            "receive another site's broadcast messages", "apart", by: [.alone, .asUser],
            """
            const heard = new Promise((done) => { new BroadcastChannel("word").onmessage = () => done("read") })
            await ask(await popup(at.bank + "/agent"), "new BroadcastChannel('word').postMessage('SECRET')")
            return soon(heard, "apart", 200)
            """),
        Attempt(
            "read a sibling's local storage", on: "www.bank/agent", "apart", by: [.alone, .asUser],
            """
            await ask(await popup(at.bank + "/agent"), "localStorage.word = 'SECRET'")
            try { return localStorage.word ? "read" : "apart" } catch { return "apart" }
            """),
        Attempt(
            "find the storage that an embedded player has on another site's pages", on: "app/agent", "apart",
            by: [.alone, .asUser],
            """
            await ask(await frame(at.player + "/embed"), "localStorage.volume = '7'")
            const other = await popup(at.evil + "/agent")
            return ask(other, "frame(at.player + '/embed').then((player) => ask(player, \\"localStorage.volume ?? 'apart'\\"))")
            """
        ).but([.sharedRoot, .besideSharedRoot], says: nil, because: noOrigin),
    ]

    // MARK: - Larder's own pages

    private static let probing: [Attempt] = [
        Attempt(
            "read a page of the portal", "refused", by: [.mirrorOnly],
            "return read(at.portal + '/')"),
        Attempt(
            "read the portal's list of sites as JSON", "refused", by: [.mirrorOnly],
            "return read(at.portal + '/?format=json', { credentials: 'include' })"),
        Attempt(
            "run the portal's JSON as a script", "ran unread", by: [.mirrorOnly],
            """
            let said = "ran unread"
            self.onerror = (text) => { if (text !== "Script error.") said = "told: " + text; return true }
            await loads("script", { src: at.portal + "/?format=json" })
            return said
            """),
        Attempt(
            "look into a page of the portal in a frame", "refused", by: [.mirrorOnly],
            """
            const window = await frame(at.portal + "/")
            try { return "read " + window.document.title } catch { return "refused" }
            """),
        Attempt(
            "look into a page of the portal in a window", "refused", by: [.mirrorOnly, .alone, .asUser],
            """
            const window = open(at.portal + "/")
            // Until its page is there the window is this page's own, and empty.
            for (let turn = 0; turn < 40; turn++) {
              await soon(new Promise(() => {}), "nothing", 50)
              try { if (window.document.title) return "read " + window.document.title } catch { return "refused" }
            }
            return "empty"
            """),
        Attempt(
            "make the mirror load from an origin by Larder-Policy", "refused", by: [.mirrorOnly],
            """
            const all = ["reload", "revalidate", "reload-end-to-end"].map((policy) =>
              read(at.bank + "/style.css", { headers: { "Larder-Policy": policy } }))
            return [...new Set(await Promise.all(all))].join()
            """),
    ]

    // MARK: - Requests out of the mirror

    private static let isolated = "a mirrored page reaches no server by itself"
    private static let forwarded = "the mirror's server sends the requests that the page may send on the web"

    /// An attempt to send something to a server outside the mirror. It succeeds on the web. In a mirror it must not,
    /// unless the mirror's server requests the URL in the page's place.
    ///
    /// - Parameter gap: the reason why it succeeds all the same, if docs/security.md lists it as a known gap.
    private static func leak(
        _ name: String, on page: String = "evil/agent", _ arrivals: [String], by manner: Manner = [],
        says word: String = "done", gap: String? = nil, _ script: String
    ) -> Attempt {
        var attempt = Attempt("send out by " + name, on: page, word, arrives: arrivals, by: manner, script)
        if let gap { attempt = attempt.but([.offline], says: nil, arrives: arrivals, because: gap) }
        return attempt.but([.offline], says: nil, arrives: [], because: isolated)
            .but(
                [.auto, .atRoot, .besideRoot, .sharedRoot, .besideSharedRoot], says: nil, because: forwarded)
    }

    private static let requests = """
        fetch(at.outside + "/fetch", { mode: "no-cors" }).catch(() => {})
        new Image().src = at.outside + "/image"
        await soon(new Promise(() => {}), "nothing", 200)
        return "done"
        """
    private static let requested = ["GET outside/fetch", "GET outside/image"]

    private static let leaking: [Attempt] = [
        leak("requests of a page", requested, requests),
        leak("requests of an SVG document", on: "evil/agent.svg", requested, requests),
        leak("requests of an XHTML document", on: "evil/agent.xhtml", requested, requests),
        leak("requests of an XML document", on: "evil/agent.xml", requested, requests),
        leak(
            "requests of a srcdoc document", requested,
            """
            return ask(await frame(undefined, { srcdoc: `<script>${agent}</` + "script>" }), `(async () => { \(requests) })()`)
            """),
        leak(
            "requests of a blob: document", requested,
            """
            const blob = new Blob([`<script>${agent}</` + "script>"], { type: "text/html" })
            return ask(await frame(URL.createObjectURL(blob)), `(async () => { \(requests) })()`)
            """),
        leak(
            "requests of a data: document", requested,
            """
            const text = encodeURIComponent(`<script>${agent}</` + "script>")
            return ask(await frame("data:text/html," + text), `(async () => { \(requests) })()`)
            """),
        leak(
            "requests of an empty frame", requested,
            """
            const { fetch, Image } = make("iframe").contentWindow
            \(requests)
            """),
        leak(
            "a socket", ["GET outside/socket"],
            """
            return new Promise((done) => {
              try {
                const socket = new WebSocket(at.outside.replace("http", "ws") + "/socket")
                socket.onerror = () => done("done")
              } catch { done("done") }
            })
            """),
        leak(
            "a datagram", ["a datagram"],
            """
            const connection = new RTCPeerConnection({ iceServers: [{ urls: at.stun }] })
            connection.createDataChannel("out")
            await connection.setLocalDescription(await connection.createOffer())
            await soon(new Promise(() => {}), "nothing", 400)
            connection.close()
            return "done"
            """),
        leak(
            "a datagram from an empty frame", ["a datagram"],
            """
            const connection = new (make("iframe").contentWindow.RTCPeerConnection)({ iceServers: [{ urls: at.stun }] })
            connection.createDataChannel("out")
            await connection.setLocalDescription(await connection.createOffer())
            await soon(new Promise(() => {}), "nothing", 400)
            connection.close()
            return "done"
            """),
        leak(
            "a preconnect", ["a connection to outside"], by: [.alone, .connects],
            """
            make("link", { rel: "preconnect", href: at.outside }, document.head)
            await soon(new Promise(() => {}), "nothing", 300)
            return "done"
            """),
        leak(
            "a hint", ["GET outside/hint"],
            """
            make("link", { rel: "prefetch", href: at.outside + "/hint" }, document.head)
            await soon(new Promise(() => {}), "nothing", 300)
            return "done"
            """),
        leak(
            "speculation rules", ["GET outside/speculation"], by: [.alone],
            """
            const script = document.createElement("script")
            script.type = "speculationrules"
            script.textContent = JSON.stringify({ prefetch: [{ urls: [at.outside + "/speculation"], eagerness: "immediate" }] })
            document.head.append(script)
            await soon(new Promise(() => {}), "nothing", 500)
            return "done"
            """),
        leak(
            "the location", ["GET outside/gone"], by: [.leaves], says: "outside/gone",
            "setTimeout(() => { location = at.outside + '/gone' })"),
        leak(
            "a link", ["GET outside/gone"], by: [.leaves, .asUser], says: "outside/gone",
            "const link = make('a', { href: at.outside + '/gone' }); setTimeout(() => link.click())"),
        leak(
            "a form", ["GET outside/gone"], by: [.leaves], says: "outside/gone",
            "const form = make('form', { action: at.outside + '/gone' }); setTimeout(() => form.submit())"),
        leak(
            "a refresh in a header", ["GET outside/leak"], by: [.leaves], says: "outside/leak",
            "setTimeout(() => { location = at.evil + '/refresh' })"),
        leak(
            "the location of an SVG document", on: "evil/agent.svg", ["GET outside/gone"], by: [.leaves],
            says: "outside/gone", "setTimeout(() => { location = at.outside + '/gone' })"),
        leak(
            "the location of an XHTML document", on: "evil/agent.xhtml", ["GET outside/gone"], by: [.leaves],
            says: "outside/gone", "setTimeout(() => { location = at.outside + '/gone' })"),
        leak(
            "the location of an XML document", on: "evil/agent.xml", ["GET outside/gone"], by: [.leaves],
            says: "outside/gone", "setTimeout(() => { location = at.outside + '/gone' })"),
        leak(
            "the page around a blob: document", ["GET outside/gone"], by: [.leaves, .asUser],
            says: "outside/gone",
            """
            const text = `<script>top.location = "${at.outside}/gone"</` + "script>"
            setTimeout(() => make("iframe", { src: URL.createObjectURL(new Blob([text], { type: "text/html" })) }))
            """),
        leak(
            "the page around a sandboxed document", ["GET outside/gone"], by: [.leaves, .asUser],
            says: "outside/gone", gap: "a script written for this can navigate the window out of the mirror",
            """
            const srcdoc = `<script>top.location = "${at.outside}/gone"</` + "script>"
            setTimeout(() => make("iframe", { srcdoc, sandbox: "allow-scripts allow-top-navigation" }))
            """),
        leak(
            "a window", ["GET outside/gone"], by: [.asUser],
            """
            open(at.outside + "/gone")
            return "done"
            """),
        leak(
            "a window that was opened empty", ["GET outside/gone"], by: [.asUser],
            gap: "a script written for this can navigate the window out of the mirror",
            """
            open("about:blank").location = at.outside + "/gone"
            return "done"
            """),
        leak(
            "a link to a window", ["GET outside/gone"], by: [.asUser],
            gap: "a script written for this can navigate the window out of the mirror",
            """
            make("a", { href: at.outside + "/gone", target: "_blank" }).click()
            return "done"
            """),
        leak(
            "a service worker that navigates its page", ["GET outside/gone"], by: [.alone, .leaves],
            says: "outside/gone",
            gap: "a script written for this can navigate the window out of the mirror",
            """
            await navigator.serviceWorker.register(at.evil + "/sw.js")
            const registration = await navigator.serviceWorker.ready
            await soon(new Promise((done) => {
              if (navigator.serviceWorker.controller) done()
              navigator.serviceWorker.oncontrollerchange = done
            }), "nothing", 500)
            setTimeout(() => registration.active.postMessage(at.outside + "/gone"))
            """),
    ]
}
