/// The style sheet of the portal.
package enum PortalStyle {
    /// The path of the style sheet. The name changes with the content, so that browsers may cache it for ever.
    package static let path = path(of: text, "portal", "css")

    /// The path of a static file, with a hash of its content.
    ///
    /// - Parameters:
    ///   - text: the content.
    ///   - name: the first part of the file's name.
    package static func path(of text: String, _ name: String, _ suffix: String) -> String {
        // FNV-1a. The hash only has to change with the content, so it need not be cryptographic.
        let hash = text.utf8.reduce(0x811c_9dc5 as UInt32) { ($0 ^ UInt32($1)) &* 0x0100_0193 }
        return "/-/\(name)-\(String(hash, radix: 36)).\(suffix)"
    }

    /// The whole style sheet of the portal's pages.
    package static let text = base + parts

    /// Colours and type. Pages outside the portal (`HTMLPage`) need only this part. Text has a contrast of at least 4.5:1
    /// (WCAG 2, level AA).
    static let base = """
        :root {
          color-scheme: light dark;
          --paper: #faf7f1; --card: #fffdf9; --ink: #24211c; --soft: #655e53; --line: #ddd5c7; --edge: #8c8372;
          --accent: #1d6145; --tint: #e6f0e9; --warn: #8a3b12; --warn-tint: #fbeadd;
          font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
        }
        @media (prefers-color-scheme: dark) {
          :root {
            --paper: #181613; --card: #211e1a; --ink: #ece6dc; --soft: #b0a799; --line: #3a352e; --edge: #81786a;
            --accent: #8fd1ae; --tint: #1f3329; --warn: #f2b184; --warn-tint: #3b2517;
          }
        }
        @media (prefers-contrast: more) {
          :root { --soft: var(--ink); --line: var(--ink); --edge: var(--ink); }
        }
        [hidden] { display: none !important; }
        *, *::before, *::after { box-sizing: border-box; }
        html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
        body { margin: 0; background: var(--paper); color: var(--ink); }
        main { max-width: 90rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; overflow-wrap: anywhere; }
        main:focus { outline: none; }
        h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .5rem; letter-spacing: -.01em; }
        h2 { font-size: 1.2rem; line-height: 1.3; margin: 2.25rem 0 .6rem; }
        h3 { font-size: 1rem; margin: 1.5rem 0 .4rem; }
        p { margin: 0 0 .75rem; max-width: 70ch; }
        a { color: var(--accent); text-underline-offset: .15em; text-decoration-thickness: .06em; }
        a:hover { text-decoration-thickness: .13em; }
        :focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 3px; }
        code, pre, .url { font-family: ui-monospace, "Cascadia Mono", "DejaVu Sans Mono", Menlo, monospace; font-size: .88em; }
        .url { overflow-wrap: anywhere; }
        pre { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .7rem .9rem;
          white-space: pre-wrap; overflow-wrap: anywhere; margin: 0 0 .9rem; max-width: none; }

        """

    /// The frame, forms, lists and tables of the portal's pages.
    private static let parts = """
        .skip { position: absolute; left: -100vw; top: 0; padding: .6rem 1rem; background: var(--card); z-index: 1; }
        .skip:focus { left: 0; }
        .banner { background: var(--card); border-bottom: 1px solid var(--line); }
        .bar { max-width: 90rem; margin: 0 auto; padding: .35rem 1rem; display: flex; flex-wrap: wrap; align-items: center;
          gap: 0 1.5rem; }
        .brand { display: inline-flex; align-items: center; gap: .5rem; font-weight: 700; font-size: 1.15rem;
          color: var(--ink); text-decoration: none; padding: .4rem 0; }
        .banner nav { margin-inline-start: auto; }
        .banner ul { display: flex; gap: .25rem; list-style: none; margin: 0; margin-inline-end: -.7rem; padding: 0; }
        .banner li a { display: block; padding: .55rem .7rem; color: var(--ink); text-decoration: none; border-radius: .4rem; }
        .banner li a:hover { text-decoration: underline; }
        .banner li a[aria-current] { color: var(--accent); font-weight: 600; box-shadow: inset 0 -2px var(--accent);
          border-radius: .4rem .4rem 0 0; }
        footer { max-width: 90rem; margin: 0 auto; padding: 1rem; border-top: 1px solid var(--line); color: var(--soft);
          font-size: .9rem; }
        footer p { margin: 0; max-width: none; }

        :where(body:not(.wide) main > *) { max-width: 64rem; }
        form:has(option[value="page"]:checked) details { display: none; }
        main { position: relative; }
        .adder > summary { position: absolute; top: 1.2rem; inset-inline-end: 1rem; list-style: none; }
        .adder > summary::-webkit-details-marker { display: none; }
        .adder > form { background: var(--card); border: 1px solid var(--line); border-radius: .8rem; padding: 1rem 1.15rem; }
        .cards:has(.site) { grid-template-columns: repeat(auto-fill, minmax(min(100%, 25rem), 1fr)); }
        .card.site { display: grid; grid-template-columns: 6.5rem minmax(0, 1fr); gap: 1rem; align-items: start; }
        .card.site h2 { font-size: 1.1rem; margin: 0; }
        .card.site h2 img { vertical-align: -.1em; margin-inline-end: .4rem; background: #f6f3ec; border-radius: .15rem; }
        .card.site p { margin: .25rem 0; }
        .card.site .url { font-size: .82em; }
        .card.site .line { font-size: .95rem; }
        .card.site .orders { margin: .6rem 0 0; }
        .line { display: flex; flex-wrap: wrap; gap: .2rem .9rem; align-items: baseline; }
        .tile { aspect-ratio: 4 / 3; display: grid; place-items: center; border-radius: .5rem; overflow: hidden;
          background: var(--tint); color: var(--accent); font-size: 2rem; font-weight: 700; }
        .tile:has(img) { background: #f6f3ec; }
        .tile.shot { border: 1px solid var(--line); background: #fff; }
        .tile.shot img { width: 100%; height: 100%; object-fit: cover; object-position: top; }
        .tag { display: inline-block; padding: .1rem .6rem; border: 1px solid var(--line); border-radius: 1rem;
          font-size: .85rem; text-decoration: none; margin-inline-end: .35rem; }
        progress { display: block; width: 100%; height: .6rem; accent-color: var(--accent); margin: .4rem 0; }
        .facets { flex: 1 1 100%; min-width: 0; display: flex; flex-wrap: wrap; gap: .35rem .8rem; }
        .facets .field { max-width: 100%; min-width: 0; }
        .facets label { font-weight: 400; font-size: .9rem; color: var(--soft); }
        .timeline { list-style: none; margin: .6rem 0 1rem; padding: 0; border-inline-start: 2px solid var(--line); }
        .timeline > li { position: relative; padding: 0 0 1.1rem 1.2rem; }
        .timeline > li::before { content: ""; position: absolute; inset-inline-start: -.4rem; top: .5rem; width: .7rem;
          height: .7rem; border-radius: 50%; background: var(--edge); }
        .timeline > li:has(.badge:not(.warn))::before { background: var(--accent); }
        .timeline p { margin: 0 0 .2rem; max-width: none; }
        .small .button, .small button { min-height: 2.25rem; padding: .2rem .7rem; font-size: .9rem; }
        .orders.small { margin: .4rem 0 0; }
        .kinds svg { display: block; width: 100%; max-width: 20rem; height: .4rem; fill: var(--accent); margin-top: .2rem; }
        .diff { background: var(--card); border: 1px solid var(--line); border-radius: .8rem; padding: .8rem 1rem; }
        .diff p { margin: 0 0 .35rem; max-width: none; }
        .diff del, .diff ins { display: block; padding: .1rem .5rem; border-inline-start: 4px solid; }
        .diff del { background: var(--warn-tint); border-color: var(--warn); }
        .diff ins { background: var(--tint); border-color: var(--accent); text-decoration: none; }
        .recent { list-style: none; margin: .5rem 0 1rem; padding: 0; display: grid; gap: .6rem 1.5rem;
          grid-template-columns: repeat(auto-fill, minmax(min(100%, 17rem), 1fr)); }
        .recent .name { font-weight: 600; }
        .recent .soft { display: block; font-size: .88rem; }

        .trail ol { list-style: none; display: flex; flex-wrap: wrap; margin: 0 0 .6rem; padding: 0; font-size: .9rem; }
        .trail li:not(:last-child)::after { content: "/"; color: var(--soft); padding: 0 .5rem; }
        .lead, .soft { color: var(--soft); }
        .lead { margin-bottom: 1rem; }

        .badge { display: inline-block; font-size: .8rem; font-weight: 600; padding: .1rem .55rem; border-radius: 1rem;
          max-width: 100%; background: var(--tint); color: var(--accent); }
        .badge.warn { background: var(--warn-tint); color: var(--warn); }

        .actions { display: flex; flex-wrap: wrap; gap: .6rem; margin: 1rem 0; max-width: none; }
        .button, button { font: inherit; font-weight: 600; display: inline-flex; align-items: center;
          gap: .35em; padding: .5rem 1rem; min-height: 2.75rem;
          border-radius: .5rem; border: 1px solid var(--accent); background: var(--accent); color: var(--paper);
          text-decoration: none; cursor: pointer; }
        .button.quiet { background: transparent; color: var(--accent); }
        form.find { display: flex; flex-wrap: wrap; align-items: end; gap: .35rem .6rem; margin: 1rem 0; max-width: 40rem; }
        form.compare { max-width: none; }
        form.find:has(.facets) { max-width: 52rem; }
        form.find label { flex: 1 0 100%; font-weight: 600; }
        form.find input { font: inherit; flex: 1 1 12rem; min-width: 0; min-height: 2.75rem; padding: .4rem .75rem;
          border: 1px solid var(--edge); border-radius: .5rem; background: var(--card); color: var(--ink); }

        .field { flex: 0 1 auto; min-width: 0; }
        form.find .field label { display: block; }
        form.find .field input { width: 100%; }
        button.quiet { background: transparent; color: var(--accent); }
        button.warn { background: transparent; color: var(--warn); border-color: var(--warn); }
        form.order { margin: 0 0 .75rem; }
        .orders { display: flex; flex-wrap: wrap; gap: .6rem; margin: 1rem 0; }
        .orders form, .orders p, td form.order, .job form { margin: 0; }
        td form.order { display: inline-block; }
        td form.order button { min-height: 2.25rem; padding: .2rem .7rem; font-size: .9rem; }
        form.sheetlike { max-width: 40rem; margin: 1rem 0; }
        .order .field { margin: 0 0 .8rem; }
        .order .field label { display: block; font-weight: 600; }
        .order .field small { display: block; margin-top: .35rem; color: var(--soft); }
        .order .fields { display: grid; grid-template-columns: repeat(auto-fill, minmax(14rem, 1fr)); gap: 0 1.25rem;
          margin: .6rem 0; }
        .order .wide { grid-column: 1 / -1; }
        .order input:not([type=hidden]), .order select, .order textarea { font: inherit; width: 100%; min-height: 2.75rem;
          padding: .4rem .75rem; border: 1px solid var(--edge); border-radius: .5rem; background: var(--card);
          color: var(--ink); }
        .order input[type=file] { padding: .55rem .75rem; }
        .list .orders { margin: .4rem 0; align-items: start; }
        .list .button { overflow-wrap: anywhere; }
        .order details { margin: 0 0 .8rem; }
        .order summary { cursor: pointer; color: var(--accent); padding: .5rem 0; }
        .notice { background: var(--tint); border-inline-start: 4px solid var(--accent); padding: .6rem .9rem; max-width: none;
          margin: .8rem 0 1rem; border-radius: .3rem; }
        .notice.warn { background: var(--warn-tint); border-color: var(--warn); }
        .notice form { margin: .5rem 0 0; }
        .job { margin: 0 0 1rem; }
        .card .scroll { background: none; }
        .map { margin: 1rem 0; }
        /* On a phone the labels of the map would be too small. The table below it has the same figures. */
        @media (max-width: 40rem) { .map { display: none; } }
        .map svg { display: block; width: 100%; height: auto; }
        .map text { fill: var(--ink); font-size: 14px; pointer-events: none; }
        .map .plot { fill: var(--card); stroke: var(--edge); }
        .map .type { stroke: var(--line); }
        .map .html { fill: var(--tint); }
        .map .media { fill: var(--warn-tint); }
        .map .code { fill: var(--line); }
        .map .other { fill: var(--paper); }
        .job h3 { overflow-wrap: anywhere; }
        form.find select { font: inherit; display: block; min-height: 2.75rem; max-width: 100%; padding: .4rem .6rem;
          border: 1px solid var(--edge); border-radius: .5rem; background: var(--card); color: var(--ink); }

        .cards { list-style: none; margin: 1rem 0; padding: 0; display: grid; gap: 1rem; }
        .card { background: var(--card); border: 1px solid var(--line); border-radius: .8rem; padding: 1rem 1.15rem; }
        .card h2, .card h3 { margin: 0 0 .1rem; }
        .card .actions { margin: .9rem 0 0; }
        .card > p { margin: 0 0 .35rem; }

        .facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(8.5rem, 1fr)); gap: .8rem 1.25rem;
          margin: 1rem 0; }
        .facts div { min-width: 0; }
        .facts dt { font-size: .85rem; color: var(--soft); }
        .facts dd { margin: 0; font-weight: 600; font-variant-numeric: tabular-nums; }
        .facts dd.note { font-weight: 400; font-size: .85rem; color: var(--soft); }
        .sheet { display: grid; grid-template-columns: minmax(8rem, max-content) minmax(0, 1fr); gap: .35rem 1.25rem;
          margin: .75rem 0; }
        .sheet dt { color: var(--soft); }
        .sheet dd { margin: 0; min-width: 0; }

        .list { list-style: none; margin: .5rem 0 1rem; padding: 0; border-top: 1px solid var(--line); }
        .list > li { padding: .5rem 0; border-bottom: 1px solid var(--line); }
        .list .name { font-weight: 600; }
        .list .url, .list .soft { display: block; }
        .list span.url, .list .soft { color: var(--soft); }
        .list .soft { font-size: .88rem; }
        .list .line { display: flex; flex-wrap: nowrap; align-items: baseline; gap: .6rem; }
        .list .line .url { flex: 1 1 auto; min-width: 0; }
        .list .folder::before { content: "\\25B8"; content: "\\25B8" / ""; color: var(--soft); display: inline-block; padding-inline-end: .45rem; }
        .entry { display: grid; grid-template-columns: minmax(0, 1fr) max-content; column-gap: 1.5rem; }
        .entry > * { grid-column: 1; justify-self: start; }
        .entry > .soft { grid-column: 2; grid-row: 1; justify-self: end; text-align: end; padding-top: .1rem; }
        .hits .part::before { content: " \\B7  "; color: var(--soft); }
        .hits .snippet { margin: .15rem 0; max-width: none; }
        .hits mark { background: var(--tint); color: inherit; font-weight: 600; }
        .links { list-style: none; margin: .4rem 0 1rem; padding: 0; columns: 24rem; column-gap: 2rem; }
        .links li { break-inside: avoid; padding: .18rem 0; }
        .next { margin: 1rem 0; }
        .pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(14rem, 1fr)); gap: 1rem;
          margin: .5rem 0 1.5rem; }
        .pictures figure { margin: 0; min-width: 0; }
        .pictures figcaption { color: var(--soft); font-size: .88rem; }
        .pictures img { display: block; width: 100%; height: auto; border: 1px solid var(--line); background: #fff; }
        .overlay { position: relative; isolation: isolate; }
        .overlay img + img { position: absolute; inset: 0; mix-blend-mode: difference; }

        .scroll { position: relative; overflow-x: auto; margin: .5rem 0 1rem; background:
          linear-gradient(to right, var(--paper) 40%, transparent) left / 2.5rem 100% no-repeat local,
          linear-gradient(to left, var(--paper) 40%, transparent) right / 2.5rem 100% no-repeat local,
          linear-gradient(to right, var(--line), transparent) left / .8rem 100% no-repeat scroll,
          linear-gradient(to left, var(--line), transparent) right / .8rem 100% no-repeat scroll; }
        table { border-collapse: collapse; width: 100%; }
        caption { text-align: start; color: var(--soft); font-size: .9rem; padding-bottom: .4rem; }
        th, td { text-align: start; vertical-align: top; padding: .45rem 0; padding-inline-end: 1.4rem; border-bottom: 1px solid var(--line);
          font-weight: 400; overflow-wrap: normal; }
        thead th { color: var(--soft); font-size: .88rem; white-space: nowrap; }
        td.number, th.number { text-align: end; font-variant-numeric: tabular-nums; white-space: nowrap; }
        td time { white-space: nowrap; }
        tr > :last-child { padding-inline-end: 0; }
        .hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }

        @media (max-width: 40rem) {
          main { padding-top: 1.1rem; }
          .adder > summary { top: .8rem; }
          .recent li:nth-child(n + 4) { display: none; }
          .card.site { grid-template-columns: 4.5rem minmax(0, 1fr); gap: .8rem; }
          h1 { font-size: 1.4rem; }
          .sheet { grid-template-columns: minmax(0, 6.5rem) minmax(0, 1fr); column-gap: .9rem; }
          th, td { padding-inline-end: .8rem; }
          tbody th { overflow-wrap: anywhere; }
          .entry { grid-template-columns: minmax(0, 1fr); }
          .entry > .soft { grid-column: 1; grid-row: auto; justify-self: start; text-align: start; }
          .facts { grid-template-columns: repeat(2, minmax(0, 1fr)); }
          .actions { gap: .5rem; }
          .actions .button { padding: .5rem .7rem; font-size: .95rem; }
          .banner nav { margin-inline-start: 0; }
          .banner ul { margin-inline-start: -.7rem; flex-wrap: wrap; gap: 0; }
        }
        /* Without the colours of the page, borders show what backgrounds and shadows did. */
        @media (forced-colors: active) {
          .banner li a[aria-current] { text-decoration: underline; }
          .badge, .tile, .hits mark, .notice { border: 1px solid; }
          .timeline > li::before { border: .35rem solid; }
          .kinds svg { fill: CanvasText; }
          .scroll { background: none; }
          .map .plot, .map .type { fill: Canvas; stroke: CanvasText; }
          .map text { fill: CanvasText; }
        }
        @media print { .banner, .skip, footer, form.find, .actions { display: none; } }

        """
}
