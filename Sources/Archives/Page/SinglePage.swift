internal import Markup
internal import Store
internal import System
internal import Web

/// The size limits of a page that is exported as one file.
package struct PageLimits: Sendable {
    /// The maximum size of one body in bytes. A larger body is left out and reported.
    package var maxBodyBytes = 32 << 20
    /// The maximum total size of the inserted content in bytes. Content that is inserted in several places
    /// counts several times. Content beyond it is left out and reported.
    package var maxTotalBytes = 512 << 20
    /// The maximum depth of documents in documents, and of style sheets that import style sheets. Deeper ones become
    /// empty.
    package var maxDepth = 8

    package init() {}
}

/// Turns a page into one document that needs no other files. Assets become `data:` URLs, frames become
/// `srcdoc` attributes, and modules go into an import map. Links to other pages become absolute URLs of the
/// origin. All other bytes stay unchanged. A content security policy keeps the document's scripts from using
/// the network.
///
/// `assemble` works recursively: it rewrites the links of a body, and each asset that it inserts is assembled first. So
/// `<link rel=stylesheet href=a.css>`, whose `a.css` contains `url(b.png)`, becomes a `data:` URL of a style sheet that
/// contains a `data:` URL of the image. `openURLs` has the bodies on the recursion's stack, to stop at cycles. A
/// document, unlike a style sheet, has some state of its own (`modules`, `drawings`, `scriptURLs`, `dataURLs`), which is
/// put aside while a document in a frame is assembled.
///
/// An instance is used by one thread.
final class SinglePage {
    private let resources: ResourceLookup
    private let limits: PageLimits
    private let keepsScripts: Bool
    /// The `data:` URLs made so far, by the URL of the link and the way in which the content is used.
    private var dataURLs: [DataURLKey: String] = [:]
    /// The URLs of the bodies that are being assembled. A body is not inserted into itself.
    private var openURLs: Set<String> = []
    /// The modules that scripts of the current document import, in the order in which they were found.
    private var modules: [WebURL] = []
    private var moduleNames: Set<String> = []
    /// The SVG drawings of which the current document uses a part, as `svg` elements.
    private var drawings: [(href: String, element: [UInt8])] = []
    /// The URLs that scripts of the current document may request when they run.
    private var scriptURLs: Set<String> = []
    /// The total size of the inserted content.
    private var insertedByteCount = 0
    private let interruption: Interruption
    private(set) var assets = PageAssets()

    private struct DataURLKey: Hashable {
        let href: String
        let content: InsertedContent
    }

    init(_ resources: ResourceLookup, _ limits: PageLimits, keepsScripts: Bool, _ interruption: Interruption)
    {
        (self.resources, self.limits, self.keepsScripts) = (resources, limits, keepsScripts)
        self.interruption = interruption
    }

    /// Returns the complete document. Throws if `page` is not HTML or its body is damaged or too large.
    func document(_ page: ExportedResource) throws(ArchiveError) -> [UInt8] {
        guard page.format.isHTML else {
            throw ArchiveError(
                .input, "\(page.url.href) is not HTML but \(page.response.type ?? "of no type"); name a page")
        }
        guard let text = try assemble(page, isFrame: false) else {
            throw ArchiveError(.machine, "\(page.url.href) is damaged, or over 64 MB; prefetch it again")
        }
        return text
    }

    // MARK: - Bodies

    /// Returns a body with all of its assets inserted. Returns nil if the body is damaged or its links cannot
    /// be read.
    private func assemble(_ resource: ExportedResource, isFrame: Bool) throws(ArchiveError) -> [UInt8]? {
        guard let bytes = try resources.bytes(of: resource), let table = try resources.table(of: resource)
        else {
            return nil
        }
        openURLs.insert(resource.url.href)
        defer { openURLs.remove(resource.url.href) }
        var body = Body(resource, bytes, table)
        body.changes = try Patch.Change.neutralizingPolicies(table) { (mark) throws(ArchiveError) in
            try table.hasBrokenIntegrity(mark, in: body.text, base: body.base, resources.checkedBody(at:))
        }
        // Each document has an import map, drawings and intercepted requests of its own.
        let outer = (dataURLs, modules, moduleNames, drawings, scriptURLs)
        if body.isDocument { (dataURLs, modules, moduleNames, drawings, scriptURLs) = ([:], [], [], [], []) }
        var texts: [Int: String] = [:]
        for occurrence in table.occurrences {
            try checkLimits()
            if let frame = try frame(occurrence, in: body) {
                body.changes.append(frame)
            } else if let text = try replacement(occurrence, in: body) {
                texts[occurrence.range.lowerBound] = text
                insertedByteCount += text.utf8.count
            }
        }
        if body.isDocument {
            try finish(&body, isFrame: isFrame)
            (dataURLs, modules, moduleNames, drawings, scriptURLs) = outer
        }
        body.changes.sort { $0.range.lowerBound < $1.range.lowerBound }
        let patch = Patch(body.text.span, table, changes: body.changes) { occurrence, _ in
            texts[occurrence.range.lowerBound]
        }
        return patch.apply(to: body.text)
    }

