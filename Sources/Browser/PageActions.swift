internal import Web

/// The scripts that use the controls of a page: its search field, its collapsed parts and its buttons.
///
/// They run in the isolated world of ``PageScripts``. State that the page must not see is in global variables
/// of that world.
enum PageActions {
    // MARK: - Controls

    /// Opens collapsed parts of the page and of its frames, presses its buttons, gives the focus to its text fields, and
    /// then opens one tab. Returns how many controls were used, whether a tab was among them, and the current links. Uses
    /// nothing twice, except buttons that show more of the same, follows no links and sends no forms. The result also
    /// contains the fragments of other views of the document that the controls showed.
    static func unfold(for visit: PageVisit) -> String {
        PageScripts.function(
            PageScripts.collectLinks(for: visit) + knownControls(visit) + shared + unfolding(for: visit))
    }

    /// Sets `knownControls` to the signatures of controls that were used on other pages.
    static func knownControls(_ visit: PageVisit) -> String {
        var text = JSONWriter()
        text.value(visit.usedControls?.signatures(for: visit.controlGroup, besides: visit.url) ?? [])
        return "const knownControls = \(text.text);"
    }

    /// Helper functions. `press` sends a full sequence of pointer and mouse events to the innermost element, because
    /// listeners may be on any element and for any event. `name` is the name by which a person knows a control.
    static let pressing = """

        // The last descendant at the point, for an element that something else covers.
        const descendantAt = (e, x, y) => {
          let found = e;
          for (const inner of e.querySelectorAll('*')) {
            const box = inner.getBoundingClientRect();
            const isAt = box.left <= x && x <= box.right && box.top <= y && y <= box.bottom;
            if (isAt && getComputedStyle(inner).pointerEvents !== 'none') found = inner;
          }
          return found;
        };
        // An item of a tree is pressed at its text: its listener may be there, and its box contains the items below it.
        const boxOf = (e) => {
          if (!e.matches('[role="treeitem"]')) return e.getBoundingClientRect();
          const texts = Document.prototype.createTreeWalker.call(e.ownerDocument, e, 4), range = new Range();
          for (let text = texts.nextNode(); text; text = texts.nextNode()) {
            range.selectNodeContents(text);
            const box = range.getBoundingClientRect();
            if (text.data.trim() && box.width) return box;
          }
          return e.getBoundingClientRect();
        };
        const press = (e) => {
          if (!e.isConnected) return;
          e.scrollIntoView({ block: 'nearest', inline: 'nearest', behavior: 'instant' });
          const box = boxOf(e);
          const clientX = box.x + box.width / 2, clientY = box.y + box.height / 2;
          const root = e.getRootNode(), kind = root.nodeType === 9 ? Document : ShadowRoot;
          const inner = kind.prototype.elementFromPoint.call(root, clientX, clientY);
          let target = inner && e.contains(inner) ? inner : descendantAt(e, clientX, clientY);
          while (target.childElementCount === 1) target = target.firstElementChild;
          const how = { bubbles: true, cancelable: true, composed: true, detail: 1, view: window, clientX, clientY };
          const pen = { ...how, detail: 0, isPrimary: true, pointerId: 1, pointerType: 'mouse' };
          target.dispatchEvent(new PointerEvent('pointerdown', { ...pen, buttons: 1 }));
          target.dispatchEvent(new MouseEvent('mousedown', { ...how, buttons: 1 }));
          target.closest('a, button, input, [tabindex]')?.focus();
          target.dispatchEvent(new PointerEvent('pointerup', pen));
          target.dispatchEvent(new MouseEvent('mouseup', how));
          if (!target.isConnected) return;
          target.dispatchEvent(new PointerEvent('click', { ...how, pointerId: 1, pointerType: 'mouse' }));
        };
        const isShown = (e) => e.getClientRects().length > 0
          && (e.checkVisibility?.({ visibilityProperty: true }) ?? true);
        const join = (texts) => texts.filter((text) => typeof text === 'string' && text)
          .map((text) => text.slice(0, 200)).join(' ');
        const name = (e) => join([
          e.ariaLabel, e.title, e.localName === 'input' && e.type !== 'button' ? '' : e.value, e.textContent,
          e.getAttribute('placeholder'), e.querySelector('img[alt]')?.alt,
        ]).trim();
        """

