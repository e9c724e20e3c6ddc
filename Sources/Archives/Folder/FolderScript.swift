internal import Markup
internal import Web

/// The script beside the exported files of a site whose own scripts build URLs. Pages load it before
/// everything else. It redirects requests and navigation by the site's scripts to the files.
///
/// Links in markup are rewritten by the export, but URLs that scripts build at run time are not known then. So the
/// script replaces the properties and functions that take URLs (`img.src`, `setAttribute`, `fetch`, `XMLHttpRequest`,
/// `history.pushState`, …). Each of them passes its URL through a function that returns the URL of the file.
/// To save space, the script has a list only of those files whose names do not follow from their URLs by a rule.
///
/// Browsers do not let files fetch other files, but they load any file as a script. So each file that scripts
/// may fetch has a twin: a script file that contains the same data.
struct FolderScript {
    static let name = "~larder.js"
    /// The folder of the twins. The paths of the files follow it.
    static let twinFolder = "~data/"

    private let start: WebURL
    /// The keys of the entries of `localStorage` without which pages start (`ScriptCopies`).
    private let scriptCopyKeys: [String]
    /// The files whose names do not follow from their URLs by ``derivedFile(_:)``. URLs of the start page's origin
    /// are without the origin.
    private var files: [(url: String, file: String)] = []
    /// The URLs of pages whose file names follow from ``derivedFile(_:)``.
    private var pages: [String] = []
    /// The files that have a twin.
    private var filesWithTwin: Set<String> = []
    /// The first path segments of the exported URLs. The script applies ``derivedFile(_:)`` only below these,
    /// because nothing else is stored.
    private var firstSegments: Set<String> = []

    /// The maximum size of each list. Beyond it, the script derives the file from the URL.
    private static let maxListed = 50_000
    /// The maximum size of a file with a twin. Requests of scripts for larger files fail if the page is opened from a disk.
    static let maxTwinBytes = 64 << 20
    /// The maximum size of a file that gets a twin although no script is known to fetch it, and that is neither JSON nor
    /// WebAssembly, which only scripts can use.
    private static let maxSpeculativeTwinBytes = 8 << 20

    init(start: WebURL, scriptCopyKeys: [String] = []) {
        (self.start, self.scriptCopyKeys) = (start, scriptCopyKeys)
    }

    /// Returns the file name that follows from a URL of the start page's origin. The script contains the same
    /// rule.
    static func derivedFile(_ url: WebURL) -> String? {
        guard url.query == nil else { return nil }
        let path = String(url.path.drop { $0 == "/" })
        let last = path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
        if last.isEmpty { return path + "index.html" }
        let suffix = last.utf8.lastIndex(of: UInt8(ascii: ".")).map { last[$0...].utf8.dropFirst() }
        let isFile =
            suffix.map { (1...8).contains($0.count) && $0.allSatisfy(\.isASCIIAlphanumeric) } ?? false
        return isFile ? path : path + ".html"
    }

    /// Returns the first part of the path.
    private static func firstSegment(of url: WebURL) -> String {
        String(url.path.dropFirst().prefix { $0 != "/" })
    }

    /// Records the file for a URL; if the URL redirects, that of its target.
    mutating func add(_ url: WebURL, file: String, isPage: Bool) {
        let isOwn = url.origin == start.origin
        if isOwn, firstSegments.count < Self.maxListed { firstSegments.insert(Self.firstSegment(of: url)) }
        guard !isOwn || Self.derivedFile(url) != file else {
            if isPage, pages.count < Self.maxListed { pages.append(url.target) }
            return
        }
        if files.count < Self.maxListed { files.append((isOwn ? url.target : url.href, file)) }
    }

    // MARK: - Data

    /// Whether a body gets a twin although no script is known to fetch it: its type is one that scripts usually fetch, and it
    /// is not too large.
    static func isLikelyFetched(_ type: MediaType?, byteCount: Int) -> Bool {
        guard let essence = type?.essence, byteCount <= maxTwinBytes else { return false }
        if essence.contains("json") || essence == "application/wasm" { return true }
        if essence == "text/css" || essence.hasSuffix("javascript") || byteCount > maxSpeculativeTwinBytes {
            return false
        }
        return essence.hasPrefix("text/") || essence.hasSuffix("/xml")
            || essence == "application/octet-stream"
    }

