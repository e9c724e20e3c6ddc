internal import Web

/// The scripts that read and scroll pages. ``PageActions`` has those that use their controls.
///
/// They run in an isolated world, where pages cannot change built-in objects. Only named forms and images can
/// shadow members of `document`, so those members are read through `Document.prototype`.
enum PageScripts {
    /// Helper functions. `frames()` waits for two animation frames; by then the page has requested its newly
    /// visible content. It gives up after a second, for pages that draw no frames.
    private static let shared = """
        const own = (name) => Reflect.get(Document.prototype, name, document);
        const frames = () => new Promise((done) => {
          const timer = setTimeout(done, 1000);
          requestAnimationFrame(() => requestAnimationFrame(() => { clearTimeout(timer); done(); }));
        });
        const elements = function* (root) {
          const walker = Document.prototype.createTreeWalker.call(document, root, 1);
          for (let e = walker.nextNode(); e; e = walker.nextNode()) {
            yield e;
            const shadow = e.shadowRoot;
            if (shadow && shadow.nodeType === 11) yield* elements(shadow);
          }
        };
        """

    static func function(_ body: String) -> String { "(async () => {\(shared)\(body)})()" }

    /// Sets `links` to the links of the document, its shadow roots and its same-origin frames.
    static func links(for visit: PageVisit) -> String {
        """
        \(visit.ignoresActionLinks ? actionTest : "const isAction = () => false;")
        const links = new Set();
        const collect = (root, depth) => {
          for (const e of elements(root)) {
            const name = e.localName;
            if (name === 'a' || name === 'area') {
              if (\(visit.leavesMarkedLinks) && /\\b(nofollow|ugc|sponsored)\\b/i.test(e.rel)) continue;
              if (isAction(e)) continue;
              let href = e.href;
              try { if (href && href.baseVal) href = new URL(href.baseVal, e.baseURI).href; } catch {}
              if (typeof href === 'string' && /^https?:/.test(href)) links.add(href);
              if (links.size >= \(PageOutcome.maxLinks)) return;
            } else if ((name === 'iframe' || name === 'frame') && depth < 8) {
              let inner = null;
              try { inner = e.contentDocument; } catch {}
              if (inner && inner.nodeType === 9) collect(inner, depth + 1);
            }
          }
        };
        collect(document, 0);
        """
    }

    /// Defines `isAction`, which tells whether a link may change something.
    private static var actionTest: String {
        var verbs = JSONWriter()
        verbs.value(ActionLink.verbs.sorted())
        return """
            const actionTexts = new Set(\(verbs.text));
            const isAction = (e) => e.matches('[data-method]:not([data-method="get" i]), [data-turbo-method]'
              + ':not([data-turbo-method="get" i]), [data-confirm], [data-turbo-confirm], [hx-confirm]')
              || /confirm/i.test(e.getAttribute('onclick') || '')
              || [e.textContent, e.ariaLabel, e.title].some((text) => typeof text === 'string' && text.length < 120
                && actionTexts.has(text.trim().replace(/\\s+/g, ' ').toLowerCase()));
            """
    }

    /// A trivial script. Only the delay of its reply matters.
    static let busyTest = "1"

    /// Reads the address, the title and the links of the page, and, unless `linksOnly`, the other requested
    /// contents.
    static func look(for visit: PageVisit, linksOnly: Bool) -> String {
        var script =
            links(for: visit)
                + """

                const look = { address: location.href, title: own('title'), links: [...links] };
                """
        if !linksOnly && visit.wantsText {
            script += """
                const body = own('body') || own('documentElement');
                look.text = body ? (body.innerText ?? body.textContent).slice(0, \(maxTextLength)) : '';
                """
        }
        if !linksOnly && visit.wantsFrozen {
            script += PageFreeze.script + "look.frozen = frozen;"
        }
        if !linksOnly && visit.wantsDocument {
            script += "look.document = (own('documentElement')?.outerHTML ?? '').slice(0, \(maxTextLength));"
        }
        if !linksOnly && (visit.wantsPicture || visit.wantsPDF) {
            script += """
                try {
                  const sheet = new CSSStyleSheet();
                  sheet.replaceSync('*, ::before, ::after { caret-color: transparent !important;'
                    + ' transition: none !important }');
                  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
                } catch {}
                for (const e of elements(document)) if (e instanceof HTMLMediaElement) e.pause();
                for (const a of Document.prototype.getAnimations.call(document)) {
                  try { a.finish(); } catch { a.cancel(); }
                }
                const late = new Promise((done) => setTimeout(done, 2000));
                await Promise.race([own('fonts').ready, late]);
                await frames();
                const box = own('documentElement');
                look.width = box.clientWidth;
                look.height = Math.ceil(Math.max(box.scrollHeight, box.getBoundingClientRect().height));
                """
        }
        return function(script + "return look;")
    }

