internal import Reports
internal import Store
internal import Web

/// The form that exports a site to an archive.
struct ExportPage: PortalPage {
    let site: Site
    /// The archive formats that can be written on this machine.
    let forms: [String]
    let title: String
    let section = PortalSection.sites

    init(_ site: Site, forms: [String]) {
        (self.site, self.forms) = (site, forms)
        title = site.name
    }

    var heading: Sentence? { .exportTitle }

    func trail(_ context: PortalContext) -> [(text: String, address: String)] {
        [(context.words(.sites), context.links.home), (site.name, context.links.site(site.id))]
    }

    private var snapshots: [Snapshot] {
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
                        for form in forms {
                            html.element("option", ["value": form], say: Self.sentence(of: form))
                        }
                    }
                }
                writeSnapshots(to: &html)
            }
            html.element("button", ["type": "submit"], say: .doExport)
        }
        html.element("p", ["class": "soft"], say: .exportLeavesOutPrivate)
    }

    private func writeSnapshots(to html: inout HTMLWriter) {
        html.element("div", ["class": "field wide"]) { html in
            html.element("label", ["for": "f-snapshot"], say: .snapshot)
            html.element("select", ["id": "f-snapshot", "name": "snapshot"]) { html in
                html.element("option", ["value": ""], say: .exportLive)
                for snapshot in snapshots {
                    let time = html.language.moment(snapshot.started)
                    html.element(
                        "option", ["value": "\(snapshot.name)"],
                        text: html.words(.snapshotNumber, "\(snapshot.name)") + " – " + time)
                }
            }
        }
    }

    private static func sentence(of form: String) -> Sentence {
        switch form {
        case "wacz": .formatWACZ
        case "warc": .formatWARC
        case "har": .formatHAR
        case "zim": .formatZIM
        case "html": .formatHTML
        default: .formatZIP
        }
    }

    func members(_ context: PortalContext) -> JSONMembers {
        ["site": site.name, "forms": forms, "snapshots": snapshots.map { Int($0.number) }]
    }
}

/// The form that imports an archive.
struct ImportPage: PortalPage {
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
