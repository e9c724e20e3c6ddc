internal import Web

/// Where the password is said that opens the portal to other machines.
struct LoginPage: PortalPage {
    /// What came of the last try.
    var failure: Phrase?
    /// Nobody set one: what to do about it.
    var hasPassword = true

    let status = 403
    let title = "Log in"
    var heading: Sentence? { .login }
    let section = PortalSection.none

    func write(to html: inout HTMLWriter, _ context: PortalContext) {
        guard hasPassword else {
            html.element("p", say: .refusedPassword)
            return html.element("pre", text: "larder password")
        }
        if let failure { html.element("p", ["class": "notice warn", "role": "alert"], say: failure) }
        html.element(
            "form", ["class": "order sheetlike", "method": "post", "action": PortalLinks.login]
        ) { html in
            html.field("password", .password, type: "password", isRequired: true, isWide: true)
            html.element("button", ["type": "submit"], say: .doLogin)
        }
    }

    func members(_ context: PortalContext) -> JSONMembers { ["error": "login"] }
}

/// What is said to an order that is not carried out.
struct RefusalPage: PortalPage {
    let status: Int
    let reason: Phrase
    /// What a form for a new site said, to be mended; nil for other orders.
    var form: PortalRequest?

    let title = "Nothing was changed"
    var heading: Sentence? { .refused }
    let section = PortalSection.none

    func write(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("p", ["class": "notice warn", "role": "alert", "id": "mistake"], say: reason)
        if let form { html.prefetchForm(context, form) }
        html.element("p") { $0.link(context.links.home, say: .toSites) }
    }

    func members(_ context: PortalContext) -> JSONMembers {
        ["error": "refused", "reason": reason.text(in: .english)]
    }
}
