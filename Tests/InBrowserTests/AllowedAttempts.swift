extension Attempt {
    /// Makes an attempt that the web allows.
    private static func may(
        _ name: String, on page: String = "app/agent", _ word: String, arrives arrivals: [String] = [],
        by manner: Manner = [],
        _ script: String
    ) -> Attempt {
        Attempt(name, on: page, word, arrives: arrivals, by: manner, allowed: true, script)
    }

    /// Requests and actions that the web allows, so that they must work in a mirror too.
    static let allowed: [Attempt] = [
        may(
            "use a CDN's font with CORS for all origins", "loaded",
            "return new FontFace('A', `url(${at.cdn}/any.woff2)`).load().then(() => 'loaded', () => 'refused')"
        ),
        may(
            "use a CDN's font with CORS for the requesting origin", "loaded",
            "return new FontFace('B', `url(${at.cdn}/reflected.woff2)`).load().then(() => 'loaded', () => 'refused')"
        ),
        may(
            "use a sibling's font with CORS for this origin", "loaded",
            """
            return new FontFace("C", `url(${at["static.app"]}/own.woff2)`).load().then(() => "loaded", () => "refused")
            """),
        may(
            "import a CDN's module", "read",
            "return import(at.cdn + '/module.js').then(() => 'read', () => 'refused')"),
        may(
            "read a CDN's JSON", "read",
            "return read(at.cdn + '/data.json')"),
        may(
            "read an API that allows this origin, with credentials", "read",
            arrives: ["GET cdn/api.json {} O:app R:app/ cross-site cors empty"],
            "return read(at.cdn + '/act/api.json', { credentials: 'include' })"),
        may(
            "send a PUT to an API that allows it", "read",
            arrives: ["PUT cdn/api.json {} O:app R:app/ cross-site cors empty"],
            "return read(at.cdn + '/act/api.json', { method: 'PUT', credentials: 'include', headers: { 'X-Own': '1' } })"
        ).but([.offline], says: nil, arrives: [], because: "offline, a PUT cannot be sent"),
        may(
            "read the pixels of an image with CORS for all origins", "read",
            """
            const image = make("img", { crossorigin: "", src: at.cdn + "/open.png" })
            if (await image.outcome !== "loaded") return "refused"
            const context = make("canvas").getContext("2d")
            context.drawImage(image, 0, 0)
            try { context.getImageData(0, 0, 1, 1) } catch { return "shown" }
            return "read"
            """),
        may(
            "run a CDN's script with crossorigin", "loaded",
            "return loads('script', { crossorigin: '', src: at.cdn + '/open.js' })"),
        may(
            "run a CDN's script", "loaded", "return loads('script', { src: at.cdn + '/lib.js' })"),
        may(
            "show a CDN's image", "loaded", "return loads('img', { src: at.cdn + '/pic.png' })"),
        may(
            "use a CDN's style sheet", "rgb(1, 2, 3)",
            """
            await loads("link", { rel: "stylesheet", href: at.cdn + "/style.css" })
            return getComputedStyle(document.body).color
            """),
        may(
            "receive data by a CDN's JSONP script", "SECRET",
            """
            const called = new Promise((done) => { self.took = (data) => done(data.word) })
            make("script", { src: at.cdn + "/jsonp.js?callback=took" })
            return soon(called)
            """),
        may(
            "import a CDN's script into a worker", "ran",
            """
            const code = `importScripts("${at.cdn}/lib.js"); postMessage(self.lib)`
            const worker = new Worker(URL.createObjectURL(new Blob([code])))
            return soon(new Promise((done) => {
              worker.onmessage = (event) => done(event.data)
              worker.onerror = () => done("refused")
            }))
            """
        ).but(
            [.offline, .auto, .atRoot, .besideRoot, .sharedRoot, .besideSharedRoot], says: nil,
            because: "requests of a worker from a blob do not show its origin"),
        may(
            "start a worker of the own origin", "worked",
            """
            const worker = new Worker(at.app + "/worker.js")
            return soon(new Promise((done) => { worker.onmessage = (event) => done(event.data) }))
            """
        ).but([.besideSharedRoot], says: "refused", because: noOrigin),
        may(
            "register a service worker of the own origin", "registered", by: [.alone],
            "return navigator.serviceWorker.register(at.app + '/sw.js').then(() => 'registered', () => 'refused')"
        ).but([.besideSharedRoot], says: "refused", because: noOrigin),
        may(
            "register a service worker for the scope that its server allows", on: "evil/agent", "registered",
            by: [.alone],
            """
            return navigator.serviceWorker.register(at.evil + "/folder/sw-wide.js", { scope: at.evil + "/" })
              .then(() => "registered", () => "refused")
            """
        ).but([.besideSharedRoot], says: "refused", because: noOrigin),
        may(
            "read the origin of a received message", on: "evil/agent", "evil",
            "return ask(await frame(at.bank + '/agent'), 'nick(asker)')"
        ).but([.besideSharedRoot], says: "null", because: noOrigin),
        may(
            "frame a page that does not restrict framing", on: "evil/agent", "shown",
            "return shows(at.bank + '/framed')"),
        may(
            "frame a page that allows framing by this site", "shown",
            "return shows(at.bank + '/framed-app')"
        ).but([.besideSharedRoot], says: "nothing", because: noOrigin),
        may(
            "frame a page that allows framing only by its own site", on: "bank/agent", "shown",
            "return shows(at.bank + '/framed-self')"
        ).but([.besideSharedRoot], says: "nothing", because: noOrigin),
        may(
            "navigate a window that this page opened", on: "evil/agent", "led", by: [.alone, .asUser],
            """
            const window = await popup(at.bank + "/agent")
            window.location = at.player + "/agent"
            for (let turn = 0; turn < 50; turn++) {
              if (await ask(window, "nick(location.href)", 100) === "player/agent") return "led"
              // The page before answers as long as it is there.
              await new Promise(done => setTimeout(done, 50))
            }
            return "nothing"
            """),
        may(
            "look into a window of the own origin", "app", by: [.alone, .asUser],
            """
            const window = await popup(at.app + "/agent")
            try { return window.document.title } catch { return "refused" }
            """
        ).but([.besideSharedRoot], says: "refused", because: noOrigin),
        may(
            "exchange messages with an opener of the same site", "heard", by: [.alone, .asUser],
            "return ask(await popup(at['www.app'] + '/agent'), \"opener ? 'heard' : 'alone'\")"),
        may(
            "be cross-origin isolated, as shared memory requires", on: "app/isolated", "isolated",
            by: [.alone],
            """
            return crossOriginIsolated ? "isolated" : "not"
            """),
        may(
            "show an image with CORP cross-origin in an isolated page", on: "app/isolated", "loaded",
            "return loads('img', { src: at.cdn + '/corp.png' })"),
        may(
            "share a cookie of the domain with a sibling", on: "www.bank/agent", "shared", by: [.alone],
            """
            document.cookie = "shared=1; Domain=" + domain(at.bank)
            const window = await frame(at["static.bank"] + "/agent")
            return (await ask(window, "document.cookie")).includes("shared") ? "shared" : "apart"
            """
        ).but([.sharedRoot, .besideSharedRoot], says: nil, because: noOrigin)
            .but([.atRoot], says: nil, because: rootName),
        may(
            "share a cookie of the domain by its original name", on: "www.bank/agent", "shared",
            by: [.alone],
            """
            document.cookie = "shared=1; Domain=bank.example"
            const window = await frame(at["static.bank"] + "/agent")
            return (await ask(window, "document.cookie")).includes("shared") ? "shared" : "apart"
            """
        ).but([.sharedRoot, .besideSharedRoot], says: nil, because: noOrigin)
            .but([.atRoot], says: nil, because: rootName),
        may(
            "share a cookie of the domain that a server sets", on: "www.bank/agent", "shared",
            arrives: ["GET www.bank/share {} O:- R:www.bank/agent same-origin cors empty"], by: [.alone],
            """
            await fetch(at["www.bank"] + "/act/share")
            const window = await frame(at["static.bank"] + "/agent")
            return (await ask(window, "document.cookie")).includes("shared") ? "shared" : "apart"
            """
        ).but(
            [.offline], says: nil,
            because: "offline, no server sets the cookie"
        )
        .but([.sharedRoot, .besideSharedRoot], says: nil, because: noOrigin)
        .but([.atRoot], says: nil, because: rootName),
        may(
            "be one with a sibling by a common domain", on: "www.bank/own-domain", "read", by: [.alone],
            """
            const window = await frame(at["static.bank"] + "/own-domain")
            await ask(window, "document.domain = domain(at.bank)")
            document.domain = domain(at.bank)
            try { return window.document.title ? "read" : "empty" } catch { return "refused" }
            """
        ).but([.sharedRoot, .besideSharedRoot], says: "refused", because: noOrigin)
            .but([.offline, .auto, .besideRoot], says: "refused", because: originKeyed)
            .but([.atRoot], says: nil, because: rootName),
        may(
            "read a sibling with the cookies of all", on: "www.bank/agent", "read",
            arrives: [
                "GET bank/account.json {jar lax none strict} O:www.bank R:www.bank/ same-site cors empty"
            ],
            "return read(at.bank + '/act/account.json', { credentials: 'include' })"
        ).but([.offline], says: "refused", because: "the stored response does not allow this origin by CORS"),
        may(
            "read a sibling that allows this origin", "read",
            arrives: ["GET www.app/own.json {} O:app R:app/ same-site cors empty"],
            "return read(at['www.app'] + '/act/own.json', { credentials: 'include' })"),
        may(
            "read one's own page with all cookies", on: "bank/agent", "read",
            arrives: ["GET bank/account {jar lax none strict} O:- R:bank/agent same-origin cors empty"],
            "return read(at.bank + '/act/account')"),
        may(
            "play in a player that keeps something", "7", by: [.alone],
            """
            await ask(await frame(at.player + "/embed"), "localStorage.volume = '7'")
            return ask(await frame(at.player + "/embed"), "localStorage.volume ?? 'apart'")
            """
        ).but([.sharedRoot, .besideSharedRoot], says: nil, because: noOrigin),
        may(
            "find what a player keeps on a sibling's pages", "7", by: [.alone, .asUser],
            """
            await ask(await frame(at.player + "/embed"), "localStorage.volume = '7'")
            const other = await popup(at["www.app"] + "/agent")
            return ask(other, "frame(at.player + '/embed').then((player) => ask(player, \\"localStorage.volume ?? 'apart'\\"))")
            """
        ).but([.sharedRoot, .besideSharedRoot], says: nil, because: noOrigin)
            .but([.atRoot], says: nil, because: rootName),
        may(
            "talk to a player by its name on the web", on: "app/literal", "plays", by: [.alone],
            "return play()"
        ).but(
            [.offline, .auto, .atRoot, .besideRoot, .sharedRoot, .besideSharedRoot], says: nil,
            because: "a script that compares origins with the names on the web finds those of the mirror"),
    ]
}