    /// More helper functions.
    ///
    /// `act` changes something in the page and, if this showed another view of the application, notes the view and goes
    /// back. The page cannot leave its document from now on: such navigations are cancelled, and their URLs become
    /// links. `pressEscape` closes a menu or a dialog, and `marks` are the names that the author of a control gave it.
    /// `takeBlocked` adds the URLs of cancelled navigations to the links.
    static let shared =
        pressing + ConsentBanner.banners + """

            if (!globalThis.larderHandled) {
              globalThis.larderHandled = new WeakSet();
              globalThis.larderTabLists = [];
              globalThis.larderPresses = new WeakMap();
              globalThis.larderBlockedURLs = [];
            }
            const stay = (navigation) => {
              if (!navigation || handled.has(navigation)) return;
              handled.add(navigation);
              navigation.addEventListener('navigate', (e) => {
                if (!e.cancelable || e.destination.sameDocument) return;
                e.preventDefault();
                if (e.formData) return;
                globalThis.larderBlockedURLs.push(e.destination.url);
              });
            };
            const takeBlocked = () => {
              for (const url of globalThis.larderBlockedURLs.splice(0)) if (/^https?:/.test(url)) links.add(url);
            };
            const handled = globalThis.larderHandled, tabLists = globalThis.larderTabLists;
            const presses = globalThis.larderPresses;
            stay(globalThis.navigation);
            // The elements of a document and of the frames in it that are of the same origin.
            const elementsWithFrames = function* (root, depth = 0) {
              for (const e of elements(root)) {
                yield e;
                if (e.localName !== 'iframe' && e.localName !== 'frame' || depth > 2 || !isShown(e)) continue;
                let inner = null;
                try { inner = e.contentDocument; } catch {}
                if (!inner || inner.nodeType !== 9) continue;
                stay(inner.defaultView?.navigation);
                yield* elementsWithFrames(inner, depth + 1);
              }
            };
            const pressEscape = () => {
              const key = { key: 'Escape', code: 'Escape', keyCode: 27, bubbles: true, cancelable: true, composed: true };
              (own('activeElement') || own('body')).dispatchEvent(new KeyboardEvent('keydown', key));
            };
            const marks = (e) => join([
              e.id, e.getAttribute('name'), typeof e.className === 'string' ? e.className : '', ...Object.values({ ...e.dataset }),
            ]).replace(/([a-z])([A-Z])/g, '$1 $2').replace(/[_-]+/g, ' ');
            // If the name of a control has no letters, as with a cross, the names that its author gave it are judged.
            const says = (text) => /\\p{L}/u.test(text);
            const isForbidden = (e) => !says(name(e) + marks(e))
              || forbidden.test(says(name(e)) ? name(e) : marks(e))
              || /\\b(delete|remove|destroy|log ?out|sign ?out)/i.test(marks(e));
            // A control of a page's frame is the same on all pages of a site, another one on pages of the same group.
            const frame = 'header, nav, footer, [role="banner"], [role="navigation"], [role="contentinfo"]';
            const signature = (e) => {
              const path = [];
              for (let at = e; at && path.length < 4; at = at.parentElement) {
                const classes = [...at.classList].slice(0, 4).sort().join('.');
                path.push(`${at.localName}.${classes}`.replace(/\\d+/g, '0'));
              }
              const place = e.closest(frame) ? 'site' : 'group';
              const title = name(e) || join([...(e.labels || [])].map((label) => label.textContent)).trim();
              return `${place} ${title.slice(0, 60).replace(/\\d+/g, '0')} ${path.join('<')}`.slice(0, 400);
            };
            const known = new Set(knownControls);
            const used = globalThis.larderUsed ??= new Set();
            const isKnown = (e) => { const text = signature(e); return known.has(text) && !used.has(text); };
            // The banner was answered, or stays.
            const isOfConsent = (e) => topic.test(name(e)) || Boolean(bannerOf(e));
            const isSearch = (e) => search.test(name(e)) || search.test(marks(e));
            const isSearchField = (e) => e.matches('[type="search"], [role="searchbox"]')
              || Boolean(e.closest('[role="search"], search')) || /^(q|s|query|wd|keywords?)$/i.test(e.name || '')
              || isSearch(e);
            const changing = '[data-method], [data-confirm], [data-turbo-method], [hx-post], [hx-put], [hx-patch],'
              + '[hx-delete], [type="submit"][form], [formaction], [type="reset"], [type="file"]';
            // The fragments of views that controls show; a fragment that names an element is no view.
            const views = new Set();
            // The number of requests that were answered.
            const requestCount = () => performance.getEntriesByType('resource')
              .filter((entry) => !(entry.responseStatus >= 400)).length;
            const noteView = (before) => {
              if (location.href === before) return;
              links.add(location.href);
              const isOfDocument = location.href.split('#')[0] === before.split('#')[0];
              const fragment = location.hash.slice(1);
              if (!isOfDocument || !fragment) return;
              if (Document.prototype.getElementById.call(document, fragment)) return;
              views.add(location.hash);
            };
            const act = async (change, isMenu = () => false) => {
              const before = location.href, entry = navigation.currentEntry, state = history.state;
              change();
              await frames();
              if (isMenu() || document.querySelector('dialog[open], [role="dialog"], [aria-modal="true"]')) {
                collect(document, 0);
                pressEscape();
                await frames();
              }
              if (location.href === before) return;
              // The control showed another view of the application.
              noteView(before);
              collect(document, 0);
              if (navigation.currentEntry?.key === entry?.key) {
                History.prototype.replaceState.call(history, state, '', before);
                return;
              }
              history.back();
              for (let wait = 0; wait < 20 && location.href !== before; wait += 1) {
                await new Promise((done) => setTimeout(done, 25));
              }
            };
            const forbidden = \(ActionWords.expression(ActionWords.forbidden, parts: ActionWords.forbiddenParts));
            const more = \(ActionWords.expression(ActionWords.more, parts: ActionWords.moreParts));
            const search = \(ActionWords.expression(ActionWords.search, parts: ActionWords.searchParts));
            """