    func hasTwin(_ name: String) -> Bool { filesWithTwin.contains(name) }

    /// Returns the name and text of the script that contains the data of a file.
    mutating func twin(
        of name: String, _ bytes: [UInt8], _ type: MediaType?
    ) -> (name: String, text: String) {
        filesWithTwin.insert(name)
        let jsonText = JSONText.text(of: bytes, type).map { "\($0),0" }
        let content = jsonText ?? "\"\(Base64.encode(bytes))\",1"
        let typeText = JSONText.quoted(type.map { "\($0)" } ?? "")
        return (Self.twin(of: name), "larder$data(\(JSONText.quoted(name)),\(typeText),\(content))\n")
    }

    /// Returns the file name of a twin. Its folders get a different suffix than the file, because a folder
    /// `a.json.js` may exist beside `a.json`, whose twin is `a.json.js`.
    static func twin(of name: String) -> String { "\(twinFolder)\(name.replacing("/", with: "~/")).js" }

    // MARK: - Pages

    private static let tagStart = Array("<script data-larder=\"".utf8)
    private static let tagEnd = Array("\(charset)></script>".utf8)
    /// The `charset` attribute. Without it, the browser would read the script in the encoding of the page.
    private static let charset = "charset=\"utf-8\""

    /// Returns the tag that is inserted at the beginning of a page.
    ///
    /// - Parameters:
    ///   - base: The base URL of the page's links.
    ///   - modules: The files of the modules that the page loads.
    ///   - hasMap: Whether the page has an import map, after which ``FolderModules`` calls the script again.
    static func tag(
        in file: String, of url: WebURL, base: WebURL, modules: [String] = [], hasMap: Bool = false
    ) -> [UInt8] {
        let from = FolderNames.reference(from: file, to: name)
        let baseAttribute = base == url ? "" : "\" data-base=\"\(attribute(base.href))"
        let page = attribute(url.key.href)
        let modulesAttribute =
            modules.isEmpty ? "" : "\" data-modules=\"\(modules.joined(separator: " "))"
        let mapAttribute = hasMap ? "\" data-map=\"own" : ""
        return Array(
            "<script data-larder=\"\(page)\(baseAttribute)\(modulesAttribute)\(mapAttribute)\" src=\"\(from)\" \(charset)></script>"
                .utf8)
    }

    /// Escapes text for a quoted attribute value.
    private static func attribute(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("\"", with: "&quot;")
    }

    /// Returns a page or script without the parts that the export inserted.
    static func removingInsertedParts(from bytes: [UInt8], _ format: BodyFormat) -> [UInt8] {
        guard format != .javaScript else {
            return ModuleReads.removingChanges(LocationReads.removingChanges(bytes))
        }
        guard let start = bytes.firstOffset(of: tagStart, in: 0..<min(bytes.count, 1 << 20)),
            let end = bytes.firstOffset(of: tagEnd, in: (start + tagStart.count)..<bytes.count)
        else { return bytes }
        return FolderModules.removingChanges(from: Array(bytes[..<start] + bytes[(end + tagEnd.count)...]))
    }

    // MARK: - The script

    /// The text of the script: a function, and its call with the data of the site.
    var text: String {
        var site = JSONWriter(.compact)
        site.object {
            $0.member("origin", start.origin)
            $0.member("files") { $0.object { for (url, file) in files { $0.member(url, file) } } }
            $0.member("tops") { $0.array { for segment in firstSegments.sorted() { $0.value(segment) } } }
            $0.member("pages") { $0.array { for page in pages { $0.value(page) } } }
            $0.member("data") { $0.array { for name in filesWithTwin.sorted() { $0.value(name) } } }
            $0.member("copies") { $0.array { for key in scriptCopyKeys { $0.value(key) } } }
        }
        return "(\(Self.body))(\(site.text))\n"
    }

