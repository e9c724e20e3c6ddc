/// The script that updates the page of jobs by server-sent events. Without scripts, the page reloads itself.
enum JobsScript {
    /// The path of the script. It contains a hash of the text, so that browsers may cache the script for ever.
    static let path = PortalStyle.path(of: text, "live", "js")

    /// The source of the script.
    ///
    /// An event contains the figures of the unfinished jobs, which replace the texts of the elements with `data-figure`.
    /// When the list or the state of a job changes, the script fetches the page and replaces the list of jobs: the markup
    /// of a job is thus only in `JobsPage`. Received values are inserted only as text. While the window is hidden, no connection is open.
    static let text = """
        "use strict";
        (() => {
          const place = document.getElementById("jobs");
          if (!place) return;
          const lost = document.getElementById("lost");
          let source = null, known = null, isLoading = false;
          const key = (jobs) => jobs.map((job) => `${job.job} ${job.state} ${Boolean(job.figures)} ${job.figures?.phase}`).join();
          // Events have English figures: German swaps the separators, as `PortalLanguage.figure` does.
          const isGerman = document.documentElement.lang === "de";
          const own = (value) => isGerman && /^[\\d.,]+( \\w+(\\/s)?)?$/.test(value)
            ? value.replace(/[.,]/g, (mark) => mark === "," ? "." : ",") : value;
          const fill = (job) => {
            const card = place.querySelector(`[data-job="${Number(job.job)}"]`);
            if (!card || !job.figures) return;
            for (const part of card.querySelectorAll("[data-figure]")) {
              const value = job.figures[part.dataset.figure];
              if (part.dataset.figure === "share") {
                if (typeof value === "number") part.value = value; else part.removeAttribute("value");
                continue;
              }
              if (part.dataset.figure !== "hosts") { part.textContent = own(String(value ?? "")); continue; }
              part.closest(".scroll").hidden = !value.length;
              part.replaceChildren(...value.map((host) => {
                const row = document.createElement("tr");
                for (const name of ["name", "running", "queued", "perSecond", "paused"]) {
                  const cell = document.createElement(name === "name" ? "th" : "td");
                  if (name === "name") cell.scope = "row"; else cell.className = "number";
                  cell.textContent = name === "name" ? String(host[name]) : own(String(host[name]));
                  row.append(cell);
                }
                return row;
              }));
            }
          };
          // A name that a link or button has before and after the list is replaced.
          const nameOf = (control) => control.tagName + (control.href || control.ariaLabel || control.textContent);
          const load = async () => {
            if (isLoading) return;
            isLoading = true;
            try {
              const reply = await fetch(location.pathname + location.search, { headers: { Accept: "text/html" } });
              const page = new DOMParser().parseFromString(await reply.text(), "text/html");
              const fresh = page.getElementById("jobs");
              const focused = place.contains(document.activeElement) && nameOf(document.activeElement);
              if (fresh) place.replaceChildren(...document.adoptNode(fresh).childNodes);
              // Parts of the page outside the list of jobs that a job changes, such as the number of sites.
              for (const old of document.querySelectorAll("[data-renew]")) {
                const part = page.getElementById(old.id);
                if (part) old.replaceChildren(...document.adoptNode(part).childNodes);
              }
              const controls = [...place.querySelectorAll("a, button, summary, [tabindex]")];
              const same = focused && controls.find((control) => nameOf(control) === focused);
              if (focused) (same || document.getElementById("content")).focus();
            } catch (error) {
              // The connection failed: keep the content.
            }
            isLoading = false;
          };
          // Notifications are off until the user turns them on.
          const button = document.getElementById("notify"), store = "larder-notify";
          const wants = () => window.Notification && Notification.permission === "granted" && localStorage[store] === "1";
          const label = button && button.textContent;
          const showButton = () => { button.hidden = false; button.textContent = wants() ? button.dataset.off : label; };
          if (button && window.Notification) {
            showButton();
            button.addEventListener("click", async () => {
              if (wants()) localStorage[store] = "0";
              else localStorage[store] = await Notification.requestPermission() === "granted" ? "1" : "0";
              showButton();
            });
          }
          let titles = null;
          const notify = (jobs) => {
            // The title on the page is in the user's language.
            const title = (job) => place.querySelector(`#job-${Number(job.job)}`)?.textContent || job.title;
            const now = new Map(jobs.map((job) => [job.job, title(job)]));
            for (const [number, title] of titles || []) {
              if (wants() && !now.has(number)) new Notification("Larder", { body: title, tag: `larder-${number}` });
            }
            titles = now;
          };
          const listen = () => {
            if (source) return;
            source = new EventSource(place.dataset.live);
            source.addEventListener("error", () => {
              if (lost) lost.hidden = false;
              known = null;
              // Browsers do not reconnect after an invalid response.
              if (source && source.readyState === EventSource.CLOSED) { source = null; setTimeout(listen, 3000); }
            });
            source.addEventListener("jobs", async (event) => {
              if (lost) lost.hidden = true;
              const state = JSON.parse(event.data), next = `${key(state.jobs)} ${state.over}`;
              if (next !== known) { known = next; await load(); }
              state.jobs.forEach(fill);
              notify(state.jobs);
              if (!state.jobs.length) { source.close(); source = null; }
            });
          };
          document.addEventListener("visibilitychange", () => {
            if (document.hidden) { if (wants()) return; if (source) source.close(); source = null; } else { known = null; listen(); }
          });
          listen();
        })();

        """
}
