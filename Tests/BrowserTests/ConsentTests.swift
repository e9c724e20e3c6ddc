import TestOrigin
import Testing

@testable import Browser

/// Banners that ask for consent to cookies, built like those of common tools.
@Suite(.enabled(if: SharedBrowser.isInstalled, "no browser is installed"))
struct ConsentTests {
    private static let script = """
        <script>
        const say = (word) => {
          document.title = document.title + ' ' + word;
          fetch('/chosen?' + word, { method: 'POST', body: String(Date.now()) });
        };
        const choose = (word) => { say(word); document.querySelector('#banner, dialog')?.remove(); };
        </script><h1>The page</h1>
        """

    /// A page with a banner.
    private static func fixed(_ content: String) -> String {
        script + "<div id=banner style='position: fixed; bottom: 0; z-index: 9999'>\(content)</div>"
    }

    /// An element that, when it is pressed, removes the banner and records a word in the title and in a request.
    private static func button(_ text: String, _ word: String, _ tag: String = "button") -> String {
        let end = tag.split(separator: " ")[0]
        return "<\(tag) onclick=\"choose('\(word)')\">\(text)</\(end)>"
    }

    /// Renders a page with a choice for banners.
    private func look(_ html: String, _ choice: ConsentChoice) throws -> PageOutcome {
        let origin = try TestOrigin()
        origin.on("/", .page("<!DOCTYPE html><meta charset=utf-8><title>t</title>" + html))
        origin.otherwise { request in
            request.target == "/favicon.ico" ? .failure(404) : .file("1", type: "text/plain")
        }
        return try SharedBrowser.render(origin.url("/")) {
            $0.consent = choice
            $0.quiet = .milliseconds(50)
            $0.wantsText = true
        }
    }

    @Test(arguments: [
        ("Reject all", "Accept all"), ("Only necessary cookies", "Accept"), ("Deny", "Allow all"),
        ("Do not accept", "Accept"), ("Continue without accepting", "Accept and continue"),
        ("Alle ablehnen", "Alle akzeptieren"), ("Nur notwendige Cookies", "Zustimmen"),
        ("Tout refuser", "Tout accepter"), ("Continuer sans accepter", "Accepter"),
        ("Rechazar todo", "Aceptar todo"), ("Rifiuta tutti", "Accetta tutti"), ("Rejeitar", "Aceitar"),
        ("Weigeren", "Akkoord"), ("Avvisa alla", "Godkänn alla"), ("Kun nødvendige", "Tillad alle"),
        ("Bare nødvendige", "Godta alle"), ("Vain välttämättömät", "Hyväksy kaikki"),
        ("Odrzuć wszystkie", "Akceptuję"), ("Odmítnout vše", "Přijmout vše"), ("Odmietnuť", "Prijať všetko"),
        ("Elutasítom", "Elfogadom"), ("Respinge tot", "Accept toate"), ("Отхвърли всички", "Приемам"),
        ("Odbij sve", "Prihvati sve"), ("Tümünü reddet", "Tümünü kabul et"), ("Отклонить все", "Принять все"),
        ("Відхилити", "Прийняти"), ("Απόρριψη όλων", "Αποδοχή όλων"), ("全部拒绝", "全部接受"), ("すべて拒否", "すべて同意する"),
        ("모두 거부", "모두 동의"), ("رفض الكل", "قبول الكل"), ("דחיית הכל", "אישור הכל"), ("Từ chối", "Chấp nhận"),
        ("Tolak semua", "Terima semua"),
    ])
    func `a banner is answered in its own language`(rejection: String, acceptance: String) throws {
        let html = Self.fixed(
            "<p>We and our partners use cookies to measure this site.</p>"
                + Self.button(acceptance, "accepted")
                + Self.button(rejection, "rejected"))
        let rejected = try look(html, .reject)
        #expect(rejected.title == "t rejected")
        #expect(rejected.consent == rejection)
        #expect(rejected.text == "The page")
        #expect(rejected.requests.filter(\.isOfConsent).map(\.method) == ["POST"])
        #expect(try look(html, .accept).title == "t accepted")
    }

    @Test func `banners in dialogs, in shadow trees and with links as buttons are answered`() throws {
        let words = "<p>This site sets cookies for statistics.</p>"
        let choices =
            Self.button("Accept", "accepted", "a href=#") + Self.button("Reject", "rejected", "a href=#")
        let dialog =
            Self.script
            + "<dialog>\(words)\(choices)</dialog><script>document.querySelector('dialog').showModal()</script>"
        #expect(try look(dialog, .reject).title == "t rejected")
        let shadow =
            Self.script + """
                <div id=banner></div><script>
                banner.attachShadow({ mode: 'open' }).innerHTML = `<div style="position: fixed; top: 0">\(words)\(choices)</div>`;
                </script>
                """
        let outcome = try look(shadow, .reject)
        #expect(outcome.title == "t rejected")
        #expect(outcome.text == "The page")
    }

    @Test func `a banner with the refusal behind its settings is refused there`() throws {
        let boxes = """
            <label><input type=checkbox checked disabled>Necessary</label>
            <label><input type=checkbox checked id=ads>Advertising</label>
            """
        let html = Self.fixed(
            """
            <p>We use cookies. Choose which ones.</p>\(Self.button("Accept all", "accepted"))
            <button onclick="list.hidden = false">Manage options</button>
            <div id=list hidden>\(boxes)<button onclick="choose('saved ' + ads.checked)">Save my choices</button></div>
            """)
        #expect(try look(html, .reject).title == "t saved false")
    }

