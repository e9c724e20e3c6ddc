/// XML that is none of the vocabularies that have a scanner of their own: stylesheets of XSLT, descriptions of search engines,
/// tiles of Windows, and addresses by XLink.
final class XMLDocumentVocabulary: XMLVocabulary {
    func opened(_ scanner: XMLScanner) {
        if scanner.isElement("import") || scanner.isElement("include") {
            // XSLT, and XInclude.
            scanner.add(scanner.attribute("href"), .transform)
        } else if scanner.isElement("tileimage") || isLogo(scanner) {
            scanner.add(scanner.attribute("src"), .icon)
        } else if scanner.isElement("url"), scanner.isElement("opensearchdescription", out: 1) {
            // A pattern with `{searchTerms}` in it: nothing to fetch, but it names an origin.
            scanner.add(scanner.attribute("template"), .submission)
        } else {
            scanner.add(scanner.attribute("xlink:href"), .citation)
        }
    }

    func closed(_ scanner: XMLScanner) {
        guard scanner.isElement("opensearchdescription", out: 1) else { return }
        // Only a browser that installs the search engine loads its picture; no page needs it.
        if scanner.isElement("image") { scanner.addContent(.sharing) }
        if scanner.isElement("searchform") { scanner.addContent(.page) }
    }

    /// `<square150x150logo src="…"/>`
    private func isLogo(_ scanner: XMLScanner) -> Bool {
        guard let tag = scanner.elements.last?.tag else { return false }
        let name = scanner.localName(tag.name)
        return name.count > 4 && name.part(name.count - 4..<name.count).equals("logo")
    }
}