    /// The maximum number of buttons that are pressed in one round, and of links that scripts make buttons.
    private static let maxButtonsPerRound = 12
    /// The maximum number of text fields that get the focus in one round.
    private static let maxFields = 6
    /// How often a button is pressed that shows more of the same, and how often if each time causes requests.
    private static let maxMorePresses = 3
    private static let maxFruitfulPresses = 10
    /// The maximum length of a text that is pressed because of its cursor, in UTF-16 code units.
    private static let maxPointedLength = 60
    /// The maximum number of buttons of a page that are compared before and after one of them is pressed.
    private static let maxComparedButtons = 100
    /// How many tabs with the same signature are opened in one page.
    private static let maxEqualTabs = 4

    /// The maximum number of elements over which the mouse is moved in a page.
    private static let maxHovers = 24

    /// Moves the mouse over menus, links and buttons, once in a document, and over one of each signature: pages load
    /// previews and menus then. The mouse stays for a moment over all of them, because many pages wait before they react.
    private static let hovering = """

        if (!globalThis.hasLarderHovered) {
          globalThis.hasLarderHovered = true;
          const hovers = [], entered = new Set();
          const canReact = 'a[href], button, [role="button"], [role="menuitem"], [aria-haspopup], li:has(> ul), abbr,'
            + '[data-tooltip], [data-tippy-content], [data-preview], [data-hovercard-url], [onmouseover], [onmouseenter]';
          const point = (e, type, kind, bubbles) => {
            const box = e.getBoundingClientRect();
            const how = { bubbles, cancelable: bubbles, composed: true, view: window,
              clientX: box.x + box.width / 2, clientY: box.y + box.height / 2 };
            if (kind === PointerEvent) Object.assign(how, { isPrimary: true, pointerId: 1, pointerType: 'mouse' });
            e.dispatchEvent(new kind(type, how));
          };
          for (const e of [...elements(document)]) {
            if (hovers.length >= \(maxHovers)) break;
            if (!e.matches(canReact) || !isShown(e) || isForbidden(e) || isOfConsent(e)) continue;
            const text = `${signature(e)} over`;
            if (known.has(text) || used.has(text)) continue;
            used.add(text);
            hovers.push(e);
            point(e, 'pointerover', PointerEvent, true);
            point(e, 'mouseover', MouseEvent, true);
            for (let at = e; at && !entered.has(at); at = at.parentElement) {
              entered.add(at);
              point(at, 'pointerenter', PointerEvent, false);
              point(at, 'mouseenter', MouseEvent, false);
            }
            point(e, 'mousemove', MouseEvent, true);
          }
          if (hovers.length) {
            await new Promise((done) => setTimeout(done, 300));
            await frames();
            collect(document, 0);
          }
          for (const e of hovers) point(e, 'mouseout', MouseEvent, true);
          for (const e of entered) point(e, 'mouseleave', MouseEvent, false);
        }
        """

