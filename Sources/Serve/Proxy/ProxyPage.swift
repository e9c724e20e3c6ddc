internal import Web

/// What a proxy says of itself, to whoever opens its address: how it is trusted, and what passed. No page of another origin
/// reads it.
enum ProxyPage {
    static let certificatePath = "/larder-ca.pem"

    static func answer(_ request: Request, _ options: ProxyOptions, port: UInt16) -> Answer {
        let target = request.targetText
        let path = String(target.prefix { $0 != "?" })
        // A page that a browser shows may go here, and may not have it read.
        if request.isCrossOrigin, request.fields["Sec-Fetch-Dest"] != "document" {
            return .text(403, "This is not for other pages.\n", fields: own)
        }
        switch path.isEmpty ? "/" : path {
        case "/": return .html(200, page(options, port: port), fields: own)
        case certificatePath:
            return Answer(
                status: 200, fields: [("Content-Type", "application/x-pem-file")] + own,
                body: Array(options.certificate.utf8))
        case "/passes.json":
            return Answer(
                status: 200, fields: [("Content-Type", "application/json")] + own,
                body: Array(json(options.log, after: number(target)).utf8))
        default: return .text(404, "The proxy has no page \(path).\n", fields: own)
        }
    }

    private static let own = [
        ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"), ("X-Frame-Options", "DENY"),
        ("Cross-Origin-Resource-Policy", "same-origin"), ("Cross-Origin-Opener-Policy", "same-origin"),
        (
            "Content-Security-Policy",
            "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; frame-ancestors 'none'"
        ),
    ]

    private static func number(_ target: String) -> Int {
        let query = target.split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
        return query.hasPrefix("after=") ? Int(query.dropFirst(6)) ?? 0 : 0
    }

    /// The passes after a number, the newest first.
    static func json(_ log: PassLog, after number: Int) -> String {
        var writer = JSONWriter()
        writer.value(log.recent(after: number))
        return writer.text
    }

    private static func page(_ options: ProxyOptions, port: UInt16) -> String {
        """
        <!doctype html>
        <html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
        <meta name="color-scheme" content="light dark"><title>Larder's proxy</title>
        <style>
        body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem }
        table { border-collapse: collapse; width: 100% } th, td { text-align: left; padding: .2rem .6rem .2rem 0 }
        td.n, th.n { text-align: right; white-space: nowrap } td.u { overflow-wrap: anywhere } .missed { color: #c33 }
        input { font: inherit; width: 24rem; max-width: 100% }
        </style>
        <h1>Larder's proxy</h1>
        <p>Programs use it by <code>http_proxy=http://localhost:\(port)</code> and
        <code>https_proxy=http://localhost:\(port)</code>. For https they are to trust
        <a href="\(certificatePath)">its certificate</a>; <code>larder ca</code> says how.</p>
        <p><label>Show only <input id="words" type="search" placeholder="method, address, status or source"></label>
        <span id="count" role="status"></span></p>
        <table><thead><tr><th>Method<th>Address<th class="n">Status<th>From<th class="n">Bytes<th class="n">ms</thead>
        <tbody id="passes"></tbody></table>
        <noscript><p>The list needs scripts; <a href="/passes.json">passes.json</a> has the same.</p></noscript>
        <script>
        const rows = document.getElementById('passes'), words = document.getElementById('words');
        let last = 0;
        function filter(row) { row.hidden = !row.textContent.toLowerCase().includes(words.value.toLowerCase()) }
        function count() {
          const shown = [...rows.rows].filter(row => !row.hidden).length;
          document.getElementById('count').textContent = shown + ' of ' + rows.rows.length;
        }
        words.oninput = () => { [...rows.rows].forEach(filter); count() };
        async function look() {
          try {
            const passes = await (await fetch('/passes.json?after=' + last)).json();
            for (const pass of passes.reverse()) {
              const row = rows.insertRow(0);
              const cells = [pass.method, pass.url, pass.status, pass.source, pass.bytes, pass.milliseconds];
              cells.forEach((text, index) => {
                const cell = row.insertCell();
                cell.textContent = text;
                cell.className = index === 1 ? 'u' : [2, 4, 5].includes(index) ? 'n' : '';
              });
              if (pass.source === 'missed') row.className = 'missed';
              last = pass.number;
              filter(row);
            }
            while (rows.rows.length > 1000) rows.deleteRow(-1);
            count();
          } catch {}
          setTimeout(look, 1000);
        }
        look();
        </script>
        """
    }
}
