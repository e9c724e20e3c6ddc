internal import Reports
internal import Web

/// What stands around every page of the portal.
enum PortalFrame {
    static func html(_ page: some PortalPage, _ context: PortalContext) -> [UInt8] {
        var html = HTMLWriter()
        html.literal("<!doctype html>\n")
        html.element("html", ["lang": "en"]) { html in
            html.element("head") { writeHead(page, to: &$0) }
            html.element("body") { html in
                html.link("\(context.address)#content", ["class": "skip"], text: "Skip to the content")
                writeBanner(page, to: &html, context)
                html.element("main", ["id": "content", "tabindex": "-1"]) { html in
                    writeTrail(page, to: &html, context)
                    html.element("h1") { $0.foreign(Wording.cut(page.title)) }
                    page.write(to: &html, context)
                }
                writeFooter(to: &html, context)
            }
        }
        html.literal("\n")
        return html.bytes
    }

    private static func writeHead(_ page: some PortalPage, to html: inout HTMLWriter) {
        html.void("meta", ["charset": "utf-8"])
        html.void("meta", ["name": "viewport", "content": "width=device-width, initial-scale=1"])
        html.void("meta", ["name": "color-scheme", "content": "light dark"])
        html.element("title", text: page.title == "Larder" ? "Larder" : "\(Wording.cut(page.title)) · Larder")
        if let seconds = page.refresh { html.void("meta", ["http-equiv": "refresh", "content": "\(seconds)"]) }
        html.void("link", ["rel": "stylesheet", "href": PortalStyle.path])
        if page.hasScript { html.element("script", ["src": SearchScript.path, "defer": ""]) { _ in } }
        html.void("link", ["rel": "icon", "type": "image/svg+xml", "href": PortalIcon.path])
    }

    private static func writeBanner(
        _ page: some PortalPage, to html: inout HTMLWriter, _ context: PortalContext
    ) {
        html.element("header", ["class": "banner"]) { html in
            html.element("div", ["class": "bar"]) { html in
                html.link(context.links.home, ["class": "brand"]) { html in
                    html.void("img", ["src": PortalIcon.path, "alt": "", "width": "28", "height": "28"])
                    html.text("Larder")
                }
                html.element("nav", ["aria-label": "Larder"]) { html in
                    html.element("ul") { html in
                        entry("Sites", context.links.home, page.section == .sites, to: &html)
                        entry("Scripts", PortalLinks.scripts, page.section == .scripts, to: &html)
                        entry("Search", PortalLinks.search, page.section == .search, to: &html)
                        if context.hasProxy {
                            entry("Proxy", PortalLinks.traffic, page.section == .traffic, to: &html)
                        }
                    }
                }
            }
        }
    }

    private static func entry(_ text: String, _ address: String, _ isHere: Bool, to html: inout HTMLWriter) {
        html.element("li") { $0.link(address, ["aria-current": isHere ? "true" : nil], text: text) }
    }

    private static func writeTrail(
        _ page: some PortalPage, to html: inout HTMLWriter, _ context: PortalContext
    ) {
        let trail = page.trail(context)
        guard !trail.isEmpty else { return }
        html.element("nav", ["class": "trail", "aria-label": "You are here"]) { html in
            html.element("ol") { html in
                for step in trail {
                    html.element("li") {
                        $0.link(step.address) { $0.foreign(Wording.cut(step.text, to: 80)) }
                    }
                }
            }
        }
    }

    private static func writeFooter(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("footer") { html in
            html.element("p") { html in
                html.text("Nothing here asks anything of the network. For programs: ")
                html.link(context.jsonAddress, ["type": "application/json"], text: "this page as JSON")
                html.text(".")
            }
        }
    }
}

/// One page of the portal: what it says, as values, for people and for programs.
protocol PortalPage {
    var status: Int { get }
    var title: String { get }
    /// Which of the portal's parts it belongs to.
    var section: PortalSection { get }
    /// After how many seconds a browser loads it again; nil for never.
    var refresh: Int? { get }
    /// Its script helps where scripts run; without, the page does the same.
    var hasScript: Bool { get }
    /// What stands above it, from the home page down.
    func trail(_ context: PortalContext) -> [(text: String, address: String)]
    /// Below the heading, which is the title.
    func write(to html: inout HTMLWriter, _ context: PortalContext)
    /// For programs: one object.
    func members(_ context: PortalContext) -> JSONMembers
}

extension PortalPage {
    var status: Int { 200 }
    var refresh: Int? { nil }
    var hasScript: Bool { false }
    func trail(_ context: PortalContext) -> [(text: String, address: String)] { [] }
}

enum PortalSection {
    case sites
    case search
    case scripts
    case traffic
    case none
}

/// What a page is written for.
struct PortalContext {
    let layout: OriginLayout
    let links: PortalLinks
    /// There is a proxy beside the mirror.
    let hasProxy: Bool
    /// Seconds since 1970.
    let now: Int64
    /// Path and query of this page, and where it is to be had as JSON.
    let address: String
    let jsonAddress: String

    /// Where an URL is shown as it was; nil for what the mirror does not serve.
    func mirrored(_ href: String) -> String? { WebURL(href).flatMap(layout.address) }
}

/// A page of the larder's own that stands outside the portal, style included: plain HTML and CSS, light and
/// dark, without scripts.
struct HTMLPage {
    let title: String
    /// Markup; whatever comes from outside is escaped in it already.
    let body: String
    var style = PortalStyle.base
    /// After how many seconds a browser loads it again; nil for never.
    var refresh: Int?

    var text: String {
        """
        <!doctype html>
        <html lang="en">
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>\(Self.escape(title))</title>
        \(refresh.map { "<meta http-equiv=\"refresh\" content=\"\($0)\">" } ?? "")
        <style>\(style)</style>
        <main>
        \(body)
        </main>
        </html>

        """
    }

    static func escape(_ text: String) -> String {
        var escaped: [UInt8] = []
        escaped.append(escaping: text.withVisibleControls)
        return String(decoding: escaped, as: UTF8.self)
    }
}

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
        html.searchForm(PortalLinks.search, label: "Search what is held")
        html.element("p") { $0.link(context.links.home, text: "What the larder holds") }
    }

    func members(_ context: PortalContext) -> JSONMembers { ["error": "not found", "target": target] }
}