    private static func unfolding(for visit: PageVisit) -> String {
        let playsMedia = visit.isDeep
        return hovering + """

            const folded = '[aria-expanded="false"], [role="tab"]:not([aria-selected="true"]),'
              + 'button[aria-controls], [role="button"][aria-controls],'
              + '[aria-haspopup]:not([aria-haspopup="false"], [aria-expanded="true"])';
            // Elements with the role of a link have no URL, so they are pressed to find the page that their scripts show.
            const plain = 'button, [role="button"], input[type="button"], [role="link"]:not(a[href])';
            // A picture or a short text that shows something when it is pressed; only the cursor tells.
            const isPointed = (e) => /^(pointer|zoom-in)$/.test(getComputedStyle(e).cursor);
            // Some fields load their suggestions when they get the focus. The search field gets it later.
            const isField = (e) => e.matches('input:not([type]), input[type="text"]') && !isSearchField(e)
              && !e.disabled && !e.readOnly && isShown(e) && e.form?.method !== 'post';
            const isShort = (e) => e.textContent.trim() && e.textContent.trim().length <= \(maxPointedLength)
              && !e.querySelector('a, button, input, select, textarea');
            const isClickable = (e) => isPointed(e) && !(e.parentElement && isPointed(e.parentElement))
              && !e.closest('a, button, label, summary, select, [role="button"]')
              && (e.matches('img, svg, canvas, [onclick]') || e.querySelector('img, svg, canvas') || isShort(e));
            // A link that names no page and no part of this one: a script makes it a button.
            const isLinkButton = (e) => {
              if (e.localName !== 'a' || typeof e.href !== 'string') return false;
              const href = e.getAttribute('href');
              if (href === null) return isPointed(e);
              if (/^javascript:/i.test(href)) return !/history|print|close/i.test(href);
              if (!/^#(?![/!]|top$)/i.test(href)) return false;
              const part = e.hash.slice(1);
              return !part || !Document.prototype.getElementById.call(e.ownerDocument, part)
                && !Document.prototype.getElementsByName.call(e.ownerDocument, part).length;
            };
            const tabUses = globalThis.larderTabUses ??= new Map();
            let count = 0, buttons = 0, linkButtons = 0, fields = 0, tab = null, place = -1, hasMore = false;
            const start = performance.now();
            // The buttons that are shown and were not used yet. Of a page with very many buttons, only the first.
            const unusedButtons = () => new Set([...Document.prototype.querySelectorAll.call(document, plain)]
              .slice(0, \(maxComparedButtons)).filter((one) => !handled.has(one) && isShown(one)));
            const use = async (e) => {
              used.add(signature(e));
              count += 1;
              const before = e.matches(plain) ? unusedButtons() : new Set();
              await act(() => press(e), () => (e.getAttribute('aria-haspopup') || 'false') !== 'false');
              // Such as the button that folds a side bar: pressed once more, it shows the others again. Its name may have
              // changed. A button that shows more than it hides, such as Next, is not pressed.
              if (!before.size || !isShown(e) || e.disabled || e.closest(changing) || isForbidden(e)) return;
              const after = unusedButtons();
              const hidden = [...before].filter((one) => !after.has(one)).length;
              const shown = [...after].filter((one) => !before.has(one)).length;
              if (hidden > shown) await act(() => press(e));
            };
            // After a press, a page may replace all controls by new elements that look the same. Elements are then told apart by
            // their signatures: if two controls with a signature were used and replaced, the first two new elements with this
            // signature are skipped. A new "load more" button keeps the number of presses of the one that it replaced.
            const usedControls = globalThis.larderUsedControls ??= [];
            const replaced = globalThis.larderReplaced ??= new Map(), passedOn = globalThis.larderPassedOn ??= new Map();
            const noteReplaced = () => {
              const all = usedControls.splice(0), gone = all.filter((one) => !one.e.isConnected);
              usedControls.push(...all.filter((one) => one.e.isConnected));
              for (const { text } of gone) replaced.set(text, (replaced.get(text) || 0) + 1);
              return gone.length > 0;
            };
            noteReplaced();
            let left = new Map(replaced);
            const all = [...elementsWithFrames(document)];
            for (const e of all) {
              if (count >= 40 || performance.now() - start > 1500) break;
              if (handled.has(e) || !e.isConnected) continue;
              if (e.localName === 'details') {
                handled.add(e);
                if (!e.open) { e.open = true; count += 1; }
              } else if (e.localName === 'video' || e.localName === 'audio') {
                handled.add(e);
                if (!\(playsMedia)) continue;
                e.muted = true;
                e.preload = 'auto';
                // A browser may refuse to play sound; then it is only loaded.
                e.play().catch(() => e.load());
                setTimeout(() => e.pause(), 1500);
                count += 1;
              } else if (isField(e)) {
                handled.add(e);
                if (fields >= \(maxFields) || isKnown(e) || isOfConsent(e)) continue;
                used.add(signature(e));
                fields += 1;
                count += 1;
                await act(() => e.focus());
                e.blur();
              } else if (e.matches(folded) || e.matches(plain) || isClickable(e) || isLinkButton(e)) {
                const link = e.closest('a[href]');
                const leads = link && !(link.getAttribute('href') || '').startsWith('#') && !isLinkButton(link);
                const sends = e.closest('form') && e.localName !== 'a' && e.type !== 'button' && 'type' in e;
                if (leads || sends || e.disabled || e.ariaDisabled === 'true' || !isShown(e)) continue;
                if (e.closest(changing) || isKnown(e) || isOfConsent(e)) continue;
                if (e.getAttribute('role') === 'tab') {
                  const uses = tabUses.get(signature(e)) || 0;
                  if (isForbidden(e) || uses >= \(maxEqualTabs)) { handled.add(e); continue; }
                  // The content of a tab may have tabs of its own, and is hidden when the next tab is opened.
                  const list = e.closest('[role="tablist"]') || e.parentNode;
                  if (!tabLists.includes(list)) tabLists.push(list);
                  if (tabLists.indexOf(list) > place) { tab = e; place = tabLists.indexOf(list); }
                  continue;
                }
                const isNamelessPicture =
                  !e.matches(folded) && isClickable(e) && !says(name(e) + marks(e));
                if (isForbidden(e) && !isNamelessPicture) { handled.add(e); continue; }
                if (e.localName === 'a' && !e.matches(folded)) {
                  if (linkButtons >= \(maxButtonsPerRound)) continue;
                  linkButtons += 1;
                } else if (!e.matches(folded)) {
                  if (buttons >= \(maxButtonsPerRound)) continue;
                  buttons += 1;
                }
                const text = signature(e), isMore = more.test(`${name(e)} ${marks(e)}`);
                if (left.get(text)) { left.set(text, left.get(text) - 1); handled.add(e); continue; }
                const { times = 0, requests = 0 } = presses.get(e) || isMore && passedOn.get(text) || {};
                // A map has tiles without end.
                const isFruitful = times > 0 && requestCount() > requests && !/zoom/i.test(`${name(e)} ${marks(e)}`);
                if (times >= (isFruitful ? \(maxFruitfulPresses) : \(maxMorePresses))) { handled.add(e); continue; }
                presses.set(e, { times: times + 1, requests: requestCount() });
                if (!isMore) { handled.add(e); usedControls.push({ e, text }); } else if (isFruitful) hasMore = true;
                await use(e);
                if (isMore && !e.isConnected) passedOn.set(text, presses.get(e));
                if (!noteReplaced()) continue;
                left = new Map(replaced);
                all.push(...elementsWithFrames(document));
              }
            }
            const before = location.href;
            if (tab) {
              handled.add(tab);
              used.add(signature(tab));
              tabUses.set(signature(tab), (tabUses.get(signature(tab)) || 0) + 1);
              press(tab);
              count += 1;
            }
            await frames();
            if (tab) noteView(before);
            collect(document, 0);
            takeBlocked();
            return { count, isTab: Boolean(tab), hasMore, links: [...links], views: [...views], used: [...used] };
            """
    }

