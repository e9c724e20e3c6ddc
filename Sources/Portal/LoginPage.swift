internal import Web

/// The page with the login form, in place of every page, for visitors from other machines.
struct LoginPage: PortalPage {
    /// The reason why the last attempt failed; nil before the first.
    var failure: Phrase?
    /// Whether a password is set; if not, the page says how to set one.
    var hasPassword = true

    /// 403, since a 401 needs a challenge in `WWW-Authenticate` (RFC 9110 15.5.2), and the portal has a form instead.
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
            html.inputField("password", .password, type: "password", isRequired: true, isWide: true)
            html.element("button", ["type": "submit"], say: .doLogin)
        }
    }

    func members(_ context: PortalContext) -> JSONMembers { ["error": "login"] }
}

/// The page in answer to a command that is refused: the reason, and for a prefetch the form with the visitor's values.
struct RefusalPage: PortalPage {
    let status: Int
    let reason: Phrase
    /// The form to be corrected; nil for commands whose form cannot be.
    var form: Form?

    /// A form that is shown again with what the user entered.
    enum Form {
        case prefetch(PortalRequest)
        case cleanup(limit: String?)

        /// The form of a command; nil if it is not shown again.
        init?(ofCommand name: String, _ fields: PortalRequest) {
            switch name {
            case "prefetch": self = .prefetch(fields)
            case "forecast", "collect": self = .cleanup(limit: fields["limit"])
            default: return nil
            }
        }
    }

    let title = "Nothing was changed"
    var heading: Sentence? { .refused }
    let section = PortalSection.none

    func write(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("p", ["class": "notice warn", "role": "alert", "id": "mistake"], say: reason)
        if reason == Phrase(.refusedPassword) { html.element("pre", text: "larder password") }
        switch form {
        case .prefetch(let fields): html.prefetchForm(context, fields, isMistaken: true)
        case .cleanup(let limit):
            html.cleanupForm(context, limit: limit, mistake: "mistake")
            html.element("p") { $0.link(PortalLinks.storage, say: .storage) }
        case nil: break
        }
        html.element("p") { $0.link(context.links.home, say: .allSites) }
    }

    func members(_ context: PortalContext) -> JSONMembers {
        ["error": "refused", "reason": reason.text(in: .english)]
    }
}
