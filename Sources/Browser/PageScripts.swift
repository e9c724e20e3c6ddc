internal import Web

/// The JavaScript that reads and scrolls pages, as texts for `Runtime.evaluate`. ``PageActions`` contains the
/// scripts that use a page's controls.
///
/// The scripts run in an isolated world of Chromium: they share the page's DOM, but not its global objects, so
/// that pages cannot replace built-in functions. Only one thing leaks through: a form or image with the name
/// of a member of `document` hides that member. The scripts therefore read members through
/// `Document.prototype`. ``permissionWatch`` is the exception: it runs in the page's own world.
enum PageScripts {
    /// JavaScript functions that all scripts can use:
    /// - `own(name)` reads a member of `document` that a form or image may hide.
    /// - `frames()` waits for two animation frames; by then the page has requested its newly visible content. It
    ///   stops waiting after a second, for pages that draw no frames.
    /// - `elements(root)` iterates over all elements below a node, including those in shadow roots.
    private static let helpers = """
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

    /// Returns a script that runs `body` as an async function with the helper functions. The value that `body`
    /// returns is the result of the evaluation.
    static func function(_ body: String) -> String { "(async () => {\(helpers)\(body)})()" }

    /// Returns statements that set `links` to a `Set` of the http and https URLs that the document, its shadow
    /// roots and its same-origin frames link to. They also define `isAction(element)`. They work only inside
    /// ``function(_:)``.
    static func collectLinks(for visit: PageVisit) -> String {
        """
        \(visit.ignoresActionLinks ? isActionDefinition : "const isAction = () => false;")
        \(isTemplateDefinition)
        const links = new Set();
        const collect = (root, depth) => {
          for (const e of elements(root)) {
            const name = e.localName;
            if (name === 'a' || name === 'area') {
              if (\(visit.ignoresNofollowLinks) && /\\b(nofollow|ugc|sponsored)\\b/i.test(e.rel)) continue;
              if (isAction(e) || isTemplate(e)) continue;
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

    /// JavaScript that defines `isAction`, which returns whether a link may change data on the server: its
    /// attributes name a method other than GET or ask for confirmation, or its text is a verb such as "delete".
    private static var isActionDefinition: String {
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

    /// JavaScript that defines `isTemplate`, which returns whether the URL of a link has a placeholder that a template engine
    /// or a script replaces, as the scan of documents decides it. The fragment names a view, and may contain anything.
    private static let isTemplateDefinition = #"""
        const guid = /\{[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}\}/gi;
        const placeholder = new RegExp('<%|\\{\\{|\\{%|[$%]\\{[^}]+\\}|\\{\\d{1,2}\\}|'
          + '\\{(?=[^}]{1,64}\\})[+./;?&]?[a-z_][a-z0-9_.,:?*+ -]*\\}', 'i');
        const isTemplate = (e) => {
          const address = e.getAttribute('href') || '';
          return /[{<]/.test(address) && placeholder.test(address.split('#')[0].replace(guid, ''));
        };
        """#

    /// A trivial script. A busy page replies to it late, which shows that its scripts are still running.
    static let busyTest = "1"

    /// Returns a script that reads the address, the title and the links of the page, and, unless `linksOnly` is
    /// true, the other contents that the options ask for. For a picture or PDF it first ends animations, pauses media,
    /// hides the text cursor, and waits up to 2 s for fonts.
    static func look(for visit: PageVisit, linksOnly: Bool) -> String {
        var script =
            collectLinks(for: visit)
                + """

                const look = { address: location.href, title: own('title'), links: [...links] };
                """
        if !linksOnly && visit.wantsText {
            script += """
                const body = own('body') || own('documentElement');
                let text = body ? body.innerText ?? body.textContent : '';
                // `innerText` leaves out shadow trees. The notice of a frozen copy is not a part of the page.
                for (const e of elements(document)) {
                  if (text.length > \(maxTextLength)) break;
                  const shadow = e.shadowRoot;
                  if (!shadow || shadow.nodeType !== 11 || e.localName === 'larder-notice') continue;
                  for (const node of shadow.childNodes) {
                    if (node.nodeType === 3) text += ' ' + node.data;
                    if (!(node instanceof HTMLElement) || /^(style|script|template)$/.test(node.localName)) continue;
                    text += '\\n' + node.innerText;
                  }
                }
                look.text = text.slice(0, \(maxTextLength));
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

    /// The maximum length of a page's text or HTML, in UTF-16 code units. The rest of a longer one is cut off.
    /// Both must fit into one message of the browser (`Message.maxBytes`).
    private static let maxTextLength = 32 << 20

    /// Scrolls by one screen. Returns whether this moved the page, and the new height of the page. Before the first time,
    /// it moves the mouse and its wheel.
    static let scroll = function(
        stir + findScrollBox
            + """
            const before = box.scrollTop;
            box.scrollBy({ top: box === page ? innerHeight : box.clientHeight, behavior: 'instant' });
            const hasMoved = box.scrollTop > before + 0.5;
            if (hasMoved) await frames();
            return { hasMoved, height: box.scrollHeight };
            """)

    /// Statements that move the mouse and its wheel once. Many pages load their scripts only when a person does so.
    private static let stir = """
        if (!globalThis.hasLarderStirred) {
          globalThis.hasLarderStirred = true;
          const how = { bubbles: true, composed: true, view: window, clientX: 8, clientY: 8 };
          const body = own('body') || own('documentElement');
          body.dispatchEvent(new PointerEvent('pointermove', { ...how, isPrimary: true, pointerId: 1, pointerType: 'mouse' }));
          for (const type of ['mouseover', 'mousemove']) body.dispatchEvent(new MouseEvent(type, how));
          body.dispatchEvent(new WheelEvent('wheel', { ...how, deltaY: 1 }));
        }

        """

    /// Scrolls back to the top.
    static let scrollBack = function(
        findScrollBox
            + """
            box.scrollTo({ top: 0, behavior: 'instant' });
            await frames();
            """)

    /// Statements that set `page` to the element that scrolls the document, and `box` to the element to scroll.
    /// Usually they are the same. If the document fits into the window, `box` is the scrollable element in the
    /// middle of the window, if there is one: many web applications scroll a part of the page instead.
    private static let findScrollBox = """
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

    /// Waits until the page has drawn itself, after its viewport or colour scheme changed.
    static let settle = function("await frames();")

    /// Reads the large entries of `localStorage`, after waiting for the first one for up to three seconds.
    static let readStorage = function(
        """
        const entries = () => {
          try {
            return Object.keys(localStorage).map((key) => ({ key, value: localStorage.getItem(key) ?? '' }))
              .filter((entry) => entry.value.length >= \(minStorageLength));
          } catch {
            return [];
          }
        };
        for (let round = 0; round < 30 && !entries().length; round += 1) {
          await new Promise((done) => setTimeout(done, 100));
        }
        return { entries: entries().slice(0, 20).map(({ key, value }) => ({ key, value: value.slice(0, 1 << 20) })) };
        """)

    /// The minimum length of an entry that is read, in UTF-16 code units. Preferences are shorter, and copies of scripts
    /// longer.
    private static let minStorageLength = 4096

    /// Returns a script that shows another view of the same document by setting the URL's fragment.
    static func go(to fragment: String) -> String {
        var text = JSONWriter()
        text.value(fragment)
        return function("location.hash = \(text.text); await frames();")
    }

    /// A script that reports which permissions a page requests, because the browser denies them without an event.
    /// It runs in the page's own world, before the page's scripts, and replaces the functions that request
    /// permissions by proxies.
    static let permissionWatch = """
        (() => {
          const tell = globalThis['\(permissionBinding)'];
          delete globalThis['\(permissionBinding)'];
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

    /// The name of the DevTools binding, a function that sends `Runtime.bindingCalled` to Larder.
    /// ``permissionWatch`` deletes it from the global object before the page's first script runs, so that pages
    /// cannot call it.
    static let permissionBinding = "larder asked"
}
