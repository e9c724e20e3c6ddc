package import Origins
internal import Reports
internal import Store
internal import Synchronization
package import Web

/// The settings of the bar on mirrored pages: whether pages have it, and its language. It is thread-safe: all server
/// threads share it.
package final class BarSwitch: Sendable {
    private let flag: Atomic<Bool>
    private let chosenLanguage: Mutex<PortalLanguage?>
    private let didChange: @Sendable (_ change: Change) -> Void

    /// A changed setting with its new value.
    package enum Change: Sendable, Equatable {
        case isOn(Bool)
        case language(PortalLanguage)
    }

    /// - Parameter didChange: called on the thread that changes a setting. The server drops prepared answers, which
    ///   contain the bar, and saves the setting.
    package init(
        isOn: Bool = false, language: PortalLanguage? = nil,
        didChange: @escaping @Sendable (_ change: Change) -> Void = { _ in }
    ) {
        flag = Atomic(isOn)
        chosenLanguage = Mutex(language)
        self.didChange = didChange
    }

    /// The language that the user chose last in the portal; nil if the user never did. Browsers do not send the cookie
    /// with this choice for the frame of the bar, because a mirrored page is another site than the portal.
    package var language: PortalLanguage? { chosenLanguage.withLock { $0 } }

    /// Changes the language, and calls `didChange` if that makes a difference.
    package func choose(_ language: PortalLanguage) {
        let isNew = chosenLanguage.withLock { current in
            defer { current = language }
            return current != language
        }
        if isNew { didChange(.language(language)) }
    }

    /// Whether pages that are served from now on have the bar.
    package var isOn: Bool { flag.load(ordering: .acquiring) }

    /// Changes the setting, and calls `didChange` if that makes a difference.
    package func turn(on isOn: Bool) {
        guard flag.exchange(isOn, ordering: .acquiringAndReleasing) != isOn else { return }
        didChange(.isOn(isOn))
    }
}

/// The bar on a page: an element at the end of the document with a closed shadow root. It contains a frame of
/// the portal, which the page can neither read nor change.
///
/// A page may be hostile to the bar. Scripts of the page cannot reach into a closed shadow root, and frames in shadow
/// trees are not in the `frames` of a window. The script takes the functions that it needs before any script of the page
/// can replace them, and removes its own element. A page can still hide or cover the bar, or remove its element.
package enum PageBar {
    /// The `script` element that adds the bar. It must be inserted before all scripts of the document. Empty if the layout
    /// has no portal.
    ///
    /// - Parameter url: the original URL of the document.
    package static func tag(of url: WebURL, _ layout: OriginLayout, _ language: PortalLanguage) -> [UInt8] {
        guard let portal = layout.portal else { return [] }
        let address = portal.dropLast() + PortalLinks.barDocument(of: url.href, snapshot: layout.snapshot)
        var tag = Array("<script data-larder=\"".utf8)
        tag.append(escaping: String(address))
        tag += "\" data-label=\"".utf8
        tag.append(escaping: Sentence.barName.text(in: language))
        tag += "\" data-hide=\"".utf8
        tag.append(escaping: Sentence.barHide.text(in: language))
        return tag + "\">\(script)</script>".utf8
    }

    /// Height of the bar in pixels, whatever the sizes on the page.
    private static let height = 44

    /// The script, which is part of every page and therefore short. It does nothing in a page that another one frames.
    /// Otherwise it adds the bar to the root element when the document is parsed.
    ///
    /// The element of the bar is as high as the bar and stands at the end of the document, so that its last line can be
    /// scrolled above the bar. Content that overflows the root element reaches below that place: `fit` then makes the
    /// element higher, unless that only moves the end of the document, as a margin after the element does.
    private static let script = """
        (()=>{"use strict";const own=document.currentScript,{larder:address,label,hide}=own.dataset;own.remove();\
        if(top!==self)return;const space="http://www.w3.org/1999/xhtml",make=(name)=>document.createElementNS(space,name);\
        const host=make("larder-bar"),root=host.attachShadow({mode:"closed"}),style=make("style"),frame=make("iframe"),\
        close=make("button"),bar=make("div"),room=make("p"),put=Element.prototype.append,call=Reflect.apply;\
        style.textContent=\(JSONText.string(styleSheet));\
        frame.setAttribute("title",label);frame.setAttribute("src",address);frame.setAttribute("referrerpolicy","no-referrer");\
        close.setAttribute("aria-label",hide);close.setAttribute("title",hide);close.textContent="\\u00d7";\
        close.addEventListener("click",()=>host.remove());bar.append(frame,close);root.append(style,room,bar);\
        let size=\(height),done=false;const below=()=>{const page=document.scrollingElement||document.documentElement;\
        return page.scrollHeight>innerHeight?page.scrollHeight-host.getBoundingClientRect().bottom-scrollY:0},\
        fit=()=>{const gap=below();if(done||gap<1)return;room.style.height=size+gap+\(height)+"px";\
        if(Math.abs(below())<1)size+=gap+\(height);else{done=true;room.style.height=size+"px"}};\
        addEventListener("DOMContentLoaded",()=>{call(put,document.documentElement,[host]);fit()},{once:true,capture:true});\
        addEventListener("load",fit,{once:true});addEventListener("scroll",fit,{passive:true})})()
        """

    /// The style inside the shadow root. Styles of the page do not apply there, except to the host element, whose
    /// properties are therefore `!important`. The host is as narrow as an element can be that makes room, and lets clicks
    /// through.
    private static let styleSheet = """
        :host{all:initial!important;display:block!important;clear:both!important;flex:none!important;width:1px!important;\
        pointer-events:none!important}\
        p{all:initial;display:block;pointer-events:none;width:1px;height:\(height)px}\
        div{all:initial;position:fixed;inset:auto 0 0 0;height:\(height)px;z-index:2147483647}\
        iframe{all:initial;display:block;width:100%;height:100%;border:0}\
        button{all:initial;position:absolute;top:0;right:0;width:\(height)px;height:\(height)px;text-align:center;\
        font:22px/\(height)px sans-serif;color:#555;cursor:pointer}\
        button:focus-visible{outline:2px solid #2f7d5b;outline-offset:-4px}\
        @media(prefers-color-scheme:dark){button{color:#bbb}}@media print{:host{display:none!important}}
        """

    private enum JSONText {
        /// Returns the text as a string literal of JSON, which is one of JavaScript, too.
        static func string(_ text: String) -> String {
            var writer = JSONWriter(.compact)
            writer.string(text)
            return writer.text
        }
    }
}