    /// Throws if the export was interrupted or the content is far above the limit.
    private func checkLimits() throws(ArchiveError) {
        guard !interruption.isRequested else {
            throw ArchiveError(.interrupted, "interrupted; run the same command again")
        }
        guard insertedByteCount <= limits.maxTotalBytes + limits.maxBodyBytes * 2 else {
            throw ArchiveError(
                .input,
                "the page needs more than \(limits.maxTotalBytes >> 20) MB in one file; export it as a folder: DIR/"
            )
        }
    }

    /// A body that is being assembled.
    private struct Body {
        let resource: ExportedResource
        /// The body in the encoding in which its link table was made, which is UTF-8 if the table is transcoded.
        let text: [UInt8]
        let table: LinkTable
        /// The URL against which links are resolved.
        let base: WebURL
        /// Changes other than replaced links.
        var changes: [Patch.Change] = []

        init(_ resource: ExportedResource, _ bytes: [UInt8], _ table: LinkTable) {
            (self.resource, self.table) = (resource, table)
            text = table.source(of: bytes.span) ?? bytes
            base = table.base.flatMap { WebURL($0, base: resource.url) } ?? resource.url
        }

        var isDocument: Bool { resource.format.isHTML }

        /// Returns the URL that a link refers to.
        func target(_ occurrence: LinkOccurrence) -> WebURL? {
            WebURL(
                utf8: table.reference(occurrence, in: text.span).span,
                base: occurrence.flags.contains(.ignoresBase) ? resource.url : base,
                queryEncoding: table.encoding
            )
        }
    }

    // MARK: - Links

    /// Returns the text that replaces a link, or nil if the link stays as it is.
    private func replacement(_ occurrence: LinkOccurrence, in body: Body) throws(ArchiveError) -> String? {
        if occurrence.kind == .base { return "#" }
        guard !occurrence.flags.contains(.hasCodebase), let target = body.target(occurrence), target.isHTTP
        else {
            return nil
        }
        // A guess may not be a URL, so it is not rewritten. If a script requests it, the inserted script
        // answers.
        if occurrence.flags.contains(.isGuess) {
            if keepsScripts, scriptURLs.count < Self.maxScriptURLs { scriptURLs.insert(target.key.href) }
            return nil
        }
        if occurrence.flags.contains(.isFragment), body.table.base == nil { return nil }
        let fragment = target.fragment.map { "#" + $0 } ?? ""
        if body.isDocument, occurrence.role != .asset, target.key == body.resource.url.key,
            occurrence.kind != .form
        {
            return fragment.isEmpty ? "#" : fragment
        }
        switch linkUse(of: occurrence, in: body) {
        case .unchangedLink: return nil
        case .absoluteURL: return target.href
        case .thisDocument: return "#"
        case .notNeeded: return DataURL.empty
        case .module: return try module(target, occurrence, in: body)
        case .drawing:
            if let name = target.fragment, body.resource.format == .html, try insertDrawing(target) {
                return "#" + name
            }
            return try dataURL(target, .rewritten, neededBy: body) + fragment
        case .rewrittenContent:
            let text = try dataURL(target, .rewritten, neededBy: body)
            return text == DataURL.missing && occurrence.kind == .frame ? "about:blank" : text + fragment
        case .originalContent: return try dataURL(target, .original, neededBy: body) + fragment
        }
    }

    /// The way in which a link is rewritten.
    private enum LinkUse {
        /// The link stays as it is written.
        case unchangedLink
        /// The link becomes an absolute URL of the origin.
        case absoluteURL
        /// The link becomes a link to this document.
        case thisDocument
        /// The link becomes an empty `data:` URL, because its target is not needed.
        case notNeeded
        /// The link imports a module, which goes into the import map.
        case module
        /// The link uses a part of an SVG drawing.
        case drawing
        /// The target is inserted with rewritten links.
        case rewrittenContent
        /// The target is inserted without rewriting its links, because an SVG image loads nothing.
        case originalContent
    }