    /// The function that the script calls with the data of the site. In it, `fileURL` returns the URL of the file to
    /// request in place of a URL, and `linkURL` the URL to which a link leads. `liveURL` is the URL that the page would
    /// show now on the live site, without its fragment: that is in `location`.
    private static let body = #"""
        // Written by Larder. Redirects requests of the site's scripts for original URLs to the exported files.
        (site) => {
          "use strict";
          const tag = document.currentScript;
          if (!tag || self.larder$) return;
          // Without the copies of scripts that other pages have left, the page requests the same scripts as online. Pages may
          // have no storage.
          try { for (const key of site.copies) localStorage.removeItem(key); } catch {}
          const root = new URL("./", tag.src).href, isFile = location.protocol === "file:";
          const [pages, data, tops] = [site.pages, site.data, site.tops].map((list) => new Set(list));
          const files = new Map(Object.entries(site.files));
          const state = Object.getOwnPropertyDescriptor(History.prototype, "state").get;
          let liveURL = new URL(state.call(history)?.larder$ ?? tag.dataset.larder);
          const target = (url) => url.pathname + url.search;

          // Resolves a value that a script uses as a URL to the URL on the live site; null for the URL of a file.
          const originalURL = (value) => {
            const text = String(value).trim();
            if (!text || text[0] === "#" || /^(?!https?:|file:|zim:)[a-z][a-z0-9+.-]*:/i.test(text)) return null;
            try {
              const url = new URL(text, tag.dataset.base ?? liveURL);
              if (url.href.startsWith(root)) return null;
              const isHere = url.protocol === location.protocol && url.host === location.host;
              return isHere ? new URL(target(url) + url.hash, site.origin) : url;
            } catch { return null; }
          };
          const listedFile = (url) => files.get(url.origin === site.origin ? target(url) : url.href.replace(/#.*/s, ""));
          const derivedFile = (path) => {
            path = path.replace(/^\/+/, "");
            return /(^|\/)$/.test(path) ? path + "index.html" : /\.[a-z0-9]{1,8}$/i.test(path) ? path : path + ".html";
          };
          const fileURL = (value) => {
            const url = originalURL(value);
            if (!url) return undefined;
            const exact = listedFile(url);
            if (exact !== undefined) return root + exact + url.hash;
            // A relative URL already resolves to its file.
            if (url.origin !== site.origin || !/^\s*([\/\\]|[a-z]+:)/i.test(value)) return undefined;
            // A query that was not stored may not matter to the server, such as one against caches.
            const path = url.pathname, file = files.get(path) ?? (tops.has(path.split("/")[1]) ? derivedFile(path) : undefined);
            return file === undefined ? undefined : root + file + url.hash;
          };
          const pageFile = (url) =>
            listedFile(url) ?? (url.origin === site.origin && pages.has(target(url)) ? derivedFile(url.pathname) : undefined);
          const linkURL = (value) => {
            const url = originalURL(value);
            if (!url) return undefined;
            const file = pageFile(url);
            return file === undefined ? url.href : root + file + url.hash;
          };
          // A srcset with data: URLs may contain commas in them, so it is not changed.
          const srcset = (list) => /data:/i.test(list) ? list :
            String(list).replace(/(^|,)(\s*)([^\s,]+)/g, (all, comma, space, url) => comma + space + (fileURL(url) ?? url));
          const style = (css) => String(css).replace(/(url\(\s*["']?)(\/[^"'()\s]+)/gi, (all, start, url) => start + (fileURL(url) ?? url));

          // URLs in properties and attributes of elements.
          const change = (element, name, value) => {
            if (name === "style") return style(value);
            if (/srcset$/.test(name)) return srcset(value);
            const isLink = /^(a|area|form|iframe|frame|button|input)$/i.test(element.localName) && name !== "src"
              || /^i?frame$/i.test(element.localName);
            return (isLink ? linkURL(value) : fileURL(value)) ?? value;
          };
          const names = {
            HTMLImageElement: ["src", "srcset"], HTMLScriptElement: ["src"], HTMLLinkElement: ["href"], HTMLIFrameElement: ["src"],
            HTMLMediaElement: ["src"], HTMLVideoElement: ["poster"], HTMLTrackElement: ["src"], HTMLSourceElement: ["src", "srcset"],
            HTMLEmbedElement: ["src"], HTMLObjectElement: ["data"], HTMLInputElement: ["src"], HTMLAnchorElement: ["href"],
            HTMLAreaElement: ["href"], HTMLFormElement: ["action"],
          };
          const attributes = new Set(["style", "xlink:href"]);
          for (const [type, list] of Object.entries(names))
            for (const name of list) {
              attributes.add(name);
              const property = Object.getOwnPropertyDescriptor(self[type].prototype, name), original = property.set;
              property.set = function (value) { original.call(this, change(this, name, value)); };
              Object.defineProperty(self[type].prototype, name, property);
            }
          const originalSetAttribute = Element.prototype.setAttribute;
          Element.prototype.setAttribute = function (name, value) {
            const lowerName = String(name).toLowerCase();
            // Files have no origin that CORS could allow.
            if (isFile && lowerName === "crossorigin") return;
            originalSetAttribute.call(this, name, attributes.has(lowerName) ? change(this, lowerName, value) : value);
          };
          if (isFile)
            for (const type of ["Script", "Link", "Image", "Media"])
              Object.defineProperty(self[`HTML${type}Element`].prototype, "crossOrigin", { get: () => null, set() {}, configurable: true });

          // URLs in markup that scripts insert.
          const selector = "[src^='/'],[href^='/'],[srcset*='/'],[poster^='/'],[style*='url(']";
          const rewriteURLs = (element) => {
            for (const { name, value } of [...element.attributes]) {
              const right = attributes.has(name) ? change(element, name, value) : value;
              if (right !== value) originalSetAttribute.call(element, name, right);
            }
          };
          new MutationObserver((records) => {
            for (const { addedNodes } of records)
              for (const node of addedNodes) {
                if (!(node instanceof Element)) continue;
                if (node.matches(selector)) rewriteURLs(node);
                if (node.firstElementChild) node.querySelectorAll(selector).forEach(rewriteURLs);
              }
          }).observe(document, { childList: true, subtree: true });

          // Data that files may not fetch is loaded as a script, the twin of the file.
          const loads = new Map();
          self.larder$data = (name, type, text, isBinary) => {
            const body = isBinary ? Uint8Array.from(atob(text), (c) => c.charCodeAt(0)) : text;
            loads.get(name)?.take(new Blob([body], { type }));
          };
          const twin = (name) => {
            let entry = loads.get(name);
            if (!entry) {
              loads.set(name, (entry = {}));
              entry.blob = new Promise((take, fail) => {
                entry.take = take;
                const script = document.createElement("script");
                script.charset = "utf-8";
                script.src = `${root}~data/${name.replaceAll("/", "~/")}.js`;
                script.onload = () => script.remove();
                script.onerror = () => fail(new TypeError("Failed to fetch"));
                (document.head ?? document.documentElement).append(script);
              });
            }
            return entry.blob;
          };
          // The name of the file for a URL, if the file has a twin.
          const nameWithTwin = (url) => {
            const file = (fileURL(url) ?? new URL(url, document.baseURI).href).replace(/[?#].*/s, "");
            const name = file.startsWith(root) ? decodeURIComponent(file.slice(root.length)) : "";
            return isFile && data.has(name) ? name : undefined;
          };
          const originalFetch = self.fetch;
          self.fetch = async function (input, init) {
            const url = input instanceof Request ? input.url : String(input);
            const method = String(init?.method ?? (input instanceof Request ? input.method : "GET")).toUpperCase();
            if (method !== "GET" && method !== "HEAD") return originalFetch.call(self, input, init);
            const name = nameWithTwin(url);
            if (name === undefined) return originalFetch.call(self, fileURL(url) ?? input, init);
            const blob = await twin(name);
            const response = new Response(blob, { headers: { "Content-Type": blob.type } });
            Object.defineProperty(response, "url", { value: new URL(url, liveURL).href });
            return response;
          };
          const request = XMLHttpRequest.prototype, { open, send, setRequestHeader } = request, waiting = new WeakMap();
          request.open = function (method, url, ...rest) {
            const isGet = /^(get|head)$/i.test(method), name = isGet ? nameWithTwin(url) : undefined;
            // The request is sent for a blob: URL when the twin is loaded. A synchronous request cannot wait for that.
            if (name !== undefined && rest[0] !== false) waiting.set(this, name);
            else waiting.delete(this);
            return open.call(this, method, (isGet ? fileURL(url) : undefined) ?? url, ...rest);
          };
          request.setRequestHeader = function (...header) {
            if (!waiting.has(this)) setRequestHeader.apply(this, header);
          };
          request.send = function (body) {
            const name = waiting.get(this);
            if (name === undefined) return send.call(this, body);
            twin(name).then((blob) => {
              const { responseType, timeout } = this;
              open.call(this, "GET", URL.createObjectURL(blob));
              Object.assign(this, { responseType, timeout });
              send.call(this);
            }, () => send.call(this));
          };
          for (const name of ["Worker", "SharedWorker"])
            if (self[name])
              self[name] = new Proxy(self[name], {
                construct: (type, [url, options]) => {
                  const file = fileURL(url) ?? new URL(url, document.baseURI).href;
                  const module = file.startsWith(root) ? modules.get(decodeURIComponent(file.slice(root.length).replace(/[?#].*/s, ""))) : undefined;
                  // A worker from a blob: URL of a file must be a classic script. A module that imports nothing can be one.
                  if (isFile && module) return new type(module.blob, typeof options === "object" ? { ...options, type: "classic" } : options);
                  return new type(fileURL(url) ?? url, options);
                },
              });
          // Browsers do not import modules from files, but from blob: URLs. Twins contain the texts of the modules.
          const modules = new Map(), inserted = new Set(), maxInserted = 256;
          const twinOf = (name) => `${root}~modules/${name.replaceAll("/", "~/")}.js`;
          let isMapped = false;
          const addMap = (map) => {
            const element = document.createElement("script");
            element.type = "importmap";
            element.textContent = JSON.stringify(map);
            const script = document.currentScript;
            if (script) script.after(element); else document.head.append(element);
          };
          const blobs = (imports) => {
            for (const [name, { blob }] of modules) imports["~larder/" + name] = imports[root + name] = blob;
            return imports;
          };
          // While the page is parsed, the twins are written into it as scripts, so that its modules run at the usual time.
          const insertTwins = (list) => {
            for (const name of list) {
              if (inserted.has(name)) continue;
              inserted.add(name);
              document.write(`<script charset="utf-8" src="${twinOf(name)}"></` + "script>");
            }
          };
          // The twin of a module calls this. `needs` are the modules that it imports, `later` those that it may import on demand.
          self.larder$module = (name, type, needs, later, text) => {
            if (modules.has(name)) return;
            modules.set(name, { blob: URL.createObjectURL(new Blob([text], { type })), needs });
            if (isMapped) return;
            insertTwins(needs);
            if (inserted.size < maxInserted) insertTwins(later);
          };
          self.larder$map = () => {
            let pageMap = {};
            try { pageMap = JSON.parse(document.querySelector("script[type=lardermap]")?.textContent ?? "{}"); } catch {}
            const imports = isFile ? {} : { "/": root, [root]: root, "~larder/": root };
            const lists = isFile ? [pageMap.imports, ...Object.values(pageMap.scopes ?? {})] : [pageMap.imports];
            for (const list of lists)
              for (const [key, value] of Object.entries(list ?? {})) {
                const url = new URL(value, document.baseURI).href, name = url.startsWith(root) ? url.slice(root.length) : "";
                imports[key] ??= modules.get(name)?.blob ?? url;
                if (isFile && key.endsWith("/"))
                  for (const [file, { blob }] of modules)
                    if ((root + file).startsWith(url)) imports[key + (root + file).slice(url.length)] ??= blob;
              }
            addMap({ imports: isFile ? blobs(imports) : imports, ...(isFile ? {} : { scopes: pageMap.scopes ?? {} }) });
            isMapped = true;
          };
          self.larder$meta = (name) => root + name;
          // Modules that are imported on demand are loaded then, with another import map.
          const loadModule = async (name) => {
            if (modules.has(name)) return;
            await new Promise((done) => {
              const script = document.createElement("script");
              script.charset = "utf-8";
              script.src = twinOf(name);
              script.onload = script.onerror = () => { script.remove(); done(); };
              document.head.append(script);
            });
            for (const need of modules.get(name)?.needs ?? []) await loadModule(need);
          };
          // import() with two arguments is a syntax error in older browsers, so it is hidden in eval.
          const load = (url, options) => options ? (0, eval)("(url, options) => import(url, options)")(url, options) : import(url);
          self.larder$import = async (from, specifier, options) => {
            const text = String(specifier), isRelative = /^\.{1,2}\//.test(text);
            let name = text.startsWith("~larder/") ? text.slice(8) : undefined;
            if (name === undefined && (isRelative || /^(\/|[a-z][a-z0-9+.-]*:)/i.test(text))) {
              const url = isRelative ? new URL(text, root + from).href : fileURL(text) ?? new URL(text, liveURL).href;
              if (!url.startsWith(root)) return load(url, options);
              name = decodeURIComponent(url.slice(root.length).replace(/[?#].*/s, ""));
            }
            if (name === undefined) return load(text, options);
            if (isFile && !modules.has(name)) {
              const mapped = new Set(modules.keys());
              await loadModule(name);
              const imports = blobs({});
              for (const old of mapped) { delete imports["~larder/" + old]; delete imports[root + old]; }
              addMap({ imports });
            }
            return load("~larder/" + name, options);
          };
          if (isFile && tag.dataset.modules) insertTwins(tag.dataset.modules.split(" "));
          if (tag.dataset.map === undefined) {
            if (isFile && tag.dataset.modules) document.write("<script>larder$map()</" + "script>");
            else if (!isFile) self.larder$map();
            else isMapped = true;
          }

          // Shows the original URL of the page to scripts that read location. The browser's history keeps the files' URLs.
          const address = () => {
            const url = new URL(liveURL);
            if (location.search) url.search = location.search;
            url.hash = location.hash;
            return url;
          };
          const navigate = (value, method) => {
            const url = new URL(value, address());
            if (target(url) === target(address()) && url.origin === liveURL.origin && url.hash) location.hash = url.hash;
            else location[method](linkURL(url) ?? url.href);
          };
          const replacement = {
            assign: (value) => navigate(value, "assign"), replace: (value) => navigate(value, "replace"),
            reload: () => location.reload(), toString: () => address().href,
            get href() { return address().href; }, set href(value) { navigate(value, "assign"); },
            get hash() { return location.hash; }, set hash(value) { location.hash = value; },
            get origin() { return address().origin; }, get ancestorOrigins() { return location.ancestorOrigins; },
          };
          for (const name of ["protocol", "host", "hostname", "port", "pathname", "search"])
            Object.defineProperty(replacement, name, {
              get: () => address()[name], enumerable: true,
              set: (value) => { const url = address(); url[name] = value; navigate(url, "assign"); },
            });
          for (const owner of [self, document]) {
            Object.defineProperty(owner, "larder$", { value: "larder$location" });
            Object.defineProperty(owner, "larder$location", { get: () => replacement, set: (value) => navigate(value, "assign") });
          }
          const unwrapped = (value) => (value && typeof value === "object" && "larder$" in value ? value.state : value);
          const popped = Object.getOwnPropertyDescriptor(PopStateEvent.prototype, "state").get;
          Object.defineProperty(History.prototype, "state", { get() { return unwrapped(state.call(this)); }, configurable: true });
          Object.defineProperty(PopStateEvent.prototype, "state", { get() { return unwrapped(popped.call(this)); }, configurable: true });
          addEventListener("popstate", (event) => {
            liveURL = new URL(popped.call(event)?.larder$ ?? tag.dataset.larder);
          }, true);
          for (const name of ["pushState", "replaceState"]) {
            const original = History.prototype[name];
            History.prototype[name] = function (value, title, to) {
              const url = to == null ? null : new URL(to, address());
              if (url) {
                if (url.origin !== liveURL.origin) throw new DOMException("not of this origin", "SecurityError");
                const file = name === "pushState" && url.pathname !== liveURL.pathname ? pageFile(url) : undefined;
                // If the new URL is an exported page, the browser navigates to it.
                if (file !== undefined && root + file !== location.href.replace(/[?#].*/s, ""))
                  return location.assign(root + file + url.hash);
                liveURL = new URL(target(url), liveURL);
              }
              const here = location.href.replace(/[?#].*/s, "");
              original.call(this, { larder$: liveURL.href, state: value }, title, url ? here + url.hash : undefined);
            };
          }
        }
        """#
}