/// The document in the frame of the bar: the age of the copy, its other snapshots, the live page, a search field and links
/// to the portal. It contains no scripts and no token, since every mirrored page may frame it: a page can trick its reader into
/// a click, but the only thing that a click changes is that the bar is switched off.
struct BarFrame {
    /// The original URL of the page, without its fragment.
    let href: String
    /// When the shown response was fetched and last checked; nil if nothing is stored.
    private(set) var age: CopyAge?
    /// The address of the live response, and when it was fetched; nil if it is the shown one.
    private(set) var latest: (address: String, fetched: Int64)?
    /// The address of the page in the complete snapshot before the shown one; nil if there is none.
    private(set) var earlier: String?
    /// The address of the page in the next complete snapshot; nil if the live one is shown.
    private(set) var later: String?
    /// The address of the comparison with the version before the shown one, or of the first version with the live one;
    /// nil if no such version has another body.
    private(set) var comparison: String?
    /// The address that switches the bar off and shows how to switch it on again; nil if the visitor may not do that.
    private let turnOff: String?
    private let now: Int64

    /// - Parameters:
    ///   - snapshot: the earlier snapshot that is shown; nil for the live one.
    ///   - canTurnOff: whether the visitor may switch the bar off.
    ///   - now: the time in seconds since 1970.
    init(
        _ url: WebURL, in snapshot: Int64?, canTurnOff: Bool, now: Int64, _ layout: OriginLayout,
        _ sites: [Site], _ reader: StoreReader
    ) throws(StoreError) {
        href = url.key.href
        self.now = now
        turnOff = canTurnOff ? PortalLinks.barOff(of: url.href, snapshot: snapshot) : nil
        let rows = try reader.versions(of: href).filter { $0.response.request == .get }
        let current = rows.first(where: \.isVisible)
        var shown = current
        if let snapshot { shown = rows.first { $0.isVisible(asOf: snapshot) } ?? current }
        guard let shown, let current else { return }
        /// The complete snapshots that contain the response, in ascending order.
        func snapshots(of row: ResponseVersion, upTo last: Int64 = .max) -> [Int64] {
            let snapshots = sites.first { $0.name == row.site }?.snapshots ?? []
            return snapshots.filter {
                $0.finished != nil && $0.base == nil && $0.id <= last && row.isOf($0.id)
            }
            .map(\.id)
        }
        /// The newest snapshot that contains the response.
        func newest(of row: ResponseVersion, upTo last: Int64?) -> Int64 {
            max(row.response.snapshot, snapshots(of: row, upTo: last ?? .max).last ?? 0)
        }
        let published = sites.first { $0.name == current.site }?.published
        let now = newest(of: current, upTo: published)
        let at = snapshot.map { newest(of: shown, upTo: $0) } ?? now
        age = shown.age
        if at < now {
            // A snapshot after the shown one may have checked the response later. The shown one did before its own end.
            let end = sites.flatMap(\.snapshots).first { $0.id == at }?.finished
            let checked = at > shown.response.snapshot ? shown.age.checked : nil
            age = CopyAge(fetched: shown.age.fetched, checked: checked.map { min($0, end ?? .max) })
        }
        comparison = Self.comparison(
            of: shown, withCurrent: at < now ? current : nil, upTo: snapshot, rows, sites)
        // With one origin for all sites, only the live snapshot has addresses.
        guard !layout.sharesOrigin else { return }
        let complete = rows.flatMap { snapshots(of: $0) }.sorted(by: >)
        earlier = complete.first { $0 < at }.flatMap { layout.address(of: url, in: $0) }
        guard snapshot != nil, at < now else { return }
        latest = layout.address(of: url).map { ($0, current.age.fetched) }
        let next = complete.last { $0 > at } ?? now
        later = next >= now ? layout.address(of: url) : layout.address(of: url, in: next)
    }

