internal import HTTPServer
internal import Web

/// The service worker of the portal, and the page that it shows while the server does not answer.
///
/// The worker belongs to the portal's origin; mirrored sites have other origins. It passes every page on from the server
/// and stores none: only the time when the portal was last opened is in the browser's Cache Storage. Without scripts, and in browsers
/// that allow no worker for the address (http from another machine), the browser shows its own error page.
enum OfflineWorker {
    /// The path of the worker. It stays the same, since browsers look here for a newer version.
    static let path = "/-/offline-worker.js"

    /// The answer with the worker. `Service-Worker-Allowed` lets it control all pages of the portal, not only those below
    /// `/-/`. The policy is that of the worker, which may send requests to the portal.
    static func answer(_ securityFields: [(name: String, value: String)]) -> Answer {
        Answer(
            status: 200,
            fields: [
                ("Content-Type", "text/javascript; charset=utf-8"), ("Cache-Control", "no-cache"),
                ("Service-Worker-Allowed", "/"),
                ("Content-Security-Policy", "default-src 'none'; connect-src 'self'"),
            ] + securityFields.filter { $0.name != "Content-Security-Policy" },
            body: Array(text.utf8))
    }

    /// The script of the home page that registers the worker.
    enum Registration {
        /// The path of the script. It contains a hash of the text, so that browsers may cache the script for ever.
        static let path = PortalStyle.path(of: text, "offline", "js")

        static let text = """
            "use strict";
            if ("serviceWorker" in navigator) {
              navigator.serviceWorker.register("\(OfflineWorker.path)", { scope: "/", updateViaCache: "none" }).catch(() => {});
            }

            """
    }

    /// The source of the worker.
    ///
    /// Navigation preload sends the browser's own request: the server recognises clicks of persons by its headers. Requests
    /// that change something (POST) do not pass through the worker.
    static let text = """
        "use strict";
        const pages = \(pages);
        const lastOpened = "/-/last-opened";
        addEventListener("install", () => skipWaiting());
        addEventListener("activate", (event) => event.waitUntil((async () => {
          if (registration.navigationPreload) await registration.navigationPreload.enable();
          await clients.claim();
        })()));
        const recordOpening = async () => {
          const cache = await caches.open("larder");
          await cache.put(lastOpened, new Response(String(Date.now())));
        };
        const offlinePage = async () => {
          const wanted = navigator.languages.map((tag) => tag.split("-")[0]);
          const language = wanted.find((name) => Object.hasOwn(pages, name)) || "en";
          const found = await caches.match(lastOpened), at = found ? Number(await found.text()) : NaN;
          const time = Number.isFinite(at)
            ? new Intl.DateTimeFormat(language, { dateStyle: "long", timeStyle: "short" }).format(at) : "";
          const nonce = crypto.randomUUID();
          const html = pages[language].replace("NONCE", nonce).replace("HIDDEN", time ? "" : "hidden").replace("TIME", time);
          return new Response(html, { status: 503, headers: {
            "Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store",
            "Content-Security-Policy": `default-src 'none'; style-src 'unsafe-inline'; script-src 'nonce-${nonce}'; `
              + "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
          } });
        };
        addEventListener("fetch", (event) => {
          const { request } = event;
          if (request.mode !== "navigate" || request.destination !== "document" || request.method !== "GET") return;
          event.respondWith((async () => {
            try {
              const answer = await event.preloadResponse || await fetch(request);
              event.waitUntil(recordOpening().catch(() => {}));
              return answer;
            } catch {
              return offlinePage();
            }
          })());
        });

        """

    /// The pages as a JSON object, by language.
    private static let pages = JSONMembers(PortalLanguage.allCases.map { ($0.rawValue, page($0)) }).text(
        .compact)

    /// The page in one language, with the placeholders `NONCE`, `HIDDEN` and `TIME`.
    ///
    /// Its script requests the worker's own file, and reloads the page when the server answers. The button does the same
    /// without the script.
    private static func page(_ language: PortalLanguage) -> String {
        func text(_ sentence: Sentence, _ parts: String...) -> String {
            HTMLPage.escape(sentence.text(in: language, parts))
        }
        let body = """
            <h1>\(text(.offlineTitle))</h1>
            <p>\(text(.offlineLead))</p>
            <p>\(text(.offlineStart))</p>
            <pre>larder open
            larder serve</pre>
            <p>\(text(.offlineRetry)) <a href="">\(text(.doTryAgain))</a></p>
            <p class="soft" HIDDEN>\(text(.offlineLastOpened, "TIME"))</p>
            <script nonce="NONCE">
            setInterval(async () => {
              try {
                if ((await fetch("\(path)", { cache: "no-store" })).ok) location.reload();
              } catch { /* The server does not answer yet. */ }
            }, 3000);
            </script>
            """
        return HTMLPage(
            title: "\(Sentence.offlineTitle.text(in: language)) · Larder", body: body, language: language
        ).text
    }
}
