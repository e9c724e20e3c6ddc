internal import HTTPServer
internal import Markup
internal import Origins
internal import Portal
internal import Web

/// The shim: its paths, its script, and its element in pages. It is the script that rewrites the absolute
/// URLs that other scripts make at run time.
///
/// Links in stored bodies are rewritten when they are served. A script that joins `"https://cdn.test"` and `"/a.png"` makes
/// a URL that no scanner sees. The page's policy would block the request, and the shim gives it the mirror's address
/// instead. It runs before all other scripts of a page (`ResponseRenderer` inserts `tag`), and wraps the functions and
/// properties that take URLs.
///
/// Nothing depends on the shim for safety, since a script can avoid it. The Content-Security-Policy of each mirrored response
/// is what keeps the page from the network.
struct Shim: Sendable {
    /// The folder of Larder's own resources, which exists on every origin.
    static let folder = "/-/larder/"
    /// The path of the script.
    static let path = folder + "shim.js"
    /// The path below which the shim requests the mirror name of an origin. Only the server has the list of
    /// public suffixes.
    static let names = folder + "name/"
    /// The path below which the server redirects to the mirror address of a URL.
    static let ways = folder + "to/"

    /// The answer with the script. Its bytes are the same as long as the server's layout is.
    let answer: Answer
    /// The path of the script with a version made of its bytes, so that browsers may cache it.
    private let address: String

    init(layout: OriginLayout) {
        // In a block, so that none of its names are visible to the page's scripts.
        let prefix = Self.steady + Self.withoutScriptCopies + Self.address(layout)
        let script = Array("{\n\(prefix)\(ShimScript.text)\n}\n".utf8)
        // FNV-1a is sufficient, since it only has to change when the script does.
        let version = script.reduce(0xcbf2_9ce4_8422_2325 as UInt64) {
            ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3
        }
        address = "\(Self.path)?\(String(version, radix: 36))"
        let fields: [(name: String, value: String)] = [
            ("Content-Type", "text/javascript; charset=utf-8"),
            ("Cache-Control", "max-age=31536000, immutable"),
        ]
        answer = Answer(status: 200, fields: fields + layout.commonFields, body: script, sharing: .common)
    }

    /// The script element for documents. It tells the script in which folder the document finds other
    /// origins.
    ///
    /// - Parameters:
    ///   - steadySince: The time of a steady page (``SteadyTime``); nil for other pages.
    ///   - scriptCopyKeys: The keys of the entries of `localStorage` without which the document starts (`ScriptCopies`).
    func tag(
        _ format: BodyFormat, _ layout: OriginLayout, steadySince: Int?, scriptCopyKeys: [String]
    ) -> [UInt8] {
        let space = format.isXMLDocument ? " xmlns=\"http://www.w3.org/1999/xhtml\"" : ""
        let folder = layout.sharesOrigin ? "&\(layout.folder)" : ""
        let steady = steadySince.map { " data-steady=\"\($0)\"" } ?? ""
        var tag = Array("<script\(space) src=\"\(address)\(folder)\"\(steady)".utf8)
        if !scriptCopyKeys.isEmpty {
            tag += " data-copies=\"".utf8
            tag.append(escaping: JSONText.array(scriptCopyKeys))
            tag += "\"".utf8
        }
        return tag + "></script>".utf8
    }

    /// Sets the page's clock to a fixed start, if the script element has one.
    private static let steady = """
        {
          const since = Number(document.currentScript.dataset.steady);
          if (since) \(SteadyTime.script)(since);
        }

        """

    /// Removes the entries of `localStorage` that the script element names, before the page's scripts read them.
    private static let withoutScriptCopies = """
        {
          const keys = document.currentScript.dataset.copies;
          try {
            if (keys) for (const key of JSON.parse(keys)) localStorage.removeItem(key);
          } catch {
            // The page has no storage.
          }
        }

        """

    /// The answer to a request for the mirror name of an origin.
    static func nameAnswer(_ name: String) -> Answer {
        .text(200, name, fields: [("Cache-Control", "max-age=86400")], sharing: .common)
    }

    /// Whether a request target is that of the script, in any version.
    static func isTarget(_ target: String) -> Bool {
        target.hasPrefix(path) && (target.utf8.count == path.utf8.count || target.hasPrefix(path + "?"))
    }