    private func linkUse(of occurrence: LinkOccurrence, in body: Body) -> LinkUse {
        switch occurrence.kind {
        case .image, .icon: return isHint(occurrence, in: body) ? .notNeeded : .originalContent
        case .font, .media, .track, .embed, .style, .transform, .playlist, .frame:
            return isHint(occurrence, in: body) ? .notNeeded : .rewrittenContent
        case .script, .data, .worker, .model:
            return !keepsScripts || isHint(occurrence, in: body) ? .notNeeded : .rewrittenContent
        case .module: return keepsScripts ? .module : .notNeeded
        case .drawing: return occurrence.context.inner == .plain ? .drawing : .rewrittenContent
        case .manifest, .preload, .prefetch, .origin: return .notNeeded
        // A refresh to another page would leave the document, so it reloads this one.
        case .refresh, .speculation: return .thisDocument
        case .name: return .unchangedLink
        case .page, .form, .alternate, .canonical, .navigation, .about, .feedEntry, .sitemapEntry, .applet,
            .search,
            .htmlImport, .enclosure, .entity, .base, .codebase, .ping, .citation, .profile, .imageMap, .item,
            .sharing, .metadata, .submission, .parameter, .policy, .sourceMap, .part:
            return .absoluteURL
        }
    }

    /// Whether the link only announces a later request, as a preload does. A preload with an `onload`
    /// attribute is not a hint if scripts are kept, because its script usually turns it into a style sheet.
    private func isHint(_ occurrence: LinkOccurrence, in body: Body) -> Bool {
        guard let tag = tag(around: occurrence, in: body), tag.element == "link" else { return false }
        let words = tag.words(of: "rel", in: body.text)
        guard !words.contains("stylesheet"), words.contains("preload") || words.contains("prefetch") else {
            return false
        }
        return !keepsScripts || tag.value(of: "onload", in: body.text) == nil
    }

    /// Returns the start tag around a link in a document. Returns nil for links in style sheets and scripts.
    private func tag(around occurrence: LinkOccurrence, in body: Body) -> EnclosingTag? {
        guard body.isDocument, occurrence.context.levels == 1 else { return nil }
        return EnclosingTag(
            around: occurrence.range, in: body.text, mustBeWholeValue: occurrence.context.inner == .plain)
    }

    private enum InsertedContent {
        /// The body with its own links rewritten.
        case rewritten
        /// The body as it is stored.
        case original
    }

    /// Returns the `data:` URL with the stored body for a URL. Returns `DataURL.missing` for a miss or a body
    /// that is too large, and `DataURL.empty` for a cycle or at the maximum depth.
    private func dataURL(
        _ target: WebURL, _ content: InsertedContent, neededBy body: Body
    ) throws(ArchiveError) -> String {
        let key = DataURLKey(href: target.key.href, content: content)
        if let text = dataURLs[key] { return withinLimit(text, target) }
        guard let resource = try resources.resource(at: target) else {
            return recordMissing(target, neededBy: body)
        }
        guard resource.body.byteCount <= limits.maxBodyBytes else {
            assets.tooLarge[target.key.href] = resource.body.byteCount
            return DataURL.missing
        }
        // A body that contains itself would never end.
        guard !openURLs.contains(resource.url.href), openURLs.count < limits.maxDepth else {
            return DataURL.empty
        }
        let hasLinks = content == .rewritten && resource.format != .opaque && resource.format != .plainText
        let bytes = hasLinks ? try assemble(resource, isFrame: true) : try resources.bytes(of: resource)
        guard let bytes else { return recordMissing(target, neededBy: body) }
        assets.addIncluded(resource)
        let text = DataURL.of(bytes, try mediaType(of: resource, isRewritten: hasLinks))
        dataURLs[key] = text
        return withinLimit(text, target)
    }

    /// Returns the media type for a `data:` URL. A rewritten body may have been converted to UTF-8.
    private func mediaType(of resource: ExportedResource, isRewritten: Bool) throws(ArchiveError) -> String {
        let type = DataURL.type(resource.type, else: DataURL.type(of: resource.format))
        guard isRewritten, let table = try resources.table(of: resource), table.isTranscoded else {
            return type
        }
        return type.prefix { $0 != ";" } + DataURL.charset("utf-8")
    }

