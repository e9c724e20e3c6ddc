internal import Origins
internal import Reports
package import Store
internal import Web

/// Writes HTML into memory.
///
/// Names of elements and attributes and other markup are `StaticString`, so that they come only from literals of the
/// program. Every `String` becomes escaped text or an escaped attribute value. So input from outside cannot add markup,
/// whichever function writes it.
package struct HTMLWriter {
    /// The attributes of an element. One with a nil value is left out.
    package typealias Attributes = KeyValuePairs<StaticString, String?>

    /// The document so far, in UTF-8.
    package private(set) var bytes: [UInt8] = []
    /// The language of the page's texts.
    package var language = PortalLanguage.english

    package init() {}

    /// Writes an element. Attributes with a nil value are left out.
    package mutating func element(
        _ name: StaticString, _ attributes: Attributes = [:], _ content: (inout HTMLWriter) -> Void
    ) {
        open(name, attributes)
        content(&self)
        close(name)
    }

    package mutating func element(_ name: StaticString, _ attributes: Attributes = [:], text: String) {
        element(name, attributes) { $0.text(text) }
    }

    /// Writes an element without content, such as `input`.
    package mutating func void(_ name: StaticString, _ attributes: Attributes = [:]) {
        open(name, attributes)
    }

    /// Writes escaped text. Shows control characters and bidirectional controls visibly, so that they have no
    /// effect.
    package mutating func text(_ text: String) {
        bytes.append(escaping: text.withVisibleControls)
    }

    /// Writes text from outside in a `bdi` element, so that its direction does not affect the text around it.
    package mutating func isolatedText(_ words: String) {
        element("bdi", text: words)
    }

    /// Writes a URL from outside. Lines may break after the slashes of the path and between query fields.
    package mutating func url(_ href: String) {
        element("bdi") { html in
            let bytes = Array(Wording.cut(href).utf8)
            let slash = UInt8(ascii: "/")
            var start = 0
            for place in bytes.indices.dropFirst().dropLast() where "/?&".utf8.contains(bytes[place]) {
                // Does not separate the slashes before the host.
                guard bytes[place - 1] != slash, bytes[place + 1] != slash else { continue }
                html.text(String(decoding: bytes[start...place], as: UTF8.self))
                html.literal("<wbr>")
                start = place + 1
            }
            html.text(String(decoding: bytes[start...], as: UTF8.self))
        }
    }

    /// Writes a link to a path of this server or to an http or https URL. For any other URL writes only the
    /// content.
    package mutating func link(
        _ address: String, _ attributes: Attributes = [:], _ content: (inout HTMLWriter) -> Void
    ) {
        let isPath = address.hasPrefix("/") && !address.hasPrefix("//") || address.hasPrefix("#")
        guard isPath || address.hasPrefix("http://") || address.hasPrefix("https://") else {
            return content(&self)
        }
        bytes.append(literal: "<a href=\"")
        bytes.append(escaping: address)
        bytes.append(literal: "\"")
        writeAttributes(attributes)
        bytes.append(literal: ">")
        content(&self)
        close("a")
    }

    package mutating func link(_ address: String, _ attributes: Attributes = [:], text: String) {
        link(address, attributes) { $0.text(text) }
    }

    /// Writes markup from a literal.
    mutating func literal(_ markup: StaticString) {
        bytes.append(literal: markup)
    }

    private mutating func open(_ name: StaticString, _ attributes: Attributes) {
        bytes.append(literal: "<")
        bytes.append(literal: name)
        writeAttributes(attributes)
        bytes.append(literal: ">")
    }

    private mutating func writeAttributes(_ attributes: Attributes) {
        for (name, value) in attributes {
            guard let value else { continue }
            bytes.append(literal: " ")
            bytes.append(literal: name)
            bytes.append(literal: "=\"")
            bytes.append(escaping: value)
            bytes.append(literal: "\"")
        }
    }

    private mutating func close(_ name: StaticString) {
        bytes.append(literal: "</")
        bytes.append(literal: name)
        bytes.append(literal: ">")
    }
}

extension HTMLWriter {
    /// Writes a relative time, with the exact time as its title.
    package mutating func time(_ seconds: Int64, now: Int64) {
        let date = Wording.date(seconds)
        element(
            "time", ["datetime": date, "title": language.moment(seconds)], text: language.age(now - seconds))
    }

    /// Writes a relative time, with the exact time as its title.
    mutating func time(_ date: Timestamp, now: Int64) { time(date.secondsSinceEpoch, now: now) }

    /// Writes a date with its time of day.
    mutating func moment(_ date: Timestamp) { moment(date.secondsSinceEpoch) }

