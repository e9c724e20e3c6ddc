/// Ways around the separation of origins on a server with a site at the root. The web has no equivalent. Each attempt
/// tries to read the bank's page, which contains the word SECRET, from a page of another site.
extension Attempt {
    static let aroundTheRoot: [Attempt] = addresses + pretending + embedding + working

    /// An attempt whose expected result is `kept`: the page did not get the secret.
    private static func kept(_ name: String, by manner: Manner = [], _ script: String) -> Attempt {
        Attempt(name, "kept", by: manner.union([.mirrorOnly, .mayArrive]), script)
    }

    /// Reads by URLs at which an earlier layout had other origins, and by URLs that may be parsed as such.
    private static let addresses: [Attempt] = [
        ("without a seal", "`/-/web/http/${at.bankHost}/act/account`"),
        ("at the earlier sealed address", "`/-/as/0.http.${at.bankHost}/http/${at.bankHost}/act/account`"),
        (
            "by an invented seal",
            "`/-/web/${'0'.repeat(32)}.http.${at.bankHost}/http/${at.bankHost}/act/account`"
        ),
        (
            "by the own seal with the other site's name",
            "`${(folder ?? '/-/web/0.http.x/').replace(/\\.http.*/, '')}.http.${at.bankHost}/http/${at.bankHost}/act/account`"
        ),
        ("by one's own seal", "`${folder ?? '/-/web/'}http/${at.bankHost}/act/account`"),
        ("by one's own seal and https", "`${folder ?? '/-/web/'}https/${at.bankHost}/act/account`"),
        ("by an empty seal", "`/-/web//http/${at.bankHost}/act/account`"),
        ("by dot segments", "`/x/..;/-/web/http/${at.bankHost}/act/account`"),
        ("by encoded dot segments", "`/x/%2e%2e/-/web/http/${at.bankHost}/act/account`"),
        ("by encoded slashes", "`/-%2fweb%2fhttp%2f${at.bankHost}%2fact%2faccount`"),
        ("by an encoded dash", "`/%2d/web/http/${at.bankHost}/act/account`"),
        ("by a path that begins with two slashes", "`/.//${at.bankHost}/act/account`"),
        ("by a backslash", "`/-/web\\\\http\\\\${at.bankHost}\\\\act/account`"),
        ("by a user name", "`${folder ?? '/-/web/'}http/evil@${at.bankHost}/act/account`"),
        ("by a pasted address", "`/http://${at.bankHost}/act/account`"),
        ("by the redirect of the shim", "`/-/larder/to/http://${at.bankHost}/act/account`"),
        ("as of a day", "`/@2999-01-01/http://${at.bankHost}/act/account`"),
    ].map { name, address in
        kept("read the bank's page \(name)", "return steal(location.origin + \(address))")
    }

    /// Requests that pretend to come from a page of the bank.
    private static let pretending: [Attempt] = [
        kept(
            "read as a page of the bank by a referrer",
            "return steal(at.bank + '/act/account', { referrer: `/-/web/http/${at.bankHost}/x`, credentials: 'include' })"
        ),
        kept(
            "read without a seal by a referrer",
            """
            const bank = `/-/web/http/${at.bankHost}/act/account`
            return steal(bank, { referrer: bank, referrerPolicy: 'unsafe-url', credentials: 'include' })
            """),
        kept(
            "read as a page of the bank by the earlier seal in a referrer",
            "return steal(at.bank + '/act/account', { referrer: `/-/as/0.http.${at.bankHost}/http/${at.bankHost}/x` })"
        ),
        kept(
            "read as a page of the bank by a changed address of the own page", by: [.alone],
            """
            try { history.replaceState(0, "", `/-/web/http/${at.bankHost}/act/x`) } catch { return "kept" }
            return new Promise((done) => {
              const request = new XMLHttpRequest()
              request.open("GET", at.bank + "/act/account")
              request.withCredentials = true
              request.onload = () => done(request.responseText.includes("SECRET") ? "read" : "kept")
              request.onerror = () => done("kept")
              request.send()
            })
            """),
        kept(
            "read as a document that a user opens",
            """
            const headers = { Accept: "text/html,application/xhtml+xml", "Upgrade-Insecure-Requests": "1" }
            return steal(at.bank + "/act/account", { headers, referrerPolicy: "no-referrer" })
            """),
        kept(
            "read with Larder-Policy prefer-cache",
            "return steal(at.bank + '/act/account', { headers: { 'Larder-Policy': 'prefer-cache' } })"),
        kept("read as one's own origin", "return steal(at.bank + '/act/account', { mode: 'same-origin' })"),
        kept("read a part", "return steal(at.bank + '/act/account', { headers: { Range: 'bytes=0-9999' } })"),
        kept(
            "read by a redirect of the own site",
            "return steal(at.evil + '/to-bank', { credentials: 'include', referrerPolicy: 'no-referrer' })"),
        kept(
            "read from a sandboxed frame of the own site",
            """
            const code = `(${async (url) => {
              try { return (await (await fetch(url)).text()).includes("SECRET") ? "read" : "kept" } catch { return "kept" }
            }})("${at.bank}/act/account").then((word) => parent.postMessage(word, "*"))`
            const said = new Promise((done) => addEventListener("message", (event) => done(event.data)))
            make("iframe", { sandbox: "allow-scripts", srcdoc: `<script>${code}<\\/script>` })
            return soon(said, "kept", 1000)
            """),
    ]