    /// Reports a missing asset, and returns the URL to insert for it.
    private func recordMissing(_ target: WebURL, neededBy body: Body) -> String {
        assets.addMissing(target, neededBy: body.resource.url)
        return DataURL.missing
    }

    /// Returns `text` if it fits into the size limit, else the URL for missing content. Content counts each time it is
    /// inserted, because each occurrence contains all of it.
    private func withinLimit(_ text: String, _ target: WebURL) -> String {
        guard insertedByteCount + text.utf8.count <= limits.maxTotalBytes else {
            assets.tooLarge[target.key.href] = text.utf8.count
            return DataURL.missing
        }
        return text
    }

    // MARK: - Modules

    /// Returns the text for a link to a module. Modules keep their own URLs, and the document's import map
    /// resolves them to `data:` URLs. So modules can import each other in a cycle, and each is inserted once.
    private func module(
        _ target: WebURL, _ occurrence: LinkOccurrence, in body: Body
    ) throws(ArchiveError) -> String {
        // The targets in an import map are not looked up in it again. A target that ends in a slash is a
        // prefix for others.
        let isInImportMap = occurrence.context.inner == .json
        if isInImportMap {
            return target.path.hasSuffix("/") ? target.href : try dataURL(target, .rewritten, neededBy: body)
        }
        let href = target.key.href
        if moduleNames.insert(href).inserted { modules.append(target.key) }
        // Import maps do not apply to URLs in tags, so the tag loads a script that imports the module.
        guard tag(around: occurrence, in: body) != nil else { return href }
        return DataURL.of(Array("import \"\(href)\"".utf8), "text/javascript")
    }

    /// Returns the import map of the document. Assembling a module can add further modules to the list.
    private func importMap(neededBy body: Body) throws(ArchiveError) -> String? {
        var lines: [String] = []
        var next = 0
        while next < modules.count {
            let target = modules[next]
            next += 1
            try checkLimits()
            guard let resource = try resources.resource(at: target) else {
                _ = recordMissing(target, neededBy: body)
                continue
            }
            guard resource.body.byteCount <= limits.maxBodyBytes else {
                assets.tooLarge[target.href] = resource.body.byteCount
                continue
            }
            guard let bytes = try assemble(resource, isFrame: true) else { continue }
            assets.addIncluded(resource)
            let text = withinLimit(DataURL.of(bytes, try mediaType(of: resource, isRewritten: true)), target)
            lines.append("\(JSONText.quoted(target.href)):\(JSONText.quoted(text))")
            insertedByteCount += text.utf8.count
        }
        guard !lines.isEmpty else { return nil }
        // The map cannot end the script element early.
        return "{\"imports\":{\(lines.joined(separator: ",\n"))}}".replacing("<", with: "\\u003c")
    }

    /// The maximum size of `scriptURLs`. Requests of scripts for further URLs fail.
    private static let maxScriptURLs = 20_000

    /// Returns a script that answers requests by the document's scripts whose URLs could not be rewritten:
    /// URLs that the scripts name, and URLs that they requested when a browser rendered the page. Returns nil
    /// if none of them is stored.
    private func answerScript(in body: Body) throws(ArchiveError) -> String? {
        guard keepsScripts else { return nil }
        for target in try resources.assets(of: body.resource) where scriptURLs.count < Self.maxScriptURLs {
            scriptURLs.insert(target.key.href)
        }
        let named = scriptURLs
        try addURLsOfScripts()
        var lines: [String] = []
        for href in scriptURLs.sorted() where !assets.included.contains(href) {
            try checkLimits()
            guard let target = WebURL(href), let resource = try resources.resource(at: target),
                resource.format != .html
            else {
                continue
            }
            // URLs that only other scripts name are less likely to be requested, so they get a smaller part of the limit.
            guard
                named.contains(href)
                    || insertedByteCount + resource.body.byteCount <= limits.maxTotalBytes / 4
            else {
                assets.tooLarge[href] = resource.body.byteCount
                continue
            }
            let text = try dataURL(
                target, resource.format == .css ? .rewritten : .original, neededBy: body)
            guard text != DataURL.missing, text != DataURL.empty else { continue }
            lines.append("\(JSONText.quoted(href)):\(JSONText.quoted(text))")
            insertedByteCount += text.utf8.count
        }
        guard !lines.isEmpty else { return nil }
        return AnswerScript.script(lines, at: body.base)
    }

