/// The script that chooses values in a page: the options of its lists, its radio buttons and check boxes, and the values of
/// its sliders and of its fields for numbers and dates.
///
/// It runs in the isolated world of ``PageScripts``, with the helper functions of ``PageActions``. State that the page must
/// not see is in global variables of that world.
enum PageChoices {
    /// Chooses one value. Returns how many were chosen, and otherwise the same as ``PageActions/unfold(for:)``.
    ///
    /// After its last value, each control gets the one that it had at first. A control whose first values cause no requests
    /// gets no more, unless it is a group of boxes. Controls of forms that are sent by POST are left alone, and so are boxes
    /// whose names say that they change something.
    static func choose(for visit: PageVisit) -> String {
        PageScripts.function(
            PageScripts.collectLinks(for: visit) + PageActions.knownControls(visit) + PageActions.shared
                + choosing)
    }

    /// The maximum number of values that one control gets.
    private static let maxValues = 10
    /// After so many values without a request, a control gets no more.
    private static let maxIdleValues = 2
    /// The maximum number of values of a list of places that become links.
    private static let maxPlaces = 1000
    /// Chromium records no more requests than this.
    private static let maxRecordedRequests = 250

    private static let choosing = """

        const kinds = 'select:not([multiple]), input:is([type="radio"], [type="checkbox"], [type="range"],'
          + '[type="number"], [type="date"], [type="month"], [type="week"], [type="time"])';
        const labels = (e) => [...(e.labels || [])];
        const label = (e) => join([e.ariaLabel, e.title, ...labels(e).map((one) => one.textContent), marks(e)]);
        const isBox = (e) => e.matches('[type="radio"], [type="checkbox"]');
        const isLeft = (e) => e.disabled || e.readOnly || !(isShown(e) || labels(e).some(isShown))
          || e.closest(changing) || e.form?.method === 'post' || isOfConsent(e) || isKnown(e)
          || (isBox(e) ? forbidden.test(label(e)) : /\\b(delete|remove|destroy|log ?out|sign ?out)/i.test(label(e)));
        const set = (e, key, value) => () => {
          e[key] = value;
          for (const type of ['input', 'change']) e.dispatchEvent(new Event(type, { bubbles: true, composed: true }));
        };
        const spread = (e) => {
          const low = Number(e.min) || 0, high = e.max === '' ? 100 : Number(e.max), step = Number(e.step) || 1;
          const last = Math.floor((high - low) / step), count = Math.min(last, \(maxValues) - 1);
          return Array.from({ length: count + 1 }, (_, n) => low + step * Math.round(n * last / (count || 1)));
        };
        const near = (e) => [1, 2, -1, -2].map((by) => {
          const probe = e.cloneNode();
          probe.value = e.value;
          try { if (by > 0) probe.stepUp(by); else probe.stepDown(-by); } catch {}
          return probe.value;
        });
        // Boxes of a group are changed in turn, each before the one before it is changed back, so that filters are also seen
        // in pairs.
        const planBoxes = (e) => {
          const place = (box) => box.closest('fieldset, form, ul, ol, table, [role="group"]');
          const group = [...e.getRootNode().querySelectorAll('input[type="checkbox"]')].filter((box) => box === e
            || place(box) === place(e) && !handled.has(box) && !isLeft(box))
            .slice(0, \(maxValues));
          const before = group.map((box) => box.checked);
          const changes = [];
          group.forEach((box, n) => {
            handled.add(box);
            used.add(signature(box));
            changes.push(() => box.click());
            if (n > 0) changes.push(() => group[n - 1].click());
          });
          changes.push(() => group.forEach((box, n) => { if (box.checked !== before[n]) box.click(); }));
          return changes;
        };
        // The changes that a control gets. The last one takes the others back.
        const plan = (e) => {
          if (e.localName === 'select') {
            const all = [...[...e.options].keys()].filter((n) => n !== e.selectedIndex && !e.options[n].disabled);
            return [...all.slice(0, \(maxValues)), e.selectedIndex].map((n) => set(e, 'selectedIndex', n));
          }
          if (e.type === 'checkbox') return planBoxes(e);
          if (e.type === 'radio') {
            const group = [...e.getRootNode().querySelectorAll('input[type="radio"]')]
              .filter((other) => other === e || e.name && other.name === e.name && other.form === e.form);
            for (const other of group) handled.add(other);
            const first = group.find((other) => other.checked) ?? e;
            const others = group.filter((other) => other !== first && !isLeft(other)).slice(0, \(maxValues));
            return [...others, first].map((other) => () => other.click());
          }
          if (e.type !== 'range' && !e.value) return [];
          const values = (e.type === 'range' ? spread(e) : near(e)).map(String);
          return [...new Set(values)].filter((value) => value !== e.value).concat(e.value)
            .map((value) => set(e, 'value', value));
        };
        const result = (count) => ({ count, links: [...links], views: [...views], used: [...used] });
        // A list whose values are places to go. The URLs of its other values follow from the first one.
        const addPlaces = (e) => {
          const value = e.localName === 'select' ? encodeURI(e.value) : '';
          let count = 0;
          for (const url of globalThis.larderBlockedURLs) {
            const place = value ? url.lastIndexOf(value) : -1;
            if (place < 0) continue;
            count += 1;
            const [start, end] = [url.slice(0, place), url.slice(place + value.length)];
            for (const option of [...e.options].slice(0, \(maxPlaces))) {
              if (option.value && !option.disabled) links.add(start + encodeURI(option.value) + end);
            }
          }
          return count > 0;
        };
        const choose = async (state) => {
          await act(state.changes.shift());
          state.done += 1;
          collect(document, 0);
          if (addPlaces(state.e)) state.changes.splice(0, state.changes.length - 1);
          takeBlocked();
          return result(1);
        };
        const current = globalThis.larderChoice;
        if (current?.changes.length && current.e.isConnected) {
          const requests = requestCount();
          const isIdle = requests === current.requests && requests < \(maxRecordedRequests);
          if (isIdle && current.e.type !== 'checkbox' && current.done >= \(maxIdleValues)) current.changes.splice(0, current.changes.length - 1);
          return await choose(current);
        }
        for (const e of elementsWithFrames(document)) {
          if (!e.matches(kinds) || handled.has(e) || isLeft(e)) continue;
          handled.add(e);
          const changes = plan(e);
          if (changes.length < 2) continue;
          used.add(signature(e));
          globalThis.larderChoice = { e, changes, done: 0, requests: requestCount() };
          return await choose(globalThis.larderChoice);
        }
        return result(0);
        """
}
