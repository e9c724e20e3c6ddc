internal import Store
internal import Web

/// What a site has in a folder of addresses.
struct FolderPage: PortalPage {
    let site: Site
    let walk: FolderWalk
    let section = PortalSection.sites

    init(_ site: Site, under prefix: String, from start: String?, _ reader: StoreReader) throws(StoreError) {
        self.site = site
        walk = try FolderWalk.list(prefix, site: site.id, from: start, limit: PortalLimits.lines * 4, reader)
    }

    var title: String { walk.prefix.isEmpty ? "Hosts" : walk.prefix }

    /// The site, its hosts, and every folder above this one.
    func trail(_ context: PortalContext) -> [(text: String, address: String)] {
        var trail = [("Sites", context.links.home), (site.name, context.links.site(site.id))]
        guard !walk.prefix.isEmpty else { return trail }
        trail.append(("Hosts", context.links.folder("", of: site.id)))
        var above = ""
        while let folder = FolderWalk.folder(of: walk.prefix, below: above), folder != walk.prefix {
            trail.append((String(folder.dropFirst(above.utf8.count)), context.links.folder(folder, of: site.id)))
            above = folder
        }
        return trail
    }

    func write(to html: inout HTMLWriter, _ context: PortalContext) {
        guard !walk.items.isEmpty else {
            html.element("p", text: "Nothing is held here.")
            return
        }
        html.element("ul", ["class": "list"]) { html in
            for item in walk.items { html.item(item, context, of: site.id, below: walk.prefix) }
        }
        if walk.rest != nil {
            html.next(context.links.folder(walk.prefix, of: site.id, after: walk.rest), "More of this folder")
        }
    }

    func write(to json: inout JSONWriter, _ context: PortalContext) {
        json.member("site", site.name)
        json.member("folder") { walk.write(to: &$0, context) }
    }
}
