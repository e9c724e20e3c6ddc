internal import Reports
internal import Store
internal import Web

/// The page with the form that exports a snapshot of a site to an archive.
struct ExportPage: PortalPage {
    let site: Site
    /// The archive formats that can be written on this machine.
    let formats: [String]
    let title: String
    let section = PortalSection.sites

    init(_ site: Site, formats: [String]) {
        (self.site, self.formats) = (site, formats)
        title = site.name
    }

    var heading: Sentence? { .exportTitle }

    func trail(_ context: PortalContext) -> [(text: String, address: String)] {
        [(context.words(.sites), context.links.home), (site.name, context.links.site(site.id))]
    }

    /// The latest complete snapshots without overlays, the newest first.
    private var exportableSnapshots: [Snapshot] {
        site.snapshots.filter { $0.finished != nil && $0.base == nil }.suffix(PortalLimits.maxListItems)
            .reversed()
    }

    func write(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("p", ["class": "lead"], say: .exportLead)
        html.explainReadOnly(context)
        html.commandForm("export", context, style: "order sheetlike", fields: [("site", site.name)]) { html in
            html.element("div", ["class": "fields"]) { html in
                html.element("div", ["class": "field wide"]) { html in
                    html.element("label", ["for": "f-form"], say: .exportFormat)
                    html.element("select", ["id": "f-form", "name": "form"]) { html in
                        for format in formats {
                            html.element("option", ["value": format], say: Self.sentence(for: format))
                        }
                    }
                }
                writeSnapshots(to: &html)
            }
            html.element("button", ["type": "submit"], say: .doExport)
        }
        html.element("p", ["class": "soft"], say: .exportLeavesOutPrivate)
    }

    /// Writes the field that selects the snapshot. The empty value stands for the one that is live when the export runs.
    private func writeSnapshots(to html: inout HTMLWriter) {
        html.element("div", ["class": "field wide"]) { html in
            html.element("label", ["for": "f-snapshot"], say: .snapshot)
            html.element("select", ["id": "f-snapshot", "name": "snapshot"]) { html in
                for snapshot in exportableSnapshots {
                    let isLive = snapshot.id == site.published
                    let name =
                        html.words(.snapshotCaption, "\(snapshot.name)") + " – "
                        + html.language.moment(snapshot.started)
                    html.element(
                        "option",
                        ["value": isLive ? "" : "\(snapshot.name)", "selected": isLive ? "" : nil],
                        text: isLive ? html.words(.exportLive, name) : name)
                }
            }
        }
    }

    /// The description of an archive format, by its value in the form.
    private static func sentence(for format: String) -> Sentence {
        switch format {
        case "wacz": .formatWACZ
        case "warc": .formatWARC
        case "har": .formatHAR
        case "zim": .formatZIM
        case "html": .formatHTML
        default: .formatZIP
        }
    }

    func members(_ context: PortalContext) -> JSONMembers {
        ["site": site.name, "forms": formats, "snapshots": exportableSnapshots.map { Int($0.number) }]
    }
}

/// The page with the form that imports an archive.
struct ImportPage: PortalPage {
    /// The stored sites, for the JSON of the page.
    let sites: [Site]
    let title = "Import"
    var heading: Sentence? { .importTitle }
    let section = PortalSection.jobs

    init(_ sites: [Site]) { self.sites = sites }

    func write(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("p", ["class": "lead"], say: .importLead)
        html.explainReadOnly(context)
        html.commandForm("import", context, style: "order sheetlike", hasFile: true) { html in
            html.inputField(PortalUpload.fileField, .importFile, type: "file", isRequired: true, isWide: true)
            html.inputField("site", .importSite, hint: .importSiteHint, isWide: true, mode: "url")
            html.inputField("base", .importBase, hint: .importBaseHint, isWide: true, mode: "url")
            html.element("button", ["type": "submit"], say: .doImport)
        }
    }

    func members(_ context: PortalContext) -> JSONMembers { ["sites": sites.map(\.name)] }
}
