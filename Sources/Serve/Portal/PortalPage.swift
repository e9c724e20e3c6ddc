internal import Web

/// One page of the portal: what it says, as values, for people and for programs.
protocol PortalPage {
    var status: Int { get }
    var title: String { get }
    /// Which of the portal's parts it belongs to.
    var section: PortalSection { get }
    /// What stands above it, from the home page down.
    func trail(_ context: PortalContext) -> [(text: String, address: String)]
    /// Below the heading, which is the title.
    func write(to html: inout HTMLWriter, _ context: PortalContext)
    /// The members of one object.
    func write(to json: inout JSONWriter, _ context: PortalContext)
}

extension PortalPage {
    var status: Int { 200 }
    func trail(_ context: PortalContext) -> [(text: String, address: String)] { [] }
}

enum PortalSection {
    case sites
    case search
    case scripts
    case none
}

/// What a page is written for.
struct PortalContext {
    let layout: OriginLayout
    let links: PortalLinks
    /// Seconds since 1970.
    let now: Int64
    /// Path and query of this page, and where it is to be had as JSON.
    let address: String
    let jsonAddress: String

    /// Where an URL is shown as it was; nil for what the mirror does not serve.
    func mirrored(_ href: String) -> String? { WebURL(href).flatMap(layout.address) }
}
