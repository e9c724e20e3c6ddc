internal import Reports
internal import Store
internal import Web

/// The subfolders and stored URLs of one folder of a site. The folder with the empty prefix has the site's hosts.
struct FolderPage: PortalPage {
    let site: Site
    let listing: FolderListing
    let section = PortalSection.sites

    /// - Parameters:
    ///   - prefix: the URL of the folder; empty for the list of hosts.
    ///   - start: the key of the first item, from the link to the next page; nil for the first page.
    init(_ site: Site, under prefix: String, from start: String?, _ reader: StoreReader) throws(StoreError) {
        self.site = site
        listing = try FolderListing.list(
            prefix, site: site.id, from: start, limit: PortalLimits.maxListItems * 4, reader)
    }

    var title: String { listing.prefix.isEmpty ? "Hosts" : listing.prefix }
    var heading: Sentence? { listing.prefix.isEmpty ? .hosts : nil }

    /// The breadcrumb: all sites, this site, its hosts, and every folder above this one.
    func trail(_ context: PortalContext) -> [(text: String, address: String)] {
        var trail = [(context.words(.sites), context.links.home), (site.name, context.links.site(site.id))]
        guard !listing.prefix.isEmpty else { return trail }
        trail.append((context.words(.hosts), context.links.folder("", of: site.id)))
        var above = ""
        while let folder = FolderListing.folder(of: listing.prefix, below: above), folder != listing.prefix {
            trail.append(
                (String(folder.dropFirst(above.utf8.count)), context.links.folder(folder, of: site.id)))
            above = folder
        }
        return trail
    }

    func write(to html: inout HTMLWriter, _ context: PortalContext) {
        guard !listing.items.isEmpty else {
            html.element("p", say: .folderEmpty)
            return
        }
        html.element("ul", ["class": "list"]) { html in
            for item in listing.items { html.folderItem(item, context, of: site.id, below: listing.prefix) }
        }
        if listing.next != nil {
            html.nextLink(
                context.links.folder(listing.prefix, of: site.id, after: listing.next),
                html.words(.moreOfFolder))
        }
    }

    func members(_ context: PortalContext) -> JSONMembers {
        ["site": site.name, "folder": listing.members(context)]
    }
}
