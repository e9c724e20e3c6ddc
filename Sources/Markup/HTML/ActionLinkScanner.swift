internal import CXML2
package import Web

/// Finds the links of a document that change something when they are requested, by their markup:
/// the method or the confirmation that a script would use, or the text of the link.
package enum ActionLinkScanner {
    /// The URLs of such links and of forms that are sent by GET, without their fragments.
    ///
    /// - Parameter isUTF8: Whether the document is in UTF-8; else libxml2 looks for its encoding.
    package static func links(in body: Span<UInt8>, isUTF8: Bool = true, base: WebURL) -> Set<WebURL> {
        guard body.count <= maxBytes else { return [] }
        AttributeDecoder.initializeLibraryOnce()
        let options = Int32(
            HTML_PARSE_RECOVER.rawValue | HTML_PARSE_NOERROR.rawValue | HTML_PARSE_NOWARNING.rawValue
                | HTML_PARSE_NONET.rawValue)
        let document = body.withUnsafeBufferPointer { bytes in
            bytes.withMemoryRebound(to: CChar.self) {
                htmlReadMemory($0.baseAddress, Int32($0.count), nil, isUTF8 ? "UTF-8" : nil, options)
            }
        }
        guard let document else { return [] }
        defer { xmlFreeDoc(document) }
        var found: Set<WebURL> = []
        var next = xmlDocGetRootElement(document)
        while let node = next {
            if node.pointee.type == XML_ELEMENT_NODE, let link = link(node, base) { found.insert(link) }
            next = successor(of: node)
        }
        return found
    }

    /// Larger documents are not examined: they are lists rather than forms.
    private static let maxBytes = 16 << 20

    /// The next node in the order of the document, or of the descendants of `root`.
    private static func successor(of node: xmlNodePtr, in root: xmlNodePtr? = nil) -> xmlNodePtr? {
        if let child = node.pointee.children, node.pointee.type == XML_ELEMENT_NODE { return child }
        var node = node
        while node.pointee.next == nil {
            guard let parent = node.pointee.parent, parent.pointee.type == XML_ELEMENT_NODE, parent != root
            else { return nil }
            node = parent
        }
        return node.pointee.next
    }

    /// The target of an element, if it is a link that changes something.
    private static func link(_ node: xmlNodePtr, _ base: WebURL) -> WebURL? {
        let isForm = node.pointee.name.map { String(cString: $0) == "form" } ?? false
        // The URL of a form that is sent by POST may be that of a page, too.
        if isForm, let method = attribute("method", of: node), method.lowercased() != "get" { return nil }
        guard let href = attribute(isForm ? "action" : "href", of: node),
            let url = WebURL(href, base: base)?.key, url.isHTTP
        else { return nil }
        return isAction(node) || isForm && hasActionButton(node) ? url : nil
    }

    /// Whether a button of a form says that it changes something.
    private static func hasActionButton(_ form: xmlNodePtr) -> Bool {
        var next = form.pointee.children
        while let node = next {
            if node.pointee.type == XML_ELEMENT_NODE, let name = node.pointee.name {
                let name = String(cString: name)
                let value = name == "input" ? attribute("value", of: node) : nil
                let isButton = name == "button" || value != nil && attribute("type", of: node) != "hidden"
                if isButton,
                    [value, content(of: node)].contains(where: {
                        $0.map { ActionLink.isActionText($0) } ?? false
                    })
                {
                    return true
                }
            }
            next = successor(of: node, in: form)
        }
        return false
    }

    private static func isAction(_ node: xmlNodePtr) -> Bool {
        for name in ["data-method", "data-turbo-method", "data-http-method"] {
            if let method = attribute(name, of: node), method.lowercased() != "get", !method.isEmpty {
                return true
            }
        }
        for name in ["data-confirm", "data-turbo-confirm", "hx-confirm", "data-confirmation"]
        where attribute(name, of: node) != nil {
            return true
        }
        for name in ["onclick", "onsubmit"] {
            if let script = attribute(name, of: node), script.lowercased().contains("confirm") { return true }
        }
        let imageText = node.pointee.children.flatMap { attribute("alt", of: $0) }
        let isForm = node.pointee.name.map { String(cString: $0) == "form" } ?? false
        let texts = [
            attribute("aria-label", of: node), attribute("title", of: node), imageText,
            isForm ? nil : content(of: node),
        ]
        return texts.contains { $0.map { ActionLink.isActionText($0) } ?? false }
    }

    private static func attribute(_ name: String, of node: xmlNodePtr) -> String? {
        guard node.pointee.type == XML_ELEMENT_NODE else { return nil }
        return text(xmlGetProp(node, name))
    }

    private static func content(of node: xmlNodePtr) -> String? { text(xmlNodeGetContent(node)) }

    private static func text(_ value: UnsafeMutablePointer<xmlChar>?) -> String? {
        guard let value else { return nil }
        defer { larder_xml_free(value) }
        return String(cString: value)
    }
}