    /// Adds the URLs that scripts name in turn. A part of a bundle is often named in another part.
    private func addURLsOfScripts() throws(ArchiveError) {
        var rest = Array(scriptURLs)
        while let href = rest.popLast() {
            try checkLimits()
            guard let url = WebURL(href), let script = try resources.resource(at: url),
                script.format == .javaScript
            else { continue }
            for target in try resources.assets(of: script)
            where scriptURLs.count < Self.maxScriptURLs && scriptURLs.insert(target.key.href).inserted {
                rest.append(target.key.href)
            }
        }
    }

    // MARK: - Frames

    /// Returns the change that inserts an `iframe` document as `srcdoc`, because URLs of documents have a
    /// maximum length. Returns nil if the link is not such a frame.
    private func frame(_ occurrence: LinkOccurrence, in body: Body) throws(ArchiveError) -> Patch.Change? {
        guard occurrence.kind == .frame, let tag = tag(around: occurrence, in: body), tag.element == "iframe",
            let source = tag.attribute(at: occurrence.range.lowerBound), source.name == "src",
            let target = body.target(occurrence), target.isHTTP
        else { return nil }
        guard let resource = try resources.resource(at: target), resource.format == .html,
            resource.body.byteCount <= limits.maxBodyBytes,
            !openURLs.contains(resource.url.href), openURLs.count < limits.maxDepth,
            let bytes = try assemble(resource, isFrame: true),
            Self.isStandardsMode(bytes) || bytes.count > Self.maxDocumentURLBytes
        else { return nil }
        assets.addIncluded(resource)
        let escaped = Self.escaped(bytes, try resources.table(of: resource))
        insertedByteCount += escaped.count
        try checkLimits()
        let isQuoted =
            [0x22, 0x27].contains(body.text[source.valueRange.lowerBound - 1])
        let quote = isQuoted ? [] : [UInt8(ascii: "\"")]
        // The text between name and value is an equals sign and possibly a quote.
        let between =
            isQuoted
            ? Array(body.text[source.valueRange.lowerBound - 1..<source.valueRange.lowerBound]) : quote
        return Patch.Change(
            source.nameStart..<source.valueRange.upperBound, Array("srcdoc=".utf8) + between + escaped + quote
        )
    }

    /// Chromium's maximum length for the URL of a document.
    private static let maxDocumentURLBytes = 1 << 20

    /// Whether browsers render the document in standards mode. They always use that mode for `srcdoc`, where
    /// a document written for quirks mode would look different.
    private static func isStandardsMode(_ document: [UInt8]) -> Bool {
        let head = String(decoding: document.prefix(1024), as: UTF8.self).lowercased()
        return head.contains("<!doctype html>") || head.contains("about:legacy-compat")
    }

    /// Escapes a document as an attribute value that is valid in every encoding and with any quotes.
    private static func escaped(_ bytes: [UInt8], _ table: LinkTable?) -> [UInt8] {
        let encoding = table?.isTranscoded == true ? .utf8 : table?.encoding ?? .utf8
        let text = String(decoding: encoding.decode(bytes.span), as: UTF8.self)
        var escaped: [UInt8] = []
        escaped.reserveCapacity(bytes.count + bytes.count / 8)
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x26: escaped += Array("&amp;".utf8)
            case 0x22, 0x27, 0x3C, 0x0D, 0x80...: escaped += Array("&#\(scalar.value);".utf8)
            case 0: break
            default: escaped.append(UInt8(truncatingIfNeeded: scalar.value))
            }
        }
        return escaped
    }

    // MARK: - Drawings

    /// Adds the SVG drawing to the end of the document, because browsers do not use parts of a drawing from a
    /// `data:` URL. Returns false if it cannot be added, for example because its styles would apply to the
    /// whole document.
    private func insertDrawing(_ target: WebURL) throws(ArchiveError) -> Bool {
        let href = target.key.href
        if drawings.contains(where: { $0.href == href }) { return true }
        guard let resource = try resources.resource(at: target), resource.format == .svg,
            resource.body.byteCount <= limits.maxBodyBytes,
            !openURLs.contains(resource.url.href), openURLs.count < limits.maxDepth,
            let bytes = try assemble(resource, isFrame: true),
            let element = Drawing.element(of: bytes)
        else { return false }
        assets.addIncluded(resource)
        drawings.append((href, element))
        insertedByteCount += element.count
        return true
    }

    // MARK: - The document

    /// Adds the elements at the beginning and the end of the document. Frames inherit the policy of the document.
    private func finish(_ body: inout Body, isFrame: Bool) throws(ArchiveError) {
        let end = body.resource.format == .xhtml ? "/>" : ">"
        var head = ""
        if !isFrame {
            let encoding = body.table.isTranscoded ? "utf-8" : body.table.encoding.name
            head += "<meta charset=\"\(encoding)\"\(end)"
            head += "<meta http-equiv=\"Content-Security-Policy\" content=\"\(policy)\"\(end)"
            head += "<meta http-equiv=\"x-dns-prefetch-control\" content=\"off\"\(end)"
        }
        if let map = try importMap(neededBy: body) { head += "<script type=\"importmap\">\(map)</script>" }
        if let script = try answerScript(in: body) { head += "<script>\(script)</script>" }
        if !head.isEmpty, let place = body.resource.format.headOffset(in: body.text.span) {
            body.changes.append(Patch.Change(place..<place, Array(head.utf8)))
        }
        guard !drawings.isEmpty else { return }
        var text = Array(
            "<div style=\"position:absolute;width:0;height:0;overflow:hidden\" aria-hidden=\"true\">".utf8)
        for drawing in drawings { text += drawing.element }
        text += Array("</div>".utf8)
        body.changes.append(Patch.Change(body.text.count..<body.text.count, text))
    }

    /// A content security policy that allows only content of the document itself.
    private var policy: String {
        "default-src data: blob: 'unsafe-inline' 'unsafe-eval'" + (keepsScripts ? "" : "; script-src 'none'")
    }
}

