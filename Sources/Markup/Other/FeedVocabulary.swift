/// RSS in all its versions, Atom, and what podcasts add.
final class FeedVocabulary: XMLVocabulary {
    /// The entry that is open has an address so far.
    private var isLinked = false

    func opened(_ scanner: XMLScanner) {
        if scanner.isElement("item") || scanner.isElement("entry") { isLinked = false }
        if scanner.isElement("link") {
            scanner.add(scanner.attribute("href"), linkKind(scanner))
        } else if scanner.isElement("enclosure") {
            scanner.add(scanner.attribute("url"), .enclosure)
        } else if scanner.isElement("content") {
            // Atom has `src`, Media RSS `url`.
            scanner.add(scanner.attribute("src") ?? scanner.attribute("url"), .enclosure)
        } else if scanner.isElement("thumbnail") {
            scanner.add(scanner.attribute("url"), .image)
        } else if scanner.isElement("player") {
            scanner.add(scanner.attribute("url"), .frame)
        } else if scanner.isElement("image") {
            // Podcasts; in RDF the channel points to its picture by name.
            scanner.add(scanner.attribute("href"), .image)
            scanner.add(scanner.attribute("rdf:resource") ?? scanner.attribute("rdf:about"), .name)
        } else if scanner.isElement("transcript") || scanner.isElement("chapters") {
            scanner.add(scanner.attribute("url"), .track)
        } else if scanner.isElement("source") {
            scanner.add(scanner.attribute("url"), .alternate)
        } else if scanner.isElement("category") {
            scanner.add(scanner.attribute("scheme") ?? scanner.attribute("domain"), .name)
        } else if scanner.isElement("generator") {
            scanner.add(scanner.attribute("uri"), .about)
        } else if scanner.isElement("a") {
            // XHTML inside an entry.
            scanner.add(scanner.attribute("href"), .page)
        } else if scanner.isElement("img") {
            scanner.add(scanner.attribute("src"), .image)
        } else {
            scanner.add(scanner.attribute("rdf:resource") ?? scanner.attribute("rdf:about"), .name)
        }
    }

    func closed(_ scanner: XMLScanner) {
        if scanner.isElement("link") {
            isLinked = true
            scanner.addContent(isEntry(scanner) ? .feedEntry : .page)
        } else if scanner.isElement("guid") {
            // What says that it is no address often is one, for want of a `<link>`.
            let isAddress =
                scanner.content.hasPrefix("http") && !(isLinked && scanner.attribute("ispermalink", is: "false"))
            scanner.addContent(isAddress ? .feedEntry : .name)
        } else if scanner.isElement("url") {
            if scanner.isElement("image", out: 1) { scanner.addContent(.image) }
        } else if scanner.isElement("logo") {
            scanner.addContent(.image)
        } else if scanner.isElement("icon") {
            scanner.addContent(.icon)
        } else if scanner.isElement("comments") {
            // Also a count, in some extensions.
            if scanner.content.hasPrefix("http") { scanner.addContent(.page) }
        } else if scanner.isElement("commentrss") || scanner.isElement("new-feed-url") {
            scanner.addContent(.alternate)
        } else if scanner.isElement("docs") || scanner.isElement("uri") {
            scanner.addContent(.about)
        } else if scanner.isElement("id") {
            scanner.addContent(.name)
        } else if isMarkup(scanner) {
            scanner.withContent { HTMLScanner.scan($0, scanner.sink, isOutermost: false) }
        }
    }

    private func isEntry(_ scanner: XMLScanner) -> Bool {
        scanner.isElement("item", out: 1) || scanner.isElement("entry", out: 1)
    }

    /// What Atom's `rel` says.
    private func linkKind(_ scanner: XMLScanner) -> LinkKind {
        guard let attribute = scanner.attribute("rel") else { return isEntry(scanner) ? .feedEntry : .page }
        switch scanner.value(attribute) {
        case "alternate": return isEntry(scanner) ? .feedEntry : .page
        case "enclosure": return .enclosure
        case "next", "previous", "prev", "first", "last", "current", "prev-archive", "next-archive": return .navigation
        case "self": return .canonical
        case "hub", "edit", "edit-media", "service", "pingback": return .ping
        case "related", "via": return .citation
        case "license", "author", "help": return .about
        case "replies": return .alternate
        case "icon", "shortcut icon", "apple-touch-icon": return .icon
        case "stylesheet": return .style
        default: return .metadata
        }
    }

    /// Elements whose text is HTML: in RSS always, in Atom when it says so.
    private func isMarkup(_ scanner: XMLScanner) -> Bool {
        if scanner.isElement("description") || scanner.isElement("encoded") { return true }
        let isText = scanner.isElement("content") || scanner.isElement("summary") || scanner.isElement("title")
        return isText && (scanner.attribute("type", is: "html") || scanner.attribute("type", is: "text/html"))
    }
}
