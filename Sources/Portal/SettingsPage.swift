internal import Store
internal import Web

/// The form with the settings of a site.
struct SettingsPage: PortalPage {
    let site: Site
    /// The current settings, as the values of the form.
    let plan: SiteSettingsForm
    let title: String
    let section = PortalSection.sites

    /// Whether the form proposes a pattern that is not stored yet.
    let hasProposal: Bool

    /// - Parameter href: a URL that the form proposes to exclude, because the site cannot be fetched with it; nil for none.
    init(_ site: Site, excluding href: String? = nil) {
        self.site = site
        title = site.name
        var plan = SiteSettingsForm(settings: site.settings)
        let proposal = href.flatMap { WebURL($0) }.flatMap { $0.isHTTP ? $0.withoutFragment.href : nil }
        hasProposal = proposal.map { !plan.exclude.contains($0) } ?? false
        if hasProposal, let proposal { plan.exclude.append(proposal) }
        self.plan = plan
    }

    var heading: Sentence? { .settings }

    func trail(_ context: PortalContext) -> [(text: String, address: String)] {
        [(context.words(.sites), context.links.home), (site.name, context.links.site(site.id))]
    }

    func write(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("p", ["class": "lead"], say: .settingsLead)
        html.explainReadOnly(context)
        if hasProposal, context.token != nil {
            html.element("p", ["class": "notice", "role": "status"], say: .excludeProposed)
        }
        // The notice has the button for the timer already.
        let isIdle = site.schedule != nil && !context.isScheduled()
        html.idleScheduleNotice(context, isScheduled: isIdle)
        html.commandForm("settings", context, style: "order sheetlike", fields: [("site", site.name)]) {
            html in
            plan.write(to: &html, isNew: false, hasTimerSection: html.canInstallTimer(context))
            html.element("button", ["type": "submit"], say: .doSaveSettings)
        }
        if !isIdle, html.canInstallTimer(context) { html.timerInstallation(context) }
    }

    /// The settings as JSON. The default of a setting is null, and an empty list of patterns is empty.
    func members(_ context: PortalContext) -> JSONMembers {
        [
            "site": site.name, "scope": plan.scope, "render": plan.render, "robots": plan.robots,
            "depth": plan.depth, "maxPages": plan.maxPages, "perHost": plan.connectionsPerHost,
            "schedule": plan.updateInterval == SiteSettingsForm.never ? nil : plan.updateInterval,
            "include": plan.include,
            "exclude": plan.exclude, "tags": plan.tags, "note": plan.note, "title": plan.title,
        ]
    }
}
