internal import Web

/// What the portal says of an address that it has nothing at.
struct NotFoundPage: PortalPage {
    let target: String
    let status = 404
    let title = "Nothing here"
    let section = PortalSection.none

    func write(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("p") { html in
            html.text("The portal has no page at ")
            html.element("span", ["class": "url"]) { $0.address(target) }
            html.text(". To open an original address, put it whole behind the larder’s own:")
        }
        html.element("pre", text: "\(context.layout.home)https://example.com/")
        html.searchForm(PortalLinks.search, label: "Search titles and addresses")
        html.element("p") { $0.link(context.links.home, text: "What the larder holds") }
    }

    func write(to json: inout JSONWriter, _ context: PortalContext) {
        json.member("error", "not found")
        json.member("target", target)
    }
}
