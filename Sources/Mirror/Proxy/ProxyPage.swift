internal import HTTPServer
internal import Portal
internal import Web

/// The proxy's own pages: its certificate and its traffic. Pages of other origins cannot read them.
///
/// | path | answer |
/// | --- | --- |
/// | `/` | the latest requests as an HTML page, only for clients on this machine |
/// | `/passes.json` | the same as JSON |
/// | `/larder-ca.pem` | the certificate of the proxy's authority, which devices install to accept the proxy's TLS |
///
/// `ProxyResponder` has checked the login before it calls `answer`.
enum ProxyPage {
    /// The path of the authority's certificate in PEM.
    static let certificatePath = "/larder-ca.pem"

    /// Answers a GET or HEAD request to the proxy itself.
    ///
    /// - Parameter showsTraffic: whether the client may see the traffic. Clients on other machines get only
    ///   the certificate.
    static func answer(
        _ request: Request, _ options: ProxySettings, port: UInt16, showsTraffic: Bool
    ) -> Answer {
        let portalRequest = PortalRequest(target: request.targetText)
        // Pages of other origins may link here, but not read the answer.
        if request.isCrossOrigin, request.fields["Sec-Fetch-Dest"] != "document" {
            return .text(403, "Pages of other sites may not read this.\n", fields: own)
        }
        let language = PortalLanguage(accepting: request.fields.joinedValues("Accept-Language"))
        let traffic = TrafficPage(
            ProxyLogSource(log: options.log, port: port), at: "/",
            titled: Sentence.proxyTitle.text(in: language), portalRequest, in: language)
        switch portalRequest.path {
        case "", "/", jsonPath:
            guard showsTraffic else {
                return .text(403, "The traffic of the proxy is shown only on its own machine.\n", fields: own)
            }
            if portalRequest.path == jsonPath {
                return Answer(
                    status: 200, fields: [("Content-Type", "application/json")] + own,
                    body: Array("\(traffic.members.text())\n".utf8))
            }
            return .html(200, page(traffic, language), fields: own + [("Vary", "Accept-Language")])
        case certificatePath:
            return Answer(
                status: 200, fields: [("Content-Type", "application/x-pem-file")] + own,
                body: Array(options.certificate.utf8))
        default: return .text(404, "The proxy has no page \(portalRequest.path).\n", fields: own)
        }
    }

    /// The path of the traffic as JSON.
    private static let jsonPath = "/passes.json"

    /// The header fields of each answer: nothing is cached, and no other origin can read, frame or script the page.
    private static let own = [
        ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"), ("X-Frame-Options", "DENY"),
        ("Cross-Origin-Resource-Policy", "same-origin"), ("Cross-Origin-Opener-Policy", "same-origin"),
        (
            "Content-Security-Policy",
            "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        ),
    ]

    /// The HTML page of the traffic. It loads itself anew with a meta refresh, since its policy allows no scripts.
    private static func page(_ traffic: TrafficPage, _ language: PortalLanguage) -> String {
        var html = HTMLWriter()
        html.language = language
        html.element("h1", text: traffic.title)
        traffic.write(to: &html)
        html.element("p") { html in
            html.link(certificatePath, say: .proxyCertificate)
            html.text(" · ")
            html.link(jsonPath, say: .trafficAsJSON)
        }
        let body = String(decoding: html.bytes, as: UTF8.self)
        return HTMLPage(
            title: traffic.title, body: body, style: PortalStyle.text, refresh: traffic.refresh,
            language: language
        ).text
    }
}