    /// JavaScript functions that compute the mirror address of a URL, like `OriginLayout.address`, and the
    /// mirror name of a domain.
    private static func address(_ layout: OriginLayout) -> String {
        guard layout.sharesOrigin, let root = layout.root else {
            return #"""
                const larderHere = new URL(document.currentScript.src);
                const larderIsInside = \#(!layout.allowsNetwork);
                const larderName = ((names) => (origin) => {
                  if (!names.has(origin)) {
                    // Synchronous, since URLs are needed synchronously. The server is on this machine.
                    const request = new XMLHttpRequest();
                    request.open("GET", larderHere.origin + "\#(Shim.names)" + origin, false);
                    request.send();
                    names.set(origin, request.status === 200 ? request.responseText : "");
                  }
                  return names.get(origin);
                })(new Map());
                const larderAddress = (url) => {
                  const port = larderHere.port ? ":" + larderHere.port : "";
                  if (url.host === larderHere.host || url.host === "localhost" + port || url.host.endsWith(".localhost" + port)) return url.href;
                  let name = "";
                  try {
                    name = larderName(url.origin);
                  } catch {
                    // A page that is being unloaded may not send synchronous requests.
                  }
                  return name
                    ? `${larderHere.protocol}//${name}${port}${url.pathname}${url.search}${url.hash}`
                    : larderHere.origin + "\#(Shim.ways)" + url.href;
                };
                const larderDomain = (domain) => {
                  // The site at the root shares its name with no other host.
                  if (!larderHere.hostname.endsWith(".localhost")) return "";
                  try {
                    return domain.endsWith(".localhost") ? domain : larderName("https://" + domain.replace(/^\./, ""));
                  } catch {
                    return "";
                  }
                };

                """#
        }
        return #"""
            const larderHere = new URL(document.currentScript.src);
            const larderIsInside = \#(!layout.allowsNetwork);
            const larderAddress = (url) => {
              const others = larderHere.search.split("&")[1] ?? "";
              if (url.hostname === "\#(OriginLayout.portalName)" && url.port === larderHere.port) return url.href;
              if (url.host === larderHere.host) return url.href;
              const isRoot = \#(JSONText.array(root.origins)).includes(url.origin);
              const place = isRoot ? "" : `${others}${url.protocol.slice(0, -1)}/${url.host}`;
              return larderHere.origin + place + url.pathname + url.search + url.hash;
            };
            const larderDomain = () => "";

            """#
    }
}

/// Writes lists of words as JSON.
private enum JSONText {
    static func array(_ words: [String]) -> String {
        var writer = JSONWriter(.compact)
        writer.array { array in
            for word in words { array.value(word) }
        }
        return writer.text
    }
}

/// The script that rewrites absolute URLs that other scripts make at run time to mirror addresses.
///
/// The code in front of it defines `larderHere`, the shim's own address; `larderAddress`, which returns the
/// mirror address of an http or https URL, and leaves mirror addresses unchanged; `larderDomain`, which
/// returns the mirror name of a host, or "" if it has none; and `larderIsInside`, which says whether network
/// access is blocked.
enum ShimScript {
    static let text = #"""
        // Rewrites absolute URLs that this page's scripts request to mirror addresses: the scripts were written for
        // the network, which the page must not request from. Leaves everything else unchanged.
        (function larderShim(larderAddress, larderDomain, shimAddress, isInside) {
          "use strict";
          const mark = Symbol.for("larder");
          if (self[mark]) return;
          Object.defineProperty(self, mark, { value: true });

          // The mirror address of a reference that names an origin; any other reference unchanged.
          const led = (reference) => {
            const text = String(reference);
            if (!/^[\0-\x20]*(?:https?:)?[\/\\]{2}/i.test(text)) return reference;
            try {
              return larderAddress(new URL(text, document.baseURI));
            } catch {
              return reference;
            }
          };
          const ledSet = (set) =>
            String(set).replace(/(^|,)(\s*)((?:https?:)?\/\/[^\s,]+)/gi, (_, comma, space, url) => comma + space + led(url));

          // The same for the URLs in CSS text.
          const ledStyle = (css) =>
            String(css).replace(/(url\(\s*["']?|@import\s+["'])((?:https?:)?\/\/[^"'()\s]+)/gi, (_, start, url) => start + led(url));

          // Replaces a function by one that passes its arguments through `change`.
          const wrap = (object, name, change) => {
            const original = object?.[name];
            if (!original) return;
            object[name] = new Proxy(original, {
              apply: (target, self, args) => Reflect.apply(target, self, change(args, self)),
              construct: (target, args, newTarget) =>
                Reflect.construct(target, change(args), newTarget === object[name] ? target : newTarget),
            });
          };
          const first = (args) => (args.length ? [led(args[0]), ...args.slice(1)] : args);

          // Replaces the setter of a property by one that passes the value through `change`.
          const rewrite = (type, name, change) => {
            const prototype = self[type]?.prototype;
            const property = prototype && Object.getOwnPropertyDescriptor(prototype, name);
            if (!property?.set) return;
            const set = property.set;
            property.set = function (value) { set.call(this, change(value, this)); };
            Object.defineProperty(prototype, name, property);
          };

          // Inserts the shim into documents that no server sends: those of `srcdoc`, of blobs, and empty ones.
          const tag = `<script src="${shimAddress}"></` + "script>";
          const shimmed = (html) => (String(html).startsWith(tag) ? html : tag + html);
          const blobs = new Map();
          const blobDocument = (url) => {
            const blob = blobs.get(String(url));
            return blob ? URL.createObjectURL(new Blob(["<!doctype html>" + tag, blob], { type: blob.type + ";larder" })) : url;
          };
          URL.createObjectURL = new Proxy(URL.createObjectURL, {
            apply: (target, self, args) => {
              const url = Reflect.apply(target, self, args);
              if (args[0] instanceof Blob && /^text\/html(?!.*;larder)/i.test(args[0].type)) blobs.set(url, args[0]);
              return url;
            },
          });
          const install = (place) => {
            try {
              const view = place.defaultView ?? place;
              if (!view[mark]) view.eval(`(${larderShim})`)(larderAddress, larderDomain, shimAddress, isInside);
            } catch {
              // There is no document, or it is of another origin.
            }
            return place;
          };
          for (const type of ["HTMLIFrameElement", "HTMLFrameElement", "HTMLObjectElement"])
            for (const name of ["contentWindow", "contentDocument"]) {
              const prototype = self[type]?.prototype;
              const property = prototype && Object.getOwnPropertyDescriptor(prototype, name);
              if (!property?.get) continue;
              const get = property.get;
              property.get = function () { return install(get.call(this)); };
              Object.defineProperty(prototype, name, property);
            }

          wrap(self, "fetch", (args) => {
            const [request, options] = args;
            if (!(request instanceof Request)) return first(args);
            const url = led(request.url);
            return url === request.url ? args : [new Request(url, request), options];
          });
          wrap(XMLHttpRequest.prototype, "open", ([method, url, ...rest]) => [method, led(url), ...rest]);

          // Many scripts show the page of a link themselves, from data or from a part of its HTML. If that is not stored
          // and the page is, the page is opened, as without the script. `followed` is the link that was clicked last.
          let followed = null;
          const bare = (url) => String(url).replace(/#.*/, "");
          addEventListener("click", (event) => {
            followed = null;
            if (event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
            const link = event.composedPath().find((one) => one instanceof HTMLAnchorElement && one.href);
            if (!link || link.hasAttribute("download") || (link.target && link.target !== "_self")) return;
            const url = new URL(led(link.href), document.baseURI);
            if (url.origin !== location.origin || bare(url) === bare(location)) return;
            followed = { url, until: performance.now() + 10000 };
          }, true);
          const page = self.fetch;
          const didReceive = (link, address, source) => {
            const isMiss = /^miss\b/.test(source), isOtherForm = /^hit;.*\bform\b/.test(source);
            if (link !== followed || performance.now() > link.until || !(isMiss || isOtherForm)) return;
            const isForLink = new URL(address).pathname === link.url.pathname;
            const isRouted = bare(location) === bare(link.url);
            if (!isForLink && !(isMiss && isRouted)) return;
            followed = null;
            page(link.url.href, { method: "HEAD", headers: { Accept: "text/html" } }).then((answer) => {
              if (!answer.ok || !/html/.test(answer.headers.get("Content-Type"))) return;
              if (bare(location) === bare(link.url)) location.reload(); else location.assign(link.url.href);
            }, () => {});
          };
          if (page)
            self.fetch = new Proxy(page, {
              apply: (target, self, args) => {
                const link = followed, answer = Reflect.apply(target, self, args);
                if (link) answer.then(({ url, headers }) => url && didReceive(link, url, headers.get("Larder") ?? ""), () => {});
                return answer;
              },
            });
          wrap(XMLHttpRequest.prototype, "send", (args, request) => {
            const link = followed;
            if (link)
              request.addEventListener("load", () => {
                if (!request.responseURL.startsWith(location.origin + "/")) return;
                didReceive(link, request.responseURL, request.getResponseHeader("Larder") ?? "");
              }, { once: true });
            return args;
          });
          for (const name of ["Worker", "SharedWorker"]) wrap(self, name, first);
          wrap(self, "FontFace", ([family, source, ...rest]) =>
            [family, typeof source === "string" ? ledStyle(source) : source, ...rest]);
          wrap(self.ServiceWorkerContainer?.prototype, "register", first);
          self.open = new Proxy(self.open, {
            apply: (target, self, [url, ...rest]) =>
              install(Reflect.apply(target, self, url === undefined ? [] : [blobDocument(led(url)), ...rest])),
          });
          for (const name of ["pushState", "replaceState"])
            wrap(History.prototype, name, ([state, title, url]) => [state, title, url == null ? url : led(url)]);
          // The server of the page is this one, which answers whether or not the machine has a network. Many pages send no
          // requests while the browser says that it has none.
          const onLine = Object.getOwnPropertyDescriptor(Navigator.prototype, "onLine");
          if (onLine) Object.defineProperty(Navigator.prototype, "onLine", { ...onLine, get: () => true });
          addEventListener("offline", (event) => event.stopImmediatePropagation(), true);
          // No server receives beacons, WebRTC calls or speculative requests.
          Navigator.prototype.sendBeacon = () => true;
          if (isInside) for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection", "WebTransport"]) delete self[name];
          if (HTMLScriptElement.supports)
            HTMLScriptElement.supports = new Proxy(HTMLScriptElement.supports, {
              apply: (target, self, args) => args[0] !== "speculationrules" && Reflect.apply(target, self, args),
            });

          // Scripts use the domain names of the network for cookies and `document.domain`.
          const ledCookie = (cookie) =>
            String(cookie).replace(/;\s*domain\s*=\s*\.?([^;\s]*)/i, (_, domain) => {
              const name = domain && larderDomain(domain);
              return name ? "; Domain=" + name : "";
            });
          rewrite("Document", "cookie", ledCookie);
          rewrite("Document", "domain", (domain) => larderDomain(String(domain)) || domain);
          if (self.CookieStore)
            wrap(CookieStore.prototype, "set", ([name, ...rest]) =>
              name?.domain ? [{ ...name, domain: larderDomain(name.domain) || undefined }, ...rest] : [name, ...rest]);

          // The server identifies the requesting page by the referrer, so no page may suppress it.
          for (const type of ["Image", "Script", "Link", "IFrame", "Anchor", "Area"])
            rewrite(`HTML${type}Element`, "referrerPolicy", () => "");

          // The properties and attributes of elements that have URLs.
          const places = {
            HTMLImageElement: ["src", "srcset"], HTMLScriptElement: ["src"], HTMLLinkElement: ["href", "imageSrcset"],
            HTMLIFrameElement: ["src"], HTMLMediaElement: ["src"], HTMLVideoElement: ["poster"], HTMLTrackElement: ["src"],
            HTMLSourceElement: ["src", "srcset"], HTMLEmbedElement: ["src"], HTMLObjectElement: ["data"],
            HTMLInputElement: ["src", "formAction"], HTMLButtonElement: ["formAction"], HTMLAnchorElement: ["href"],
            HTMLAreaElement: ["href"], HTMLFormElement: ["action"],
          };
          const attributes = new Set(["xlink:href", "style", "srcdoc", "referrerpolicy"]);
          const change = (name, value, element) => {
            if (name === "style") return ledStyle(value);
            if (name === "srcdoc") return shimmed(value);
            if (name === "referrerpolicy") return "";
            if (/srcset$/i.test(name)) return ledSet(value);
            return blobs.size && !(element instanceof HTMLAnchorElement) ? blobDocument(led(value)) : led(value);
          };
          rewrite("HTMLIFrameElement", "srcdoc", shimmed);
          for (const [type, names] of Object.entries(places)) {
            for (const name of names) {
              attributes.add(name.toLowerCase());
              rewrite(type, name, (value, element) => change(name, value, element));
            }
          }
          const changed = (name, value, element) =>
            attributes.has(String(name).toLowerCase()) ? change(String(name).toLowerCase(), value, element) : value;
          wrap(Element.prototype, "setAttribute", ([name, value], element) => [name, changed(name, value, element)]);
          wrap(Element.prototype, "setAttributeNS", ([space, name, value], element) =>
            [space, name, changed(name, value, element)]);

          // The functions that set styles.
          wrap(CSSStyleDeclaration.prototype, "setProperty", ([name, value, ...rest]) =>
            [name, value == null ? value : ledStyle(value), ...rest]);
          for (const name of ["insertRule", "replace", "replaceSync"])
            wrap(CSSStyleSheet.prototype, name, ([text, ...rest]) => [ledStyle(text), ...rest]);

          // A script has the digest of the original body, and not of the one with rewritten links.
          for (const type of ["HTMLScriptElement", "HTMLLinkElement"])
            Object.defineProperty(self[type].prototype, "integrity", { get: () => "", set: () => {}, configurable: true });

          // Elements from markup that scripts wrote: their first request was blocked by the page's policy. Setting
          // the attribute again repeats it with the mirror address.
          const selector =
            "[src^=http],[src^='//'],[srcset*='//'],[href^=http],[href^='//'],[poster*='//'],[data*='//'],[style*='//'],style,iframe";
          const mend = (element) => {
            if (element instanceof HTMLIFrameElement) void element.contentWindow;
            if (element instanceof HTMLStyleElement) {
              const right = ledStyle(element.textContent);
              if (right !== element.textContent) element.textContent = right;
            }
            for (const { name, value } of [...element.attributes]) {
              const right = changed(name, value, element);
              if (right !== value) element.setAttribute(name, right);
            }
          };
          new MutationObserver((records) => {
            for (const { addedNodes, type, target } of records) {
              // The properties of a style cannot be wrapped in every browser.
              if (type === "attributes" && target.getAttribute("style")?.includes("//")) mend(target);
              for (const node of addedNodes) {
                if (!(node instanceof Element)) continue;
                if (node.matches(selector)) mend(node);
                if (node.firstElementChild) node.querySelectorAll(selector).forEach(mend);
              }
            }
          }).observe(document, { childList: true, subtree: true, attributeFilter: ["style"] });

          // The same for an element that is clicked before the observer has seen it.
          for (const type of ["click", "auxclick", "submit"])
            addEventListener(type, ({ target }) => {
              const element = target instanceof Element && target.closest("a,area,form,button,input");
              if (element) mend(element);
            }, true);

          // Navigations that a script starts.
          self.navigation?.addEventListener("navigate", (event) => {
            const wanted = event.destination.url;
            const url = event.downloadRequest == null ? blobDocument(led(wanted)) : led(wanted);
            if (url === wanted || !event.cancelable) return;
            event.preventDefault();
            location.href = url;
          });
        })(larderAddress, larderDomain, larderHere.href, larderIsInside);
        """#

    // MARK: - Workers

    /// The code that is inserted before a worker's script. Keeps the script in strict mode if it was.
    ///
    /// - Parameters:
    ///   - isGuarded: Whether the script is for a service worker of the site at the root, whose name other
    ///     origins share.
    ///   - steadySince: The time of a worker of a steady page; nil for others.
    static func prefix(of script: [UInt8], isGuarded: Bool, steadySince: Int?) -> [UInt8] {
        Array((isStrict(script) ? "\"use strict\";" : "").utf8) + (isGuarded ? workerGuard : [])
            + Array((steadySince.map { SteadyTime.call(since: $0) + "\n" } ?? "").utf8)
    }

    /// Hides all requests for other origins from the worker: it gets no events for them and cannot add routes
    /// for them. The functions are saved before the worker's own script could change them.
    ///
    /// The guard declares `await` as a name. That is not allowed in a module, so a browser refuses to run a
    /// module worker with this guard. The imports of a module would run before the guard.
    private static let workerGuard = Array(
        #"""
        {
          const apply = Reflect.apply, starts = String.prototype.startsWith, stop = Event.prototype.stopImmediatePropagation;
          const get = (type, name) => Object.getOwnPropertyDescriptor(type.prototype, name).get;
          if (globalThis.InstallEvent) delete InstallEvent.prototype.addRoutes;
          const request = get(FetchEvent, "request"), address = get(Request, "url"), own = location.origin + "/-/", await = 0;
          addEventListener("fetch", (event) => {
            if (apply(starts, apply(address, apply(request, event, []), []), [own])) apply(stop, event, []);
          });
        }

        """#.utf8)

    /// Whether the script begins with a "use strict" directive, which has no effect after other statements.
    private static func isStrict(_ script: [UInt8]) -> Bool {
        var rest = script[...]
        if rest.starts(with: [0xEF, 0xBB, 0xBF]) { rest = rest.dropFirst(3) }
        while true {
            rest = rest.drop { HTTPGrammar.isSpace($0) || $0 == 0x0A || $0 == 0x0D }
            if rest.starts(with: "//".utf8) {
                rest = rest.drop { $0 != 0x0A && $0 != 0x0D }
            } else if rest.starts(with: "/*".utf8) {
                guard
                    let end = rest.dropFirst(2).indices.first(where: { rest[$0...].starts(with: "*/".utf8) })
                else { return false }
                rest = rest[(end + 2)...]
            } else {
                return rest.starts(with: "\"use strict\"".utf8) || rest.starts(with: "'use strict'".utf8)
            }
        }
    }
}