    // MARK: - Search

    /// Gives the focus to the search field of the page, after opening it if necessary: many indexes are
    /// loaded then. Returns whether there is one.
    static func focusSearch(for visit: PageVisit) -> String {
        PageScripts.function(
            PageScripts.collectLinks(for: visit) + knownControls(visit) + shared + """

                const texts = 'input:not([type]), input[type="text"], input[type="search"], textarea,'
                  + 'input[role="searchbox"], input[role="combobox"]';
                const isField = (e) => e.matches(texts) && !e.disabled && !e.readOnly && isShown(e) && isSearchField(e);
                const field = () => { for (const e of elements(document)) if (isField(e)) return e; return null; };
                const opener = () => {
                  for (const e of elements(document)) {
                    if (!e.matches('button, [role="button"], a[href^="#"], a:not([href]), label, summary')) continue;
                    if (e.matches('[type="submit"]') && e.closest('form')) continue;
                    if (isShown(e) && isSearch(e) && !isForbidden(e) && !isOfConsent(e)) return e;
                  }
                  return null;
                };
                // Some pages have no button for their search, only a key, which they name.
                const shortcut = 'group keys of the search';
                const namesKeys = () => document.querySelector('kbd, [aria-keyshortcuts]')
                  || /⌘ ?K|\\bctrl ?[+-]? ?k\\b|(^|[ "'(“])\\/($|[ "')”])/im.test((own('body')?.innerText || '').slice(0, 5000));
                const pressKeys = () => {
                  const keys = [{ key: '/', code: 'Slash', keyCode: 191 }, { key: 'k', code: 'KeyK', keyCode: 75, ctrlKey: true }];
                  for (const key of keys) {
                    for (const type of ['keydown', 'keyup']) {
                      const event = new KeyboardEvent(type, { ...key, bubbles: true, cancelable: true, composed: true });
                      (own('activeElement') || own('documentElement')).dispatchEvent(event);
                    }
                  }
                };
                let e = field();
                if (e && isKnown(e)) return { isFound: false };
                if (e) used.add(signature(e));
                if (!e) {
                  const open = opener();
                  if (open ? isKnown(open) : known.has(shortcut) || !namesKeys()) return { isFound: false };
                  used.add(open ? signature(open) : shortcut);
                  if (!open) pressKeys(); else if (open.localName === 'label') open.click(); else press(open);
                  for (let wait = 0; wait < (open ? 20 : 6) && !(e = field()); wait += 1) {
                    await new Promise((done) => setTimeout(done, 50));
                  }
                }
                if (!e) return { isFound: false, used: [...used] };
                e.scrollIntoView({ block: 'nearest', inline: 'nearest', behavior: 'instant' });
                e.focus();
                globalThis.larderSearch = e;
                await frames();
                return { isFound: true, used: [...used] };
                """)
    }