    /// Writes a date with its time of day.
    mutating func moment(_ seconds: Int64) {
        let date = Wording.date(seconds)
        element("time", ["datetime": date], text: language.moment(seconds))
    }
}

extension [UInt8] {
    /// Appends a literal unescaped.
    fileprivate mutating func append(literal: StaticString) {
        literal.withUTF8Buffer { append(contentsOf: $0) }
    }

    /// Appends text, escaped for element content and for double-quoted attribute values.
    package mutating func append(escaping text: String) {
        reserveCapacity(count + text.utf8.count)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "&"): append(literal: "&amp;")
            case UInt8(ascii: "<"): append(literal: "&lt;")
            case UInt8(ascii: ">"): append(literal: "&gt;")
            case UInt8(ascii: "\""): append(literal: "&quot;")
            case UInt8(ascii: "'"): append(literal: "&#39;")
            // HTML cannot represent these control characters, not even as character references.
            case 0..<0x09, 0x0b, 0x0c, 0x0e..<0x20, 0x7f: append(literal: "\u{FFFD}")
            default: append(byte)
            }
        }
    }
}

/// The portal's URLs. All are paths, so that they work under every host name of the portal. The prefix `/-/` keeps them
/// apart from original URLs that a user appends to the portal's address.
package struct PortalLinks {
    package let home = "/"

    package init() {}

    /// The prefix of all paths except the home page.
    package static let prefix = "/-/"
    package static let search = "/-/search"
    package static let scripts = "/-/scripts"
    package static let sites = "/-/sites/"
    /// The page about one URL, in the field `url`.
    package static let page = "/-/page"
    package static let traffic = "/-/proxy"
    /// The updates of apps. The clients of these apps use the paths below `/-/updates/`.
    package static let channels = "/-/channels"
    package static let jobs = "/-/jobs"
    /// The stream of job events.
    package static let live = "/-/jobs/live"
    package static let storage = "/-/room"
    static let metrics = "/-/metrics"
    package static let login = "/-/login"
    static let logout = "/-/logout"
    /// The prefix for commands (POST); the name of the command follows.
    static let commands = "/-/do/"
    /// The page that switches the bar of mirrored pages on and off.
    static let barSwitch = "/-/bar"
    /// The document in the bar of a mirrored page.
    package static let barFrame = OriginLayout.barFrame

    /// Stores the language in the field `to`, and redirects to the path in the field `back`.
    static let language = "/-/language"
    static let importForm = "/-/import"
    /// The form that saves one page.
    package static let add = "/-/add"
    /// The page that explains how to save from the browser.
    package static let save = "/-/save"
    /// The addresses of the browser extension's requests.
    static let pair = "/-/extension/pair"
    static let savePage = "/-/extension/save"
    /// The browser extension as a zip file.
    static let extensionFile = "/-/extension.zip"
    /// The prefix of the files that jobs made.
    package static let files = "/-/files/"

    /// The path of the file that a job made. It ends with the file's name, which browsers use when they save the file.
    package static func file(of job: Int, named name: String) -> String {
        "\(files)\(job)/\(PortalLinks.percentEncoded(name))"
    }

    /// Redirects to a random page.
    package static let random = "/-/random"
    /// Redirects to the stored copy of the URL that a user typed, which is in the field `url`.
    package static let open = "/-/open"

    package func export(of site: Int64) -> String { "\(self.site(site))/export" }

    /// The document in the bar of a mirrored page.
    ///
    /// - Parameter snapshot: the id of the snapshot that the page is from; nil for the live one.
    static func barDocument(of url: String, snapshot: Int64?) -> String {
        path(barFrame, [("url", url), ("snapshot", snapshot.map { "\($0)" })])
    }

    /// The path that switches the bar off.
    static let barOff = "/-/bar/off"

    /// The page that switches the bar on and off, with a link back to a mirrored page; see `barDocument(of:snapshot:)`.
    static func barSwitch(from url: String, snapshot: Int64?) -> String {
        path(barSwitch, [("url", url), ("snapshot", snapshot.map { "\($0)" })])
    }

    /// The address that switches the bar off; see `barDocument(of:snapshot:)`.
    static func barOff(of url: String, snapshot: Int64?) -> String {
        path(barOff, [("url", url), ("snapshot", snapshot.map { "\($0)" })])
    }

    package func site(_ id: Int64) -> String { "\(Self.sites)\(id)" }

    /// A folder of a site.
    ///
    /// - Parameters:
    ///   - prefix: the URL up to the folder's name.
    ///   - after: the URL at which the previous page of the list stopped.
    package func folder(_ prefix: String, of site: Int64, after: String? = nil) -> String {
        Self.path("\(self.site(site))/pages", [("under", prefix), ("after", after)])
    }

    /// The settings of a site.
    ///
    /// - Parameter href: a URL that the form proposes to exclude; nil for none.
    package func settings(of site: Int64, excluding href: String? = nil) -> String {
        Self.path("\(self.site(site))/settings", [("exclude", href)]) + (href == nil ? "" : "#f-exclude")
    }

    func titles(of site: Int64, after: String? = nil) -> String {
        Self.path("\(self.site(site))/titles", [("after", after)])
    }

    /// The missing URLs of a site.
    ///
    /// - Parameters:
    ///   - kind: a `LinkList`, to show only one list.
    ///   - after: the position at which the previous page of the list stopped.
    package func missing(of site: Int64, kind: String? = nil, after: Int64? = nil) -> String {
        Self.path("\(self.site(site))/missing", [("kind", kind), ("after", after.map { "\($0)" })])
    }

    /// The differences of two snapshots of a site. Without snapshots, the page selects two.
    ///
    /// - Parameters:
    ///   - kind: a `ChangesPage.Kind`, to show only one list.
    ///   - page: the number of the page, from 0.
    package func changes(
        of site: Int64, from: SnapshotName? = nil, to: SnapshotName? = nil, kind: String? = nil,
        page: Int? = nil
    ) -> String {
        Self.path(
            "\(self.site(site))/changes",
            [
                ("from", from.map { "\($0)" }), ("to", to.map { "\($0)" }), ("kind", kind),
                ("page", page.map { "\($0)" }),
            ])
    }

    /// The comparison of one page in two snapshots.
    func compare(_ href: String, of site: Int64, from: SnapshotName, to: SnapshotName) -> String {
        Self.path(
            "\(self.site(site))/compare", [("url", href), ("from", "\(from)"), ("to", "\(to)")])
    }

    package func pictures(
        of site: Int64, from: SnapshotName? = nil, to: SnapshotName? = nil, page: Int? = nil
    )
        -> String
    {
        Self.path(
            "\(self.site(site))/pictures",
            [("from", from.map { "\($0)" }), ("to", to.map { "\($0)" }), ("page", page.map { "\($0)" })])
    }

    /// The URL of a screenshot, as an image.
    package func picture(of href: String, in snapshot: SnapshotName, of site: Int64) -> String {
        Self.path("\(self.site(site))/picture", [("snapshot", "\(snapshot)"), ("url", href)])
    }

    /// The icon of a site. The snapshot makes the address change with the icon, so that browsers may cache it.
    func icon(of site: Int64, in snapshot: SnapshotName?) -> String {
        Self.path("\(self.site(site))/icon", [("snapshot", snapshot.map { "\($0)" })])
    }

    /// The results of a search, in one site or in all (nil).
    ///
    /// - Parameters:
    ///   - filters: the fields of the filters.
    ///   - after: the `SearchPosition` at which the previous page stopped.
    package func search(
        _ words: String, in site: Int64?, filters: [(name: String, value: String?)] = [], after: String? = nil
    ) -> String {
        let path = site.map { "\(self.site($0))/search" } ?? Self.search
        return Self.path(path, [("q", words)] + filters + [("after", after)])
    }

    /// The form that searches an earlier snapshot of a site.
    package func search(in site: Int64, _ snapshot: SnapshotName) -> String {
        Self.path("\(self.site(site))/search", [("snapshot", "\(snapshot)")])
    }

    package func scripts(after: String? = nil) -> String { Self.path(Self.scripts, [("after", after)]) }

    /// The page about one URL.
    ///
    /// - Parameters:
    ///   - links: a `LinkList`, to show all of its links.
    ///   - after: the position at which the previous page of the list of linking pages stopped.
    package func details(_ href: String, links: String? = nil, after: Int64? = nil) -> String {
        Self.path(Self.page, [("url", href), ("links", links), ("after", after.map { "\($0)" })])
    }

    /// A path with a query. Fields without a value are left out.
    package static func path(_ path: String, _ fields: [(name: String, value: String?)]) -> String {
        var text = path
        var separator = "?"
        for field in fields {
            guard let value = field.value else { continue }
            text += "\(separator)\(field.name)=\(percentEncoded(value))"
            separator = "&"
        }
        return text
    }

    /// Percent-encodes text for a path or a query value. Slashes and colons stay, because URLs in queries are easier to read
    /// with them. A file name must not contain slashes.
    static func percentEncoded(_ text: String) -> String {
        String(percentEncoding: text.utf8) { $0.isASCIIAlphanumeric || "-._~/:".utf8.contains($0) }
    }
}