    /// Documents that the page embeds or opens, to read their content.
    private static let embedding: [Attempt] = [
        kept(
            "look into a frame of the bank's page",
            """
            const window = await frame(at.bank + "/act/account")
            try { return window.document.body.textContent.includes("SECRET") ? "read" : "kept" } catch { return "kept" }
            """),
        kept(
            "look into a frame of the bank's page without a seal",
            """
            const window = await frame(`/-/web/http/${at.bankHost}/act/account`)
            try { return window.document.body.textContent.includes("SECRET") ? "read" : "kept" } catch { return "kept" }
            """),
        kept(
            "look into an object of the bank's page",
            """
            const element = make("object", { data: at.bank + "/act/account", type: "text/html" })
            await soon(element.outcome)
            try { return element.contentDocument?.body.textContent.includes("SECRET") ? "read" : "kept" } catch { return "kept" }
            """),
        kept(
            "look into a window of the bank's page", by: [.alone, .asUser],
            """
            const window = open(at.bank + "/act/account")
            await soon(new Promise(() => {}), "", 500)
            try { return window.document.body.textContent.includes("SECRET") ? "read" : "kept" } catch { return "kept" }
            """),
        kept(
            "learn another page's seal from the referrer of a frame", by: [.alone],
            """
            const window = await frame(at.bank + "/agent")
            window.postMessage({ id: 1, code: `location = ${JSON.stringify(at.evil + "/agent")}` }, "*")
            await soon(new Promise(() => {}), "", 500)
            try { return window.document.referrer.includes("/-/web/") ? "told" : "kept" } catch { return "kept" }
            """),
        kept(
            "read the bank's page by an XML parser",
            """
            return new Promise((done) => {
              const request = new XMLHttpRequest()
              request.open("GET", at.bank + "/act/account")
              request.responseType = "document"
              request.onload = () => done(request.response?.body?.textContent.includes("SECRET") ? "read" : "kept")
              request.onerror = () => done("kept")
              request.send()
            })
            """),
        kept(
            "read the bank's page by an event stream",
            """
            const source = new EventSource(at.bank + "/act/account")
            const word = await soon(new Promise((done) => { source.onopen = () => done("read") }), "kept", 500)
            source.close()
            return word
            """),
    ]

    private static let working: [Attempt] = [
        kept(
            "run the bank's page as a worker",
            """
            try {
              const worker = new Worker(`${folder ?? "/-/web/"}http/${at.bankHost}/lib.js`)
              return await soon(new Promise((done) => { worker.onmessage = () => done("read") }), "kept", 500)
            } catch { return "kept" }
            """),
        kept(
            "register a service worker for the folder of other origins", by: [.alone],
            """
            try {
              await navigator.serviceWorker.register("/sw.js", { scope: "/-/web/" })
              return location.hostname.endsWith(".localhost") || location.hostname === "localhost" && !folder ? "kept" : "taken"
            } catch { return "kept" }
            """),
        kept(
            "answer for another site by a module service worker", by: [.alone],
            """
            try {
              const place = at.bank + "/act/account"
              await (await caches.open("routes")).put(place, new Response("TAKEN"))
              await soon(navigator.serviceWorker.register("/sw-routes.js", { type: "module" }), "", 1000)
              await soon(navigator.serviceWorker.ready)
              return (await (await fetch(place)).text()).includes("TAKEN") ? "taken" : "kept"
            } catch { return "kept" }
            """),
        kept(
            "answer for another site by a route of a service worker", by: [.alone],
            """
            try {
              const store = await caches.open("routes")
              const place = at.bank + "/act/account"
              await store.put(place, new Response("TAKEN"))
              await navigator.serviceWorker.register("/sw-routes.js")
              await soon(navigator.serviceWorker.ready)
              return (await (await fetch(place)).text()).includes("TAKEN") ? "taken" : "kept"
            } catch { return "kept" }
            """),
    ]
}
