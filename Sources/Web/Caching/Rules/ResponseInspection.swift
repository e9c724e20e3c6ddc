/// A look at a response before it is stored, which may find that it is not what it claims to be: an error page served with
/// 200, the form of a captive portal in a script's place.
package struct ResponseInspection: Sendable {
    /// What is looked at.
    package struct Subject: Sendable {
        package let url: WebURL
        package let status: Int
        package let fields: HTTPFields
        /// The beginning of the body, as much as the caller has at hand.
        package let beginning: [UInt8]

        package init(url: WebURL, status: Int, fields: HTTPFields, beginning: [UInt8] = []) {
            self.url = url
            self.status = status
            self.fields = fields
            self.beginning = beginning
        }
    }

    /// Nil for one that refuses nothing.
    private let refuses: (@Sendable (Subject) -> Bool)?

    /// The closure is called on any thread, and says whether to refuse.
    package init(refusing refuses: @escaping @Sendable (Subject) -> Bool) { self.refuses = refuses }

    private init() { refuses = nil }

    /// Then nobody needs to read the beginning of a body for it.
    package var acceptsAll: Bool { refuses == nil }

    package func accepts(_ subject: Subject) -> Bool { !(refuses?(subject) ?? false) }

    package static let acceptingAll = ResponseInspection()

    /// Refuses a page of HTML with status 200 where the URL's ending promises something else.
    package static let refusingStandIns = ResponseInspection { subject in
        guard subject.status == 200, let type = subject.fields.contentType,
            type.essence == "text/html" || type.essence == "application/xhtml+xml"
        else { return false }
        let name = Array(subject.url.path.utf8.reversed().prefix { $0 != 0x2F }.reversed())
        guard let dot = name.lastIndex(of: 0x2E) else { return false }
        return neverHTML.contains(HTTPGrammar.lowercased(name[(dot + 1)...]))
    }

    /// Endings under which no server has reason to serve a page.
    private static let neverHTML: Set<String> = [
        "avif", "bmp", "css", "csv", "gif", "gz", "ico", "jpeg", "jpg", "js", "json", "map", "mjs", "mp3", "mp4", "oga",
        "ogg", "ogv", "otf", "pdf", "png", "ttf", "wasm", "wav", "webm", "webmanifest", "webp", "woff", "woff2", "zip",
    ]
}