    /// Returns the address of the page that compares the shown version with the one before it, or with the current one.
    ///
    /// - Parameters:
    ///   - current: the current version, if another one is shown.
    ///   - last: the earlier snapshot that is shown; nil for the live one.
    private static func comparison(
        of shown: ResponseVersion, withCurrent current: ResponseVersion?, upTo last: Int64?,
        _ rows: [ResponseVersion], _ sites: [Site]
    ) -> String? {
        guard let site = sites.first(where: { $0.name == shown.site }), let body = shown.response.body else {
            return nil
        }
        /// The newest complete snapshot that contains the version.
        func newest(_ row: ResponseVersion, upTo last: Int64 = .max) -> SnapshotName? {
            site.snapshots.last {
                $0.finished != nil && $0.base == nil && $0.id <= last && row.isOf($0.id)
            }?.name
        }
        func differs(_ row: ResponseVersion) -> Bool {
            row.site == site.name && row.response.variant == shown.response.variant
                && row.response.body.map { $0.sha256 != body.sha256 } ?? false
        }
        let before = rows.first { $0.response.snapshot < shown.response.snapshot && differs($0) }
        let shownName = newest(shown, upTo: last ?? site.published ?? .max)
        var names: (from: SnapshotName?, to: SnapshotName?) = (nil, nil)
        if let before {
            names = (newest(before), shownName)
        } else if let current, differs(current) {
            names = (shownName, newest(current, upTo: site.published ?? .max))
        }
        guard let from = names.from, let to = names.to else { return nil }
        return PortalLinks().compare(shown.response.href, of: site.id, from: from, to: to)
    }

    /// The document as HTML.
    func html(_ language: PortalLanguage) -> [UInt8] {
        var html = HTMLWriter()
        html.language = language
        html.literal("<!doctype html>\n")
        html.element("html", ["lang": language.tag]) { html in
            html.element("head") { html in
                html.void("meta", ["charset": "utf-8"])
                html.void("meta", ["name": "viewport", "content": "width=device-width, initial-scale=1"])
                html.void("meta", ["name": "color-scheme", "content": "light dark"])
                html.element("title", say: .barName)
                html.void("link", ["rel": "stylesheet", "href": Self.stylePath])
                // All links and the form open in the window, not in the frame of the bar.
                html.void("base", ["target": "_top"])
            }
            html.element("body") { html in
                html.element("nav", ["aria-label": html.words(.barName)]) { write(to: &$0) }
            }
        }
        return html.bytes
    }

