internal import Reports
internal import Store
internal import Web

/// The section of a site's page that lists the missing URLs, grouped by cause, with a button that tries again.
struct ProblemsSection {
    let site: SiteReport

    /// Why URLs are missing.
    enum Cause: CaseIterable {
        case serverError, refused, noAddress, notStored, part, other

        init(_ reason: SiteNeeds.UnmetNeed.Reason) {
            switch reason {
            case .notStored: self = .notStored
            case .part: self = .part
            case .answered(let status): self.init(status: status)
            case .other("its host has no address"): self = .noAddress
            case .other(let text):
                self = FailureText.status(in: text).map { Cause(status: $0) } ?? .other
            }
        }

        private init(status: Int) {
            switch status {
            case 401, 403, 407, 429, 451: self = .refused
            case 500...: self = .serverError
            default: self = .other
            }
        }

        var sentence: Sentence {
            switch self {
            case .serverError: .causeServerError
            case .refused: .causeRefused
            case .noAddress: .causeNoAddress
            case .notStored: .causeNotStored
            case .part: .causePart
            case .other: .causeOther
            }
        }
    }

    /// The number of URLs that are listed for each cause.
    private static let maxListedURLs = 3

    /// Writes the section; nothing if no URL is known to be missing.
    func write(to html: inout HTMLWriter, _ context: PortalContext) {
        let problems = site.needs?.missing ?? []
        let count = max(problems.count, site.missing?.failed ?? 0)
        guard count > 0 else { return }
        html.element("h2", say: Phrase(.nameAndCount, html.words(.problems), Wording.number(count)))
        if !problems.isEmpty {
            html.element("ul", ["class": "list"]) { html in
                for cause in Cause.allCases {
                    let group = problems.filter { Cause($0.reason) == cause }
                    guard !group.isEmpty else { continue }
                    html.element("li") { html in
                        html.element("span", ["class": "name"]) { html in
                            html.say(.nameAndCount, html.words(cause.sentence), Wording.number(group.count))
                        }
                        for need in group.prefix(Self.maxListedURLs) {
                            html.link(context.links.details(need.href), ["class": "url"]) {
                                $0.url(need.href)
                            }
                        }
                        if group.count > Self.maxListedURLs {
                            let more = Wording.number(group.count - Self.maxListedURLs)
                            html.element("span", ["class": "soft"], say: Phrase(.andMore, more))
                        }
                    }
                }
            }
        }
        html.element("div", ["class": "orders"]) { html in
            html.commandButton(
                "update", .doRetryAll, about: site.title, context, fields: [("site", site.site.name)])
            html.link(context.links.missing(of: site.id), ["class": "button quiet"], say: .allProblems)
        }
    }
}
