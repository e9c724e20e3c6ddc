internal import Web

/// What a proxy says of itself, to whoever opens its address: how it is trusted, and what passed. No page of
/// another origin reads it.
enum ProxyPage {
    static let certificatePath = "/larder-ca.pem"

    /// - Parameter showsTraffic: The client may see what passed. Others, on other machines, get the certificate.
    static func answer(
        _ request: Request, _ options: ProxyOptions, port: UInt16, showsTraffic: Bool
    ) -> Answer {
        let asked = PortalRequest(target: request.targetText)
        // A page that a browser shows may go here, and may not have it read.
        if request.isCrossOrigin, request.fields["Sec-Fetch-Dest"] != "document" {
            return .text(403, "This is not for other pages.\n", fields: own)
        }
        let traffic = TrafficPage(
            PassingTraffic(log: options.log, port: port), at: "/", titled: "Larder’s proxy", asked)
        switch asked.path {
        case "", "/", jsonPath:
            guard showsTraffic else {
                return .text(403, "What passed is shown on the proxy's own machine.\n", fields: own)
            }
            if asked.path == jsonPath {
                return Answer(
                    status: 200, fields: [("Content-Type", "application/json")] + own,
                    body: Array("\(traffic.members.text())\n".utf8))
            }
            return .html(200, page(traffic), fields: own)
        case certificatePath:
            return Answer(
                status: 200, fields: [("Content-Type", "application/x-pem-file")] + own,
                body: Array(options.certificate.utf8))
        default: return .text(404, "The proxy has no page \(asked.path).\n", fields: own)
        }
    }

    private static let jsonPath = "/passes.json"

    private static let own = [
        ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"), ("X-Frame-Options", "DENY"),
        ("Cross-Origin-Resource-Policy", "same-origin"), ("Cross-Origin-Opener-Policy", "same-origin"),
        (
            "Content-Security-Policy",
            "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        ),
    ]

    private static func page(_ traffic: TrafficPage) -> String {
        var html = HTMLWriter()
        html.element("h1", text: traffic.title)
        traffic.write(to: &html)
        html.element("p") { html in
            html.link(certificatePath, text: "The certificate of its authority")
            html.text(" · ")
            html.link(jsonPath, text: "what passed, as JSON")
        }
        let body = String(decoding: html.bytes, as: UTF8.self)
        return HTMLPage(title: traffic.title, body: body, style: PortalStyle.text, refresh: traffic.refresh)
            .text
    }
}