    private func write(to html: inout HTMLWriter) {
        let links = PortalLinks()
        html.link(links.home, ["class": "brand"]) { html in
            html.void("img", ["src": PortalIcon.path, "alt": "", "width": "22", "height": "22"])
            html.text("Larder")
        }
        html.element("span", ["class": "when"]) { html in
            if let age {
                html.element("strong", say: latest == nil ? .barLatest : .barOlder)
                html.text(" ")
                html.time(age.fetched, now: now)
                if let checked = age.checked {
                    html.element("span", ["class": "wide"]) { html in
                        html.say(.checkedLater)
                        html.time(checked, now: now)
                    }
                }
            } else {
                html.say(.notStoredBadge)
            }
        }
        // Outside of the text that a narrow window cuts, because it has a link.
        if let latest {
            html.element("span", ["class": "latest wide"]) { html in
                html.say(.barLatestIs)
                html.link(latest.address) { $0.time(latest.fetched, now: now) }
            }
        }
        if let earlier { html.link(earlier, ["rel": "prev"], say: .barEarlier) }
        if let later { html.link(later, ["rel": "next"], say: .barLater) }
        if let comparison {
            html.link(
                comparison, ["class": "more", "title": html.words(.barCompareHint)], say: .compareButton)
        }
        html.link(links.details(href), ["class": "more"], say: .barHistory)
        html.link(
            href, ["rel": "noreferrer external", "title": html.words(.openOrigin)], say: .barLivePage)
        html.link(PortalLinks.search, ["class": "narrow more"], say: .search)
        html.element("form", ["action": PortalLinks.search, "role": "search"]) { html in
            html.void(
                "input",
                [
                    "name": "q", "type": "search", "aria-label": html.words(.searchStoredPages),
                    "placeholder": html.words(.search), "autocomplete": "off",
                ])
        }
        if let turnOff {
            html.link(
                turnOff, ["class": "off", "rel": "nofollow", "title": html.words(.barTurnOffHint)],
                say: .barTurnOff)
        }
    }

    // MARK: - Style

    /// The path of the style sheet, which changes with its content.
    static let stylePath = PortalStyle.path(of: style, "bar", "css")
    /// The style of the frame. The search field shrinks before any text is cut; with a smaller factor, texts shrink by a part of
    /// a pixel and get an ellipsis. In a narrow window a link replaces the field.
    static let style = """
        :root { color-scheme: light dark; }
        body { margin: 0; font: 14px/1.3 system-ui, sans-serif; background: #fffdf8; color: #2b2a27;
          border-top: 1px solid #cfc8b8; box-sizing: border-box; height: 100vh; }
        nav { display: flex; align-items: center; gap: 4px 14px; height: 100%; padding: 0 52px 0 12px; overflow: hidden;
          white-space: nowrap; }
        a { color: #1f6a49; padding: 10px 2px; }
        .brand { display: inline-flex; align-items: center; gap: 6px; font-weight: 700; color: inherit; text-decoration: none; }
        .when { color: #5d594f; overflow: hidden; text-overflow: ellipsis; }
        .when strong { color: #2b2a27; }
        .latest { color: #5d594f; margin-left: -14px; flex: none; }
        .off { flex: none; }
        form { margin: 0 0 0 auto; flex: 0 999999 12rem; min-width: 5rem; }
        input { font: inherit; height: 30px; width: 100%; box-sizing: border-box; padding: 0 8px; border: 1px solid #8a8474;
          border-radius: 6px; background: #fff; color: inherit; }
        a:focus-visible, input:focus-visible { outline: 2px solid #2f7d5b; outline-offset: -2px; }
        .narrow { display: none; }
        @media (max-width: 50rem) { form { display: none; } .narrow { display: inline; } .wide { display: none; }
          nav { gap: 4px 10px; } .off { margin-left: auto; } }
        @media (max-width: 36rem) { .when strong, .more { display: none; } .brand { font-size: 0; gap: 0; } body { font-size: 13px; } nav { padding-left: 8px; } }
        @media (prefers-color-scheme: dark) {
          body { background: #1f1e1b; color: #ece8de; border-color: #4a473f; }
          a { color: #8fd0b0; } .when, .latest { color: #b8b2a4; } .when strong { color: #ece8de; } input { background: #2a2925; border-color: #8a8474; }
        }

        """
}

/// The page of the portal that switches the bar on and off. The bar's own link that switches it off leads here.
struct BarPage: PortalPage {
    let isOn: Bool
    /// The address of the mirrored page from which the visitor comes; nil if there is none.
    var origin: String?

    let title = "Page bar"
    var heading: Sentence? { .barTitle }
    let section = PortalSection.none

    func write(to html: inout HTMLWriter, _ context: PortalContext) {
        html.element("div", ["class": "notice", "role": "status"]) { html in
            html.element("p", say: isOn ? .barIsOn : .barIsOff)
            if !isOn { html.element("p", say: .barHowToGetBack) }
        }
        html.explainReadOnly(context)
        html.element("div", ["class": "orders"]) { html in
            if let origin { html.link(origin, ["class": "button"], say: .barBackToPage) }
            html.commandButton(
                "bar", isOn ? .doHideBar : .doShowBar, context, fields: [("on", isOn ? "0" : "1")],
                isQuiet: isOn || origin != nil)
        }
        html.element("p", ["class": "soft"], say: .barLead)
    }

    func members(_ context: PortalContext) -> JSONMembers { ["bar": isOn] }
}
