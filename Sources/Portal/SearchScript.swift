/// The script that searches while the user types, through the JSON of the search page. Without scripts, the form finds
/// the same.
enum SearchScript {
    /// The path of the script. It contains a hash of the text, so that browsers may cache the script for ever.
    static let path = PortalStyle.path(of: text, "search", "js")

    /// The source of the script.
    ///
    /// It searches 150 ms after the last key, and cancels a search that still runs. `asker` identifies the open page, so
    /// that the server also drops the earlier search. The key `/` moves the focus to the field, unless the user has turned
    /// that off, and the arrow keys move it between the field and the results. Received values are inserted only as text, or as http and https URLs.
    static let text = """
        "use strict";
        (() => {
          const place = document.getElementById("found");
          const field = document.querySelector("form.find input[name=q]");
          if (!place || !field) return;
          const form = field.form, choice = form.querySelector("select[name=snapshot]");
          // The fields of the form that have a value, with other words if they are given.
          const query = (words = field.value.trim()) => {
            const parts = new URLSearchParams();
            for (const [name, value] of new FormData(form)) if (name !== "q" && value) parts.append(name, value);
            return "q=" + encodeURIComponent(words) + (parts.size ? "&" + parts : "");
          };
          let timer = 0, running = null, asked = query();
          // A later search of this page replaces an earlier one.
          const asker = Array.from(crypto.getRandomValues(new Uint32Array(2)), (part) => part.toString(36)).join("");
          const make = (name, text, type) => {
            const element = document.createElement(name);
            if (text) element.textContent = text;
            if (type) element.className = type;
            return element;
          };
          const link = (address, text, type) => {
            const element = make("a", text, type);
            const url = new URL(address, location.href);
            if (url.protocol === "http:" || url.protocol === "https:") element.href = url.href;
            return element;
          };
          const hit = (found) => {
            const item = make("li");
            item.append(link(found.address, found.title || found.url, "name"));
            if (found.heading && found.heading !== found.title) item.append(make("span", found.heading, "part"));
            const snippet = make("p", "", "snippet"), words = make("bdi");
            for (const part of found.snippet) words.append(part.marked ? make("mark", part.text) : part.text);
            snippet.append(words);
            const url = make("span", found.url, "url soft");
            item.append(snippet, url, make("span", found.fetched.slice(0, 10), "soft"));
            return item;
          };
          const entry = (found) => {
            const item = make("li");
            item.append(link("/-/page?url=" + encodeURIComponent(found.url), found.title || found.url, "name"));
            item.append(make("span", found.url, "url soft"));
            return item;
          };
          const show = (answer) => {
            const status = make("p", answer.outcome);
            status.setAttribute("role", "status");
            const list = make("ol", "", "list hits");
            list.append(...answer.hits.map(hit), ...answer.results.map(entry));
            const proposals = answer.proposals.map((words) => {
              const line = make("p", place.dataset.mean);
              line.append(link(place.dataset.search + "?" + query(words), words), place.dataset.mark);
              return line;
            });
            const next = make("p", "", "next");
            if (answer.after) {
              const address = `${place.dataset.search}?${query()}&after=${encodeURIComponent(answer.after)}`;
              next.append(link(address, place.dataset.more, "button quiet"));
            }
            const notes = answer.notes.map((note) => make("p", note, "soft"));
            if (choice) {
              choice.replaceChildren(choice.options[0], ...answer.snapshots.map((snapshot) => {
                const option = make("option", snapshot.label);
                option.value = snapshot.name;
                option.selected = snapshot.name === answer.snapshot;
                return option;
              }));
              choice.closest(".field").hidden = !answer.snapshots.length;
            }
            place.replaceChildren(...(answer.words ? [status, ...proposals, list, ...notes, ...(answer.after ? [next] : [])] : []));
          };
          const ask = async () => {
            const wanted = query();
            if (wanted === asked) return;
            asked = wanted;
            if (running) running.abort();
            running = new AbortController();
            const address = place.dataset.search + "?" + wanted;
            try {
              const reply = await fetch(address + "&format=json&asker=" + asker, { signal: running.signal });
              if (!reply.ok) return;
              show(await reply.json());
              history.replaceState(null, "", address);
            } catch (error) {
              // A later search has started, or the connection failed: keep the results.
            }
          };
          field.addEventListener("input", () => {
            clearTimeout(timer);
            timer = setTimeout(ask, 150);
          });
          form.addEventListener("change", (event) => {
            // The snapshots of another site have other numbers.
            if (choice && event.target.name === "site") choice.value = "";
            ask();
          });
          const button = document.getElementById("slash"), store = "larder-slash", label = button.textContent;
          const usesSlash = () => localStorage[store] !== "0";
          const showButton = () => { button.hidden = false; button.textContent = usesSlash() ? label : button.dataset.on; };
          showButton();
          button.addEventListener("click", () => {
            localStorage[store] = usesSlash() ? "0" : "1";
            showButton();
          });
          document.addEventListener("keydown", (event) => {
            if (event.ctrlKey || event.metaKey || event.altKey) return;
            const inField = document.activeElement === field;
            if (event.key === "/" && !inField && usesSlash() && !document.activeElement.matches("input, select, textarea")) {
              event.preventDefault();
              field.focus();
              field.select();
              return;
            }
            if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
            const links = [...place.querySelectorAll("a.name")];
            const here = links.indexOf(document.activeElement);
            if (here < 0 && !inField) return;
            const next = here + (event.key === "ArrowDown" ? 1 : -1);
            event.preventDefault();
            (next < 0 ? field : links[Math.min(next, links.length - 1)] || field).focus();
          });
        })();

        """
}