    @Test func `a banner without a choice is closed, or stays if it cannot be closed`() throws {
        let words = "<p>By using this site you agree to our cookies.</p>"
        let stays = try look(Self.fixed(words + Self.button("I agree", "accepted")), .reject)
        #expect(stays.title == "t" && stays.consent == nil)
        let informs = try look(Self.fixed(words + Self.button("Got it!", "read")), .reject)
        #expect(informs.title == "t read")
        let closed = try look(
            Self.fixed(
                words + Self.button("I agree", "accepted")
                    + "<button aria-label=Close onclick=\"choose('closed')\">×</button>"),
            .reject)
        #expect(closed.title == "t closed")
    }

    @Test func `after the choice the page can load more content or reload itself`() throws {
        let html = Self.fixed(
            "<p>We use cookies.</p><button onclick=\"document.cookie = 'ok=1'; location.reload()\">Accept</button>"
                + "<script>if (document.cookie.includes('ok=1')) { banner.remove(); fetch('/released') }</script>"
        )
        let outcome = try look(html, .accept)
        #expect(outcome.text == "The page")
        #expect(outcome.requests.contains { $0.url.hasSuffix("/released") })
    }

    @Test(arguments: [
        // Not banners: an article about cookies, a menu, a form that is sent, a link to a page of its own.
        "<h1>How to reject cookies</h1><p>Cookies are small files that a site stores.</p>"
            + button("Reject", "pressed"),
        "<header style='position: sticky; top: 0'>Cookie recipes for the whole year "
            + button("Reject", "pressed") + "</header>",
        fixed("<p>Take part in our survey about cooking.</p>" + button("Decline", "pressed")),
        fixed("<p>We use cookies on this site.</p><form action=/sent><button>Reject</button></form>"),
        fixed("<p>We use cookies on this site.</p><a href=/policy>Reject</a>"),
        fixed(
            "<p>A session cookie is needed to log in.</p><input name=user>" + button("No thanks", "pressed")),
        fixed("<ol><li><a href='#d'>Declination of nouns</a><li><a href='#c'>Consent and refusal</a></ol>"),
        fixed(
            "<article><h1>Cookies</h1><p>They are small files, which we like.</p>"
                + button("I disagree", "pressed")
                + "</article>"),
    ])
    func `controls that are not part of a banner are not pressed`(html: String) throws {
        let outcome = try look(Self.script + html, .reject)
        #expect(outcome.title == "t" && outcome.consent == nil)
        #expect(
            outcome.requests.allSatisfy {
                $0.method == "GET" && !$0.url.hasSuffix("/sent") && !$0.url.hasSuffix("/policy")
            })
    }

    @Test(arguments: [
        "Do not allow", "Не разрешаю", "Nie akceptuję", "不允许", "Nicht zustimmen", "Ich lehne ab",
    ])
    func `a button with a negated acceptance counts as refusal`(rejection: String) throws {
        let html = Self.fixed("<p>We use cookies on this site.</p>" + Self.button(rejection, "rejected"))
        #expect(try look(html, .accept).title == "t")
        #expect(try look(html, .reject).title == "t rejected")
    }

    @Test func `refusing saves an empty selection of purposes, and accepting saves all`() throws {
        func html(_ button: String) -> String {
            Self.fixed(
                """
                <p>Wir verwenden Cookies.</p><label><input type=checkbox id=ads checked>Werbung</label>
                <label><input type=checkbox id=more>Statistik</label>
                <button onclick="choose(`saved ${ads.checked} ${more.checked}`)">\(button)</button>
                """)
        }
        #expect(try look(html("Auswahl akzeptieren"), .reject).title == "t saved false false")
        #expect(try look(html("Sauvegarder"), .accept).title == "t saved true true")
    }

    @Test func `a banner that was not ready is answered again`() throws {
        let slow = Self.fixed(
            """
            <p>We use cookies on this site.</p><button id=no>Reject all</button>
            <script>no.onclick = () => { no.onclick = () => choose('rejected') }</script>
            """)
        #expect(try look(slow, .reject).title == "t rejected")
        let deaf = Self.fixed("<p>We use cookies on this site.</p><button>Reject all</button>")
        #expect(try look(deaf, .reject).consent == nil)
    }

    @Test func `a banner is recognised by its id or class`() throws {
        func html(_ name: String) -> String {
            Self.fixed(
                "<div class=\(name)><p>Nous avons besoin de votre accord.</p>"
                    + Self.button("Refuser", "rejected")
                    + "</div>"
            ).replacing("<div id=banner", with: "<div class=\(name) id=banner")
        }
        #expect(try look(html("cookie-box"), .reject).title == "t rejected")
        #expect(try look(html("box"), .reject).title == "t")
    }

    @Test func `controls of banners are not used as page controls`() throws {
        let html =
            Self.fixed(
                "<p>Usamos cookies.</p>" + Self.button("De acuerdo", "accepted")
                    + "<button aria-expanded=false onclick=\"choose('more')\">Más</button>")
            + "<button onclick=\"fetch('/plain')\">Show the map</button>"
        let origin = try TestOrigin()
        origin.on("/", .page("<!DOCTYPE html><meta charset=utf-8><title>t</title>" + html))
        origin.otherwise { _ in .file("1", type: "text/plain") }
        let outcome = try SharedBrowser.render(origin.url("/")) { $0.acting = .all }
        #expect(outcome.title == "t")
        #expect(outcome.requests.contains { $0.url.hasSuffix("/plain") })
    }

    @Test func `with the choice leave, banners are not answered`() throws {
        let html = Self.fixed("<p>We use cookies on this site.</p>" + Self.button("Reject", "rejected"))
        #expect(try look(html, .leave).title == "t")
    }
}
