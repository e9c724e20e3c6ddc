/// All versions of RSS, Atom, and the podcast extensions.
final class FeedVocabulary: XMLVocabulary {
    /// Whether the open entry has a link so far.
    private var isLinked = false

    func didOpenElement(_ scanner: XMLScanner) {
        if scanner.isElement("item") || scanner.isElement("entry") { isLinked = false }
        if scanner.isElement("link") {
            scanner.add(scanner.attribute("href"), linkKind(scanner))
        } else if scanner.isElement("enclosure") {
            scanner.add(scanner.attribute("url"), .enclosure)
        } else if scanner.isElement("content") {
            // Atom uses `src`, Media RSS `url`.
            scanner.add(scanner.attribute("src") ?? scanner.attribute("url"), .enclosure)
        } else if scanner.isElement("thumbnail") {
            scanner.add(scanner.attribute("url"), .image)
        } else if scanner.isElement("player") {
            scanner.add(scanner.attribute("url"), .frame)
        } else if scanner.isElement("image") {
            // Podcasts use `href`; in RDF the channel refers to its image by name.
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
            // XHTML in an entry.
            scanner.add(scanner.attribute("href"), .page)
        } else if scanner.isElement("img") {
            scanner.add(scanner.attribute("src"), .image)
        } else {
            scanner.add(scanner.attribute("rdf:resource") ?? scanner.attribute("rdf:about"), .name)
        }
    }

