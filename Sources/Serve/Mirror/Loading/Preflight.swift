internal import Store
internal import Web

/// What a browser would ask a server before it sends a page's request to another origin, were that not beside the root, and
/// so the page's own to the browser.
struct Preflight: Sendable {
    let request: LoadRequest
    private let method: String
    private let names: [String]
    private let origin: String

    /// Nil where a browser would not ask either.
    ///
    /// - Parameter fields: as they are sent to the server.
    init?(
        _ method: String, _ fields: HTTPFields, to url: WebURL, asker: Asker, layout: OriginLayout,
        mayReach: ResponseFlags
    ) {
        guard let root = layout.root, !root.isRoot(url), case .none = layout.page, !asker.use.makesDocument,
            case .page(let origins) = asker.kind, !asker.isOpaque, !origins.contains(url.origin)
        else { return nil }
        names = fields.list.map { HTTPGrammar.lowercased($0.name.utf8) }.filter { name in
            !Self.isBrowsers(name) && !Self.isSafe(name, fields)
        }.sorted()
        guard !names.isEmpty || !["GET", "HEAD", "POST"].contains(method) else { return nil }
        self.method = method
        origin = fields["Origin"] ?? origins[0]
        var asked: HTTPFields = [
            "Origin": origin, "Access-Control-Request-Method": method, "Sec-Fetch-Mode": "cors",
            "Sec-Fetch-Dest": "empty",
        ]
        if let site = fields["Sec-Fetch-Site"] { asked.set("Sec-Fetch-Site", site) }
        for name in ["User-Agent", "Referer"] {
            if let value = fields[name] { asked.set(name, value) }
        }
        if !names.isEmpty { asked.set("Access-Control-Request-Headers", names.joined(separator: ",")) }
        request = LoadRequest(
            method: "OPTIONS", url: url, fields: asked, body: [], mayReach: mayReach, isAnonymous: true)
    }

    /// Fetch, section 4.8: the request goes without credentials.
    func isPassed(by outcome: LoadOutcome) -> Bool {
        guard case .response(let response) = outcome, (200...299).contains(response.status) else { return false }
        let fields = response.fields
        let allowed = fields.all("Access-Control-Allow-Origin")
        guard allowed == ["*"] || allowed == [origin] else { return false }
        let methods = fields.elements("Access-Control-Allow-Methods").map { String($0) }
        let known = fields.elements("Access-Control-Allow-Headers").map { HTTPGrammar.lowercased($0.utf8) }
        return (["GET", "HEAD", "POST"].contains(method) || methods.contains(method) || methods.contains("*"))
            && names.allSatisfy { known.contains($0) || $0 != "authorization" && known.contains("*") }
    }

    /// A script may send it anywhere.
    private static func isSafe(_ name: String, _ fields: HTTPFields) -> Bool {
        switch name {
        case "accept", "accept-language", "content-language", "range", "last-event-id": true
        case "content-type":
            ["application/x-www-form-urlencoded", "multipart/form-data", "text/plain"]
                .contains(fields.contentType?.essence)
        default: false
        }
    }

    /// Browsers send it by themselves.
    private static func isBrowsers(_ name: String) -> Bool {
        name.hasPrefix("sec-") || name.hasPrefix("if-")
            || [
                "host", "origin", "referer", "user-agent", "connection", "cookie", "accept-encoding", "content-length",
                "cache-control", "pragma", "priority", "upgrade-insecure-requests", "dnt", "te", "transfer-encoding",
                "expect", "keep-alive", "save-data", "purpose",
            ].contains(name)
    }
}
