internal import Origins
internal import Reports
internal import System
internal import Web

/// The page with the form that saves one page. The bookmarklet opens it with the URL of the page. Any web page can link
/// to it as well, and so it changes nothing: the visitor has to press the button.
struct AddPage: PortalPage {
    /// The values of the fields of the form.
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

/// The page that explains how to save the page that a browser shows: by a bookmarklet, or by the extension. It pairs
/// extensions and lists the paired ones.
struct SaveFromBrowserPage: PortalPage {
    private let pairedExtensions: [ExtensionPairings.PairedExtension]
    /// The pairing code that is valid now; nil if none is.
    private let code: String?
    private let canPair: Bool
    let title = "Save from the browser"
    var heading: Sentence? { .saveTitle }
    let section = PortalSection.sites

    /// - Parameters:
    ///   - pairings: the paired extensions; nil if none may be paired.
    ///   - canPair: whether the visitor is the user of this machine. Others see neither the code nor the extensions.
    init(_ pairings: ExtensionPairings?, canPair: Bool) {
        self.canPair = canPair && pairings != nil
        pairedExtensions = canPair ? pairings?.paired ?? [] : []
        code = canPair ? pairings?.currentCode(now: SystemClock.seconds()) : nil
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

    /// Writes how to install and pair the extension, the pairing code, and the paired extensions.
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
        guard !pairedExtensions.isEmpty else { return }
        html.element("h3", say: .pairedTitle)
        html.element("ul", ["class": "list"]) { html in
            for pairing in pairedExtensions {
                html.element("li") { html in
                    html.isolatedText(pairing.name.isEmpty ? pairing.origin : pairing.name)
                    html.text(" ")
                    html.time(pairing.since, now: context.now)
                    html.text(" ")
                    html.commandButton(
                        "unpair", .doUnpair, about: pairing.name, context,
                        fields: [("number", "\(pairing.number)")],
                        warns: true)
                }
            }
        }
    }

    /// The `javascript:` URL of the bookmarklet, which opens the form of `AddPage`. In the portal itself the link does
    /// nothing, since the portal's Content-Security-Policy blocks it: it has to be dragged to the bookmarks bar.
    private static func bookmarklet(_ layout: OriginLayout) -> String {
        "javascript:void(open('\(layout.home.dropLast())\(PortalLinks.add)?url='+encodeURIComponent(location.href)))"
    }

    /// The paired extensions. The pairing code is only in the HTML.
    func members(_ context: PortalContext) -> JSONMembers {
        [
            "extensions": pairedExtensions.map { pairing -> JSONMembers in
                ["name": pairing.name, "origin": pairing.origin, "since": Wording.date(pairing.since)]
            }
        ]
    }
}
