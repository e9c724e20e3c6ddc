internal import Reports
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
            path: "/", fields: [("url", request["url"] ?? ""), ("what", PlanForm.page)])
    }

    func write(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("p", ["class": "lead"], say: .addLead)
        html.whyNot(context)
        html.prefetchForm(context, form)
    }

    func members(_ context: PortalContext) -> JSONMembers { ["url": form["url"]] }
}

/// Explains how to save the pages that a browser shows.
struct SavePage: PortalPage {
    let title = "Save from the browser"
    var heading: Sentence? { .saveTitle }
    let section = PortalSection.sites

    func write(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("p", ["class": "lead"], say: .saveLead)
        html.whyNot(context)
        html.element("p", say: .saveBookmarkHint)
        html.element("p") { html in
            html.element(
                "a", ["class": "button", "href": Self.bookmarklet(context.layout)], say: .saveBookmark)
        }
    }

    /// A `javascript:` URL that opens the form above. The portal's own policy keeps it from running here.
    private static func bookmarklet(_ layout: OriginLayout) -> String {
        "javascript:void(open('\(layout.home.dropLast())\(PortalLinks.add)?url='+encodeURIComponent(location.href)))"
    }

    func members(_ context: PortalContext) -> JSONMembers { [:] }
}