/// The script that runs before all others in a page and answers their requests from the inserted content.
private enum AnswerScript {
    /// Returns the text of the script.
    ///
    /// - Parameters:
    ///   - lines: Members of an object literal that map URLs to `data:` URLs.
    ///   - base: The base URL of the page.
    static func script(_ lines: [String], at base: WebURL) -> String {
        let script = """
            (() => {
            const held = {\(lines.joined(separator: ",\n"))}, base = \(JSONText.quoted(base.href));
            const at = (url) => { try { const u = new URL(url, base); u.hash = ''; return held[u.href]; } catch {} };
            const ask = self.fetch, open = XMLHttpRequest.prototype.open;
            self.fetch = function (input, init) {
              const url = at(input instanceof Request ? input.url : input);
              return url ? ask.call(self, url) : ask.call(self, input, init);
            };
            XMLHttpRequest.prototype.open = function (method, url, ...rest) {
              return open.call(this, method, at(url) ?? url, ...rest);
            };
            for (const [type, name] of [[HTMLImageElement, 'src'], [HTMLScriptElement, 'src'], [HTMLMediaElement, 'src'],
                [HTMLSourceElement, 'src'], [HTMLLinkElement, 'href']]) {
              const own = Object.getOwnPropertyDescriptor(type.prototype, name);
              Object.defineProperty(type.prototype, name, { ...own, set(value) { own.set.call(this, at(value) ?? value); } });
            }
            })()
            """
        // The text cannot end the script element early.
        return script.replacing("</", with: "<\\/").replacing("<!--", with: "\\u003c!--")
    }
}

/// SVG drawings of which other documents use a part.
private enum Drawing {
    /// Returns the `svg` element as HTML parses it. Returns nil if it has styles or scripts, which would
    /// apply to the whole document, or content that an HTML parser would read differently.
    static func element(of bytes: [UInt8]) -> [UInt8]? {
        let lowered = bytes.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
        let start = lowered.firstRange(of: Array("<svg".utf8))
        let end = lowered.lastRange(of: Array("</svg".utf8))
        let isPlain = ["<style", "<script", "<foreignobject", "<!entity", "<svg:"].allSatisfy {
            lowered.firstRange(of: Array($0.utf8)) == nil
        }
        guard isPlain, let start, let end, start.lowerBound < end.lowerBound,
            let behind = lowered[end.upperBound...].firstIndex(of: UInt8(ascii: ">"))
        else { return nil }
        return Array(bytes[start.lowerBound...behind])
    }
}

extension [UInt8] {
    fileprivate func lastRange(of part: [UInt8]) -> Range<Int>? {
        guard count >= part.count else { return nil }
        return stride(from: count - part.count, through: 0, by: -1).first { starts(at: $0, with: part) }.map {
            $0..<$0 + part.count
        }
    }

    private func starts(at place: Int, with part: [UInt8]) -> Bool {
        self[place..<place + part.count].elementsEqual(part)
    }
}
