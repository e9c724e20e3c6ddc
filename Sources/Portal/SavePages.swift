internal import Origins
internal import Reports
internal import System
internal import Web

/// The form that saves one page. The bookmarklet opens it with the URL of the page; nothing happens before the
/// visitor presses the button.
struct AddPage: PortalPage {
    private let form: PortalRequest

    let title = "Save a page"
    var heading: Sentence? { .addTitle }
    let section = PortalSection.sites

    /// - Parameter request: the request, with the URL of the page as its field `url`.
    init(_ request: PortalRequest) {
        form = PortalRequest(
            path: "/", fields: [("url", request["url"] ?? ""), ("what", SiteSettingsForm.pageOnly)])
    }

    func write(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("p", ["class": "lead"], say: .addLead)
        html.explainReadOnly(context)
        html.prefetchForm(context, form)
    }

    func members(_ context: PortalContext) -> JSONMembers { ["url": form["url"]] }
}

/// Explains how to save the pages that a browser shows.
struct SavePage: PortalPage {
    private let paired: [ExtensionPairings.PairedExtension]
    private let code: String?
    private let canPair: Bool
    let title = "Save from the browser"
    var heading: Sentence? { .saveTitle }
    let section = PortalSection.sites

    /// - Parameters:
    ///   - book: the paired extensions; nil if none may be paired.
    ///   - canPair: whether the visitor is the user of this machine.
    init(_ book: ExtensionPairings?, canPair: Bool) {
        self.canPair = canPair && book != nil
        paired = canPair ? book?.paired ?? [] : []
        code = canPair ? book?.currentCode(now: SystemClock.seconds()) : nil
    }

    func write(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("p", ["class": "lead"], say: .saveLead)
        html.explainReadOnly(context)
        html.element("p", say: .saveBookmarkHint)
        html.element("p") { html in
            html.element(
                "a", ["class": "button", "href": Self.bookmarklet(context.layout)], say: .saveBookmark)
        }
        if canPair, context.token != nil { writeExtension(to: &html, context) }
    }

    private func writeExtension(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("h2", say: .extensionTitle)
        html.element("p", say: .extensionLead)
        html.element("p", say: .extensionInstall)
        if let code {
            html.element("p", ["class": "notice", "role": "status"]) { html in
                html.say(.pairCode)
                html.element("code", text: code)
                html.say(.pairCodeHint)
            }
        }
        html.commandButton("pair", .doPair, context)
        guard !paired.isEmpty else { return }
        html.element("h3", say: .pairedTitle)
        html.element("ul", ["class": "list"]) { html in
            for one in paired {
                html.element("li") { html in
                    html.isolatedText(one.name.isEmpty ? one.origin : one.name)
                    html.text(" ")
                    html.time(one.since, now: context.now)
                    html.text(" ")
                    html.commandButton(
                        "unpair", .doUnpair, about: one.name, context, fields: [("number", "\(one.number)")],
                        warns: true)
                }
            }
        }
    }

    /// A `javascript:` URL that opens the form above. The portal's own policy keeps it from running here.
    private static func bookmarklet(_ layout: OriginLayout) -> String {
        "javascript:void(open('\(layout.home.dropLast())\(PortalLinks.add)?url='+encodeURIComponent(location.href)))"
    }

    /// The code is only in the page, which no other origin can read.
    func members(_ context: PortalContext) -> JSONMembers {
        [
            "extensions": paired.map { one -> JSONMembers in
                ["name": one.name, "origin": one.origin, "since": Wording.date(one.since)]
            }
        ]
    }
}