    func didCloseElement(_ scanner: XMLScanner) {
        if scanner.isElement("link") {
            isLinked = true
            scanner.addContent(isEntry(scanner) ? .feedEntry : .page)
        } else if scanner.isElement("guid") {
            // A `guid` with `isPermaLink="false"` often is a URL all the same, if the entry has no `<link>`.
            let isAddress =
                scanner.content.hasPrefix("http")
                && !(isLinked && scanner.attribute("ispermalink", is: "false"))
            scanner.addContent(isAddress ? .feedEntry : .name)
        } else if scanner.isElement("url") {
            if scanner.isElement("image", out: 1) { scanner.addContent(.image) }
        } else if scanner.isElement("logo") {
            scanner.addContent(.image)
        } else if scanner.isElement("icon") {
            scanner.addContent(.icon)
        } else if scanner.isElement("comments") {
            // In some extensions this is a number.
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

    /// Returns the kind of an Atom link by its `rel`.
    private func linkKind(_ scanner: XMLScanner) -> LinkKind {
        guard let attribute = scanner.attribute("rel") else { return isEntry(scanner) ? .feedEntry : .page }
        switch scanner.value(attribute) {
        case "alternate": return isEntry(scanner) ? .feedEntry : .page
        case "enclosure": return .enclosure
        case "next", "previous", "prev", "first", "last", "current", "prev-archive", "next-archive":
            return .navigation
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

    /// Whether the element's text is HTML: always in RSS, and by its `type` in Atom.
    private func isMarkup(_ scanner: XMLScanner) -> Bool {
        if scanner.isElement("description") || scanner.isElement("encoded") { return true }
        let isText =
            scanner.isElement("content") || scanner.isElement("summary") || scanner.isElement("title")
        return isText && (scanner.attribute("type", is: "html") || scanner.attribute("type", is: "text/html"))
    }
}

/// Sitemaps and their indexes, with the extensions for images, videos and other languages.
final class SitemapVocabulary: XMLVocabulary {
    func didOpenElement(_ scanner: XMLScanner) {
        if scanner.isElement("link") { scanner.add(scanner.attribute("href"), .alternate) }
    }

    func didCloseElement(_ scanner: XMLScanner) {
        if scanner.isElement("loc") {
            scanner.addContent(scanner.isElement("image", out: 1) ? .image : .sitemapEntry)
        } else if scanner.isElement("sitemap") {
            // Some indexes omit the `<loc>`.
            scanner.addContent(.sitemapEntry)
        } else if scanner.isElement("content_loc") {
            scanner.addContent(.media)
        } else if scanner.isElement("thumbnail_loc") {
            scanner.addContent(.image)
        } else if scanner.isElement("player_loc") {
            scanner.addContent(.frame)
        } else if scanner.isElement("license") {
            scanner.addContent(.about)
        }
    }

    /// Scans a sitemap, which may also be a plain list of URLs, one per line.
    static func scan(_ text: SourceText, _ sink: LinkSink) {
        let first = text.bytes.first { !$0.isSpace && ![0xEF, 0xBB, 0xBF].contains($0) }
        if first == UInt8(ascii: "<") {
            XMLScanner.scan(text, sink, SitemapVocabulary())
            return
        }
        TextLines.forEach(text.bytes) { line in
            if ScriptURLForm(text.bytes.part(line)) == .absolute {
                sink.add(line, in: text, .sitemapEntry, .line)
            }
        }
    }
}

/// Media presentation descriptions (ISO/IEC 23009-1).
///
/// The `BaseURL` of the whole presentation is its base. In other elements it is either a file, or a folder
/// for the elements beside and below it. The URLs of those are implied links, since the document does not
/// contain them in one piece, and so are those that ``DASHManifest`` makes from templates.
final class DASHVocabulary: XMLVocabulary {
    static func scan(_ text: SourceText, _ sink: LinkSink) {
        XMLScanner.scan(text, sink, DASHVocabulary())
        sink.addImplied(DASHManifest(text.bytes).expanded.map { ImpliedLink($0, .media) })
    }

    /// The folders in effect, with the depth of their elements.
    private var folders: [(depth: Int, folder: String)] = []

    func didOpenElement(_ scanner: XMLScanner) {
        while let last = folders.last, last.depth >= scanner.elements.count { folders.removeLast() }
        if scanner.isElement("period") || scanner.isElement("adaptationset") {
            scanner.add(scanner.attribute("xlink:href"), .playlist)
        } else if scanner.isElement("segmenttemplate") {
            for attribute in scanner.elements.last?.tag.attributes ?? [] {
                let name = scanner.text.bytes.part(attribute.name)
                guard name.equals("initialization") || name.equals("media") || name.equals("index") else {
                    continue
                }
                add(attribute, scanner)
            }
        } else if scanner.isElement("initialization") || scanner.isElement("representationindex") {
            if let attribute = scanner.attribute("sourceurl") { add(attribute, scanner) }
        } else if scanner.isElement("segmenturl") {
            for attribute in scanner.elements.last?.tag.attributes ?? [] {
                let name = scanner.text.bytes.part(attribute.name)
                if name.equals("media") || name.equals("index") { add(attribute, scanner) }
            }
        }
    }

    func didCloseElement(_ scanner: XMLScanner) {
        if scanner.isElement("location") || scanner.isElement("patchlocation") {
            scanner.addContent(.playlist)
        } else if scanner.isElement("baseurl") {
            handleBaseURL(scanner)
        }
    }

    private func handleBaseURL(_ scanner: XMLScanner) {
        let address = scanner.content
        let isFolder = address.hasSuffix("/")
        let depth = scanner.elements.count - 1
        if scanner.isElement("mpd", out: 1) {
            scanner.addContent(.base, .ignoresBase)
            if scanner.sink.table.base == nil { scanner.sink.table.base = address }
        } else if !isFolder {
            addMedia(address, scanner) { scanner.addContent(.media) }
        } else if !folders.contains(where: { $0.depth == depth }) {
            // Several base URLs of one element are alternatives, so only the first one counts.
            scanner.addContent(.codebase)
            let folder = Self.join(folders.last?.folder ?? "", address)
            if folder.utf8.count <= XMLScanner.maxURLBytes { folders.append((depth, folder)) }
        }
    }

    private func add(_ attribute: XMLTag.Attribute, _ scanner: XMLScanner) {
        let address = scanner.value(attribute)
        if !address.contains("$") {
            addMedia(address, scanner) { scanner.add(attribute, .media) }
        } else if !Self.isRelative(address) {
            // The URLs made from it are elsewhere in a mirror, too.
            scanner.add(attribute, .codebase)
        }
    }

    private func addMedia(_ address: String, _ scanner: XMLScanner, _ add: () -> Void) {
        guard let folder = folders.last?.folder, Self.isRelative(address) else {
            add()
            return
        }
        scanner.addImplied(ImpliedLink(folder + address, .media))
    }

    private static func isRelative(_ address: String) -> Bool {
        Array(address.utf8).withUnsafeBufferPointer {
            ReferenceShape($0) == .relative && $0.first != UInt8(ascii: "/")
        }
    }

    static func join(_ outer: String, _ inner: String) -> String {
        isRelative(inner) ? outer + inner : inner
    }
}

/// XML that has no vocabulary of its own: XSLT style sheets, OpenSearch descriptions, Windows tiles, and
/// XLink references.
final class XMLDocumentVocabulary: XMLVocabulary {
    func didOpenElement(_ scanner: XMLScanner) {
        scanner.addMarks()
        if scanner.isElement("import") || scanner.isElement("include") {
            // XSLT and XInclude.
            scanner.add(scanner.attribute("href"), .transform)
        } else if scanner.isElement("tileimage") || isLogo(scanner) {
            scanner.add(scanner.attribute("src"), .icon)
        } else if scanner.isElement("url"), scanner.isElement("opensearchdescription", out: 1) {
            // A pattern with `{searchTerms}` cannot be fetched, but it names an origin.
            scanner.add(scanner.attribute("template"), .submission)
        } else {
            scanner.add(scanner.attribute("xlink:href"), .citation)
        }
    }

    func didCloseElement(_ scanner: XMLScanner) {
        guard scanner.isElement("opensearchdescription", out: 1) else { return }
        // Only a browser that installs the search engine loads its image; no page needs it.
        if scanner.isElement("image") { scanner.addContent(.sharing) }
        if scanner.isElement("searchform") { scanner.addContent(.page) }
    }

    /// Whether the element is a logo: `<square150x150logo src="…"/>`.
    private func isLogo(_ scanner: XMLScanner) -> Bool {
        guard let tag = scanner.elements.last?.tag else { return false }
        let name = scanner.localName(tag.name)
        return name.count > 4 && name.part(name.count - 4..<name.count).equals("logo")
    }
}