    /// Types a word of the page into the field that has the focus, as a person does: the longest word of the first
    /// heading, else of the title, else of the first words that the page shows.
    static let typeSearch = PageScripts.function(
        """

        const e = globalThis.larderSearch;
        if (!e || !e.isConnected) return {};
        const longest = (text) => (text.match(/\\p{L}{4,24}/gu) || []).slice(0, 200)
          .reduce((best, word) => word.length > best.length ? word : best, '');
        const heading = Document.prototype.querySelector.call(document, 'main h1, article h1, h1, h2');
        const word = longest(heading?.innerText || '') || longest(own('title') || '')
          || longest((own('body')?.innerText || '').slice(0, 2000));
        if (!word) return {};
        if (own('activeElement') !== e) e.focus();
        const key = { key: word.slice(-1), bubbles: true, cancelable: true, composed: true };
        e.dispatchEvent(new KeyboardEvent('keydown', key));
        Document.prototype.execCommand.call(document, 'insertText', false, word);
        e.dispatchEvent(new KeyboardEvent('keyup', key));
        await frames();
        return { word };
        """)

    /// Reads the links among the results, and empties and leaves the field.
    static func leaveSearch(for visit: PageVisit) -> String {
        PageScripts.function(
            PageScripts.collectLinks(for: visit) + knownControls(visit) + shared + """

                const e = globalThis.larderSearch;
                if (e && e.isConnected) {
                  if ('value' in e && e.value) {
                    e.select?.();
                    Document.prototype.execCommand.call(document, 'delete');
                  }
                  pressEscape();
                  e.blur();
                }
                await frames();
                takeBlocked();
                return { links: [...links] };
                """)
    }
}