    /// The maximum length of a text or a document, in UTF-16 code units.
    private static let maxTextLength = 32 << 20

    /// Scrolls by one screen. Returns whether this moved the page, and the new height of the page.
    static let scroll = function(
        box
            + """
            const before = box.scrollTop;
            box.scrollBy({ top: box === page ? innerHeight : box.clientHeight, behavior: 'instant' });
            const hasMoved = box.scrollTop > before + 0.5;
            if (hasMoved) await frames();
            return { hasMoved, height: box.scrollHeight };
            """)

    static let scrollBack = function(
        box
            + """
            box.scrollTo({ top: 0, behavior: 'instant' });
            await frames();
            """)

    /// Sets `box` to the element that scrolls: usually the document's own, or else the scrollable one in the
    /// middle of the window.
    private static let box = """
        const page = own('scrollingElement') || own('documentElement');
        let box = page;
        if (page.scrollHeight <= innerHeight + 1) {
          let e = Document.prototype.elementFromPoint.call(document, innerWidth / 2, innerHeight / 2);
          const scrolls = (e) => e.scrollHeight > e.clientHeight + 1
            && /auto|scroll/.test(getComputedStyle(e).overflowY);
          while (e && e.nodeType === 1 && !scrolls(e)) e = e.parentElement || e.getRootNode().host;
          if (e && e.nodeType === 1) box = e;
        }
        """

    static let settle = function("await frames();")

    /// Shows another view of the same document by setting its fragment.
    static func go(to fragment: String) -> String {
        var text = JSONWriter()
        text.value(fragment)
        return function("location.hash = \(text.text); await frames();")
    }

    /// Reports which permissions a page requests, because the browser denies them without an event.
    static let permissionWatch = """
        (() => {
          const tell = globalThis['\(binding)'];
          delete globalThis['\(binding)'];
          if (typeof tell !== 'function') return;
          const watch = (object, name, what) => {
            const original = object && object[name];
            if (typeof original !== 'function') return;
            object[name] = new Proxy(original, {
              apply(target, self, words) {
                try { tell(what); } catch {}
                return Reflect.apply(target, self, words);
              },
            });
          };
          watch(globalThis.Notification, 'requestPermission', 'notifications');
          watch(globalThis.Geolocation?.prototype, 'getCurrentPosition', 'geolocation');
          watch(globalThis.Geolocation?.prototype, 'watchPosition', 'geolocation');
          watch(globalThis.MediaDevices?.prototype, 'getUserMedia', 'camera or microphone');
          watch(globalThis.MediaDevices?.prototype, 'getDisplayMedia', 'the screen');
          watch(globalThis.Clipboard?.prototype, 'read', 'the clipboard');
          watch(globalThis.Clipboard?.prototype, 'readText', 'the clipboard');
          watch(globalThis.Navigator?.prototype, 'requestMIDIAccess', 'MIDI devices');
          watch(globalThis.Bluetooth?.prototype, 'requestDevice', 'Bluetooth devices');
          watch(globalThis.USB?.prototype, 'requestDevice', 'USB devices');
          watch(globalThis.PushManager?.prototype, 'subscribe', 'push messages');
        })();
        """

    /// The name of the function that reports permissions. It is deleted before the first script of a page
    /// runs.
    static let binding = "larder asked"
}
