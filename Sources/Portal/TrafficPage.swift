internal import HTTPServer
internal import Reports
package import Web

/// The requests through a proxy, newest first, with a filter. Shown by the portal beside the proxy, and by
/// the proxy itself.
package struct TrafficPage: PortalPage {
    /// The latest requests that match the filter.
    package let requests: [ProxyLog.LoggedRequest]
    /// The text that the shown requests contain; nil to show all.
    let filterText: String?
    /// Whether the page reloads itself.
    package let isLive: Bool
    /// The totals of all requests, also of those that the filter hides.
    private let totals: ProxyLog.ProxyTotals
    private let proxyPort: UInt16
    /// The path of the page, which answers the filter, too.
    private let path: String
    package let title: String
    var heading: Sentence? { path == PortalLinks.traffic ? .proxy : nil }
    let section = PortalSection.traffic

    /// - Parameters:
    ///   - request: its field `q` is the filter, `live` makes the page reload itself, and `after` leaves out the requests
    ///     up to that number.
    ///   - path: the path of the page.
    ///   - language: the language of the words that the filter compares.
    package init(
        _ traffic: ProxyLogSource, at path: String, titled title: String, _ request: PortalRequest,
        in language: PortalLanguage
    ) {
        filterText = request["q"]
        isLive = request["live"] != nil
        (self.path, self.title) = (path, title)
        proxyPort = traffic.port
        totals = traffic.log.totals
        let words = filterText.map { $0.lowercased() } ?? ""
        let matches = traffic.log.recent(after: Int(request.number("after") ?? 0)).lazy.filter { entry in
            guard !words.isEmpty else { return true }
            let source = "\(entry.source.rawValue) \(entry.source.sentence.text(in: language))"
            return "\(entry.method) \(entry.url) \(entry.status) \(source)".lowercased().contains(words)
        }
        requests = Array(matches.prefix(Self.maxShownRequests))
    }

    /// The maximum number of requests on the page. Older ones are left out.
    private static let maxShownRequests = 200

    /// Two seconds in the live mode. The page has no script.
    package var refresh: Int? { isLive ? 2 : nil }

    package func write(to html: inout HTMLWriter, _ context: PortalContext) { write(to: &html) }

    package func write(to html: inout HTMLWriter) {
        html.element("p", ["class": "lead"]) { html in
            let sources = ProxyLog.Source.allCases.map {
                html.words(.countOfSource, "\(totals[$0])", html.words($0.sentence))
            }
            html.say(
                .trafficLead, sources.joined(separator: html.words(.comma)), "http://localhost:\(proxyPort)")
        }
        if isLive {
            html.element("p") { $0.link(address(isLive: false), say: .stopRefreshing) }
        } else {
            html.searchForm(path, label: html.words(.trafficLabel), words: filterText ?? "")
            html.element("p") { $0.link(address(isLive: true), say: .refreshAutomatically) }
        }
        guard !requests.isEmpty else {
            return html.element(
                "p", say: filterText == nil ? .trafficNone : .trafficNoMatch)
        }
        html.element("ul", ["class": "list"]) { html in
            for entry in requests { html.element("li") { writeRequest(entry, to: &$0) } }
        }
    }

    private func address(isLive: Bool) -> String {
        PortalLinks.path(path, [("q", filterText), ("live", isLive ? "1" : nil)])
    }

    /// Writes a request: method, status and URL, and below them the source, the size and the duration.
    private func writeRequest(_ entry: ProxyLog.LoggedRequest, to html: inout HTMLWriter) {
        html.element("span", ["class": "line"]) { html in
            html.element("span", ["class": "soft"]) { $0.isolatedText(Wording.cut(entry.method, to: 20)) }
            html.text(" ")
            let isLost = entry.source == .missed || entry.status >= 400
            html.element("span", ["class": isLost ? "badge warn" : "badge"], text: "\(entry.status)")
            html.text(" ")
            html.element("span", ["class": "url"]) { $0.url(entry.url) }
        }
        html.element("span", ["class": "soft"]) { html in
            let time = html.words(.milliseconds, "\(Int(entry.duration / .milliseconds(1)))")
            let words = [html.words(entry.source.sentence), html.language.bytes(entry.byteCount), time]
            html.text(
                (words + (entry.isStored ? [html.words(.trafficStored)] : [])).joined(
                    separator: html.words(.comma)))
        }
    }

    package var members: JSONMembers { ["passes": requests] }
    package func members(_ context: PortalContext) -> JSONMembers { members }
}

/// The log and the port of a proxy.
package struct ProxyLogSource: Sendable {
    package let log: ProxyLog
    package let port: UInt16

    package init(log: ProxyLog, port: UInt16) { (self.log, self.port) = (log, port) }
}

extension ProxyLog.Source {
    /// The source in words, which the filter compares, too.
    fileprivate var sentence: Sentence {
        switch self {
        case .store: .fromStore
        case .validated: .fromValidated
        case .network: .fromNetwork
        case .missed: .fromMissed
        case .tunnel: .fromTunnel
        }
    }
}
