package import Web

/// Finds the links of an HTML document by applying the table of link rules to the tags that the skimmer
/// reports.
///
/// For each attribute of a tag, ``HTMLVocabulary`` has the ``LinkRule`` of the element and attribute, if there is one.
/// The rule's syntax determines which parts of the value are references. Scripts, style sheets, `srcdoc` documents and
/// conditional comments are scanned recursively, each as a ``SourceText`` that maps its offsets to the body.
final class HTMLScanner: HTMLSkimmerDelegate {
    let sink: LinkSink
    let vocabulary = HTMLVocabulary.shared
    /// The text that is being scanned. It changes inside a conditional comment or a `srcdoc`.
    var text: SourceText
    /// Whether this is the document itself rather than one inside it. Only its `<base>` and `<title>` count.
    let isOutermost: Bool
    /// The script that writes the text, if it is markup in a string of a script; else nil. Only attributes that the
    /// string contains as a whole count then.
    let writingScript: ScriptOrigin?
    /// The format of the content of the last script.
    private var scriptFormat = BodyFormat.javaScript
    /// The data in the last script from which another script computes URLs.
    private var pageData: PageData?
    private var isStyle = true
    /// Whether the last `<video>` or `<audio>` has `crossorigin`, which also applies to its sources and
    /// tracks.
    private(set) var isMediaCORS = false
    /// Whether the open form is sent with POST; nil outside forms. Nested forms are ignored.
    private(set) var isInPost: Bool?

    /// The relation of the script that writes the markup to the document.
    enum ScriptOrigin {
        /// The script is inline, so it writes into this document.
        case inside
        /// The script is a file of its own, so its document is unknown.
        case elsewhere
    }

    init(_ text: SourceText, _ sink: LinkSink, isOutermost: Bool, writingScript: ScriptOrigin? = nil) {
        self.text = text
        self.sink = sink
        self.isOutermost = isOutermost
        self.writingScript = writingScript
    }

    /// Scans markup that a script writes into its document.
    static func scan(written text: SourceText, _ sink: LinkSink, _ writingScript: ScriptOrigin) {
        HTMLScanner(text, sink, isOutermost: false, writingScript: writingScript).skim(text)
    }

    /// Scans a document, or a part of one.
    static func scan(_ text: SourceText, _ sink: LinkSink, isXML: Bool = false, isOutermost: Bool = true) {
        let scanner = HTMLScanner(text, sink, isOutermost: isOutermost)
        scanner.skim(text, isXML)
    }

    private func skim(_ text: SourceText, _ isXML: Bool = false) {
        let outer = self.text
        self.text = text
        if var skimmer = HTMLSkimmer(text.bytes, isXML ? .xml : .html, vocabulary: vocabulary, self) {
            skimmer.skim()
            if skimmer.hasEventHandlers, !text.flags.contains(.isConditional) { sink.runsScript = true }
        }
        self.text = outer
    }

    func didFindTag(_ tag: HTMLTag) {
        if tag.name == vocabulary.element.script {
            if !text.flags.contains(.isConditional) { sink.runsScript = true }
            scriptFormat = Self.scriptFormat(value(vocabulary.attribute.type, of: tag))
            pageData = scriptFormat == .opaque ? PageData(tag: text.bytes.part(tag.range)) : nil
            if scriptFormat == .javaScript { noteLoader(tag) }
        } else if tag.name == vocabulary.element.style {
            let type = value(vocabulary.attribute.type, of: tag)
            isStyle = type.map { $0.isEmpty || $0.starts(with: "text/css") } ?? true
        } else if tag.name == vocabulary.element.video || tag.name == vocabulary.element.audio {
            isMediaCORS = value(vocabulary.attribute.crossorigin, of: tag) != nil
        } else if tag.name == vocabulary.element.form, isInPost == nil {
            isInPost = isPost(tag)
        } else if tag.name == vocabulary.element.img {
            handleToggleImage(tag)
        }
        var seen = NameSet()
        for attribute in tag.attributes {
            guard let rule = vocabulary.rule(tag.namespace, tag.name, attribute.name) else { continue }
            // The first of several attributes with the same name counts.
            if seen.insert(attribute.name) { apply(rule, attribute, tag) }
        }
    }

    func didFindContent(_ range: Range<Int>, of name: UInt8, _ form: HTMLContentForm) {
        guard writingScript == nil else { return }
        // The content of these elements is markup for browsers without frames or plugins.
        if form == .raw, name == vocabulary.element.noframes || name == vocabulary.element.noembed {
            return skim(text.part(range))
        }
        if name == vocabulary.element.title {
            if isOutermost, sink.table.title == nil { sink.table.title = title(range) }
            return
        }
        let format: BodyFormat
        if name == vocabulary.element.script {
            format = scriptFormat
        } else if name == vocabulary.element.style, isStyle {
            format = .css
        } else {
            return
        }
        if let pageData, form == .raw, name == vocabulary.element.script {
            sink.addImplied(pageData.links(of: text.bytes.part(range), in: text.bytes))
        }
        if format == .opaque, form == .raw, pageData != .material {
            sink.addImplied(PageData.files(in: text.bytes.part(range)))
        }
        if format == .javaScript, form == .raw {
            sink.addImplied(PageData.appRouterFiles(in: text.bytes.part(range), of: text.bytes))
        }
        switch form {
        case .raw: scan(text.part(range), as: format)
        case .text: text.withDecoded(range) { scan($0, as: format) }
        }
    }

    /// Scans a script or a style sheet of the document.
    private func scan(_ content: SourceText, as format: BodyFormat) {
        format.scan(content, sink)
        guard format == .javaScript, !content.flags.contains(.isConditional) else { return }
        sink.inlineNames.add(content.bytes)
    }

    func didFindComment(_ range: Range<Int>) {
        // Conditional comments do not nest; what looks like a nested one is a comment without an end.
        guard writingScript == nil, !text.flags.contains(.isConditional) else { return }
        let bytes = text.bytes.part(range)
        // `<!--[if lt IE 9]> … <![endif]-->` is markup to old browsers.
        guard bytes.starts(with: "[if"), let open = bytes.firstIndex(of: "]>") else { return }
        let end = bytes.firstIndex(of: "<![endif]", from: open) ?? bytes.count
        let inside = range.lowerBound + open + 2..<range.lowerBound + max(end, open + 2)
        skim(text.part(inside, adding: .isConditional))
    }

    func didFindEndOfForm() { isInPost = nil }

    /// Returns the value of another attribute of the same tag, as written.
    func value(_ name: UInt8, of tag: HTMLTag) -> Bytes? {
        guard let attribute = tag.attributes.first(where: { $0.name == name }) else { return nil }
        return text.bytes.part(text.bytes.trimmed(attribute.valueRange))
    }

    private static func scriptFormat(_ type: Bytes?) -> BodyFormat {
        guard let type, !type.isEmpty else { return .javaScript }
        if isModule(type) { return .javaScript }
        let maps: [StaticString] = ["importmap", "importmap-shim", "systemjs-importmap"]
        if maps.contains(where: { type.equals($0) }) { return .importMap }
        if type.equals("speculationrules") { return .speculationRules }
        if type.equals("application/ld+json") { return .jsonLD }
        let essence = type.part(0..<(type.firstIndex(of: UInt8(ascii: ";")) ?? type.count))
        return BodyFormat.isJavaScript(essence) ? .javaScript : .opaque
    }

    /// Whether the type is that of a module, including those of loaders that emulate native modules.
    private static func isModule(_ type: Bytes) -> Bool {
        type.equals("module") || type.equals("module-shim") || type.equals("systemjs-module")
    }

    /// Adds notes for the module loader that a `<script>` element configures or loads.
    private func noteLoader(_ tag: HTMLTag) {
        guard writingScript == nil, !text.flags.contains(.isConditional) else { return }
        sink.loadsScript = true
        if let main = value(vocabulary.attribute.dataMain, of: tag), main.count <= LoaderNote.maxBytes {
            sink.addNotes([
                LoaderNote(.main, withReferencesDecoded(main) { String(decoding: $0, as: UTF8.self) })
            ])
        }
        guard let source = value(vocabulary.attribute.src, of: tag) else { return }
        let name = source.part((source.lastIndex(of: UInt8(ascii: "/")) ?? -1) + 1..<source.count)
        if name.starts(with: "require.") || name.starts(with: "requirejs") || name.starts(with: "require-") {
            sink.addNotes([LoaderNote(.loader, "")])
        }
    }

    /// Handles `<img src="_static/minus.png" class="toggler">`. The script that collapses the content after
    /// it replaces the image by the `plus` image in the same folder.
    private func handleToggleImage(_ tag: HTMLTag) {
        guard let source = value(vocabulary.attribute.src, of: tag), source.count <= 1024 else { return }
        let name = (source.lastIndex(of: UInt8(ascii: "/")) ?? -1) + 1
        let isMinus = source.starts(with: "minus.", at: name)
        guard isMinus || source.starts(with: "plus.", at: name),
            text.bytes.part(tag.range).firstIndex(of: "toggle") != nil
        else { return }
        let address = withReferencesDecoded(source) { String(decoding: $0, as: UTF8.self) }
        let file = address.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).last
        let ending = file.map { String(Substring($0)).drop { $0 != "." } } ?? ""
        let folder = address.dropLast(file?.count ?? 0)
        sink.addImplied([ImpliedLink("\(folder)\(isMinus ? "plus" : "minus")\(ending)", .image, .isGuess)])
    }

    /// Returns the title with white space collapsed and character references decoded, cut to 256 bytes of
    /// whole characters.
    private func title(_ range: Range<Int>) -> String? {
        let beginning = range.lowerBound..<min(range.upperBound, range.lowerBound + 4096)
        var title = ""
        for word in sink.read(text.map(beginning), .attribute).utf8.split(whereSeparator: \.isSpace) {
            if !title.isEmpty { title.append(" ") }
            title.append(contentsOf: String(Substring(word)))
            if title.utf8.count > 256 { break }
        }
        while title.utf8.count > 256 { title.unicodeScalars.removeLast() }
        return title.isEmpty ? nil : title
    }

    // MARK: - Attributes

    /// Adds the links in the value of an attribute, by its rule.
    func apply(_ rule: LinkRule, _ attribute: HTMLAttribute, _ tag: HTMLTag) {
        var flags = rule.flags
        if flags.contains(.hasCodebase), value(vocabulary.attribute.codebase, of: tag) == nil {
            flags.remove(.hasCodebase)
        }
        if flags.contains(.isCORS), rule.syntax != .css, !isCORS(rule, tag) { flags.remove(.isCORS) }
        if writingScript != nil, !rule.syntax.isOneReference, !rule.syntax.isMark { return }
        switch rule.syntax {
        case .url where rule.kind == .page:
            add(attribute, tag, isSentByScript(tag) ? .submission : .page, flags.union(endorsement(tag)))
        case .url: add(attribute, tag, rule.kind, flags)
        case .srcset: addList(attribute, .srcset, rule.kind, flags, SourceSet.forEachURL)
        case .spaceList: addList(attribute, .spaceList, rule.kind, flags) { $0.forEachWord($1) }
        case .commaList: addList(attribute, .commaList, rule.kind, flags, Self.forEachCommaPart)
        case .css: if mayContainCSSLink(attribute) { scanCSS(attribute, rule.kind, adding: flags) }
        case .document:
            withDecoded(attribute) { HTMLScanner.scan($0, sink, isOutermost: false) }
        case .lazy: if looksLikeURL(attribute) { add(attribute, tag, rule.kind, flags) }
        case .lazyBackground:
            if containsFunction(attribute) {
                scanCSS(attribute, rule.kind, adding: .isLazy)
            } else if looksLikeURL(attribute) {
                add(attribute, tag, rule.kind, flags)
            }
        case .absolute: if namesOrigin(attribute) { add(attribute, tag, rule.kind, flags) }
        case .absoluteWords:
            addList(attribute, .spaceList, rule.kind, flags) { bytes, body in
                bytes.forEachWord { if ReferenceShape(bytes.part($0)) == .namesOrigin { body($0) } }
            }
        case .integrity: sink.addMark(.integrity, attribute.nameRange, in: text, tag: tag.range)
        case .referrerPolicy: sink.addMark(.referrerPolicy, attribute.nameRange, in: text)
        case .pragma: sink.markPolicy(in: attribute.valueRange, of: text)
        case .metaName: sink.markReferrer(in: attribute.valueRange, of: text)
        case .base: addBase(attribute, tag)
        case .link: if let kind = linkKind(tag) { add(attribute, tag, kind, flags) }
        case .meta: addMeta(attribute, tag)
        case .form: add(attribute, tag, isPost(tag) ? .submission : .form, flags)
        case .button: add(attribute, tag, isButtonOfPost(tag) ? .submission : .form, flags)
        case .script:
            let isModule = value(vocabulary.attribute.type, of: tag).map(Self.isModule) ?? false
            add(attribute, tag, isModule ? .module : rule.kind, flags)
        case .input:
            if value(vocabulary.attribute.type, of: tag)?.equals("image") ?? false {
                add(attribute, tag, rule.kind, flags)
            }
        case .parameter:
            let isReference = value(vocabulary.attribute.valuetype, of: tag)?.equals("ref") ?? false
            if isReference || namesWebOrigin(attribute) { add(attribute, tag, rule.kind, flags) }
        }
    }

    /// Whether the tag or the `<video>` or `<audio>` around it has `crossorigin`.
    private func isCORS(_ rule: LinkRule, _ tag: HTMLTag) -> Bool {
        if value(vocabulary.attribute.crossorigin, of: tag) != nil { return true }
        // A source of an image is part of a `<picture>`, not of a video.
        let isPart = tag.name == vocabulary.element.source || tag.name == vocabulary.element.track
        return isPart && isMediaCORS && rule.kind != .image
    }

    /// Adds the whole value as one reference.
    func add(_ attribute: HTMLAttribute, _ tag: HTMLTag, _ kind: LinkKind, _ flags: LinkFlags) {
        let range = text.bytes.trimmed(attribute.valueRange)
        guard !range.isEmpty else { return }
        if let writingScript { return add(written: range, kind, flags, writingScript) }
        if text.context.levels == 0 {
            let body = text.map(range)
            sink.addAttribute(
                body, name: text.bytes.part(attribute.nameRange),
                of: text.bytes.part(tag.nameRange),
                isUnquoted: attribute.quoting == .unquoted, kind, flags.union(text.flags))
        } else {
            withDecoded(attribute) {
                sink.add($0.bytes.trimmed(0..<$0.bytes.count), in: $0, kind, .plain, flags)
            }
        }
    }

    /// Adds a reference in markup that a script writes. Links to pages are ordinary links; assets are
    /// guesses, since it is unknown whether the script writes the markup at all.
    private func add(
        written range: Range<Int>, _ kind: LinkKind, _ flags: LinkFlags, _ writingScript: ScriptOrigin
    ) {
        switch ScriptURLForm(text.bytes.part(range)) {
        case .absolute, .rooted: break
        case .dotted, .bare: if writingScript == .elsewhere { return }
        }
        sink.add(
            range, in: text, kind, .scriptMarkup, kind.role == .asset ? flags.union(.isGuess) : flags)
    }

    /// Adds each reference in a list.
    private func addList(
        _ attribute: HTMLAttribute, _ inner: LinkContext.Inner, _ kind: LinkKind, _ flags: LinkFlags,
        _ forEach: (Bytes, (Range<Int>) -> Void) -> Void
    ) {
        withDecoded(attribute) { text in
            forEach(text.bytes) { sink.add($0, in: text, kind, inner, flags) }
        }
    }

    func withDecoded(_ attribute: HTMLAttribute, adding flags: LinkFlags = [], _ body: (SourceText) -> Void) {
        text.withDecoded(attribute.valueRange, isUnquoted: attribute.quoting == .unquoted, flags: flags, body)
    }

    private func scanCSS(_ attribute: HTMLAttribute, _ kind: LinkKind, adding flags: LinkFlags = []) {
        withDecoded(attribute, adding: flags) { CSSScanner.scan($0, sink, kind: kind) }
    }

    /// Whether a style attribute may contain a link. Most contain no function.
    private func mayContainCSSLink(_ attribute: HTMLAttribute) -> Bool {
        let value = text.bytes.part(attribute.valueRange)
        return value.contains(UInt8(ascii: "(")) || value.contains(UInt8(ascii: "&"))
    }

    /// Whether the value is CSS with a function, rather than a URL. The value is decoded, as a URL may
    /// contain a `&`.
    private func containsFunction(_ attribute: HTMLAttribute) -> Bool {
        withReferencesDecoded(text.bytes.part(attribute.valueRange)) { $0.contains(UInt8(ascii: "(")) }
    }

    private func namesOrigin(_ attribute: HTMLAttribute) -> Bool {
        ReferenceShape(text.bytes.part(attribute.valueRange)) == .namesOrigin
    }

    /// Whether the value starts with `http:`, `https:` or two slashes.
    private func namesWebOrigin(_ attribute: HTMLAttribute) -> Bool {
        let value = text.bytes.part(text.bytes.trimmed(attribute.valueRange))
        return value.starts(with: "http://") || value.starts(with: "https://") || value.starts(with: "//")
    }

    /// Whether the value looks like a URL rather than a setting: a dot or a slash, and no spaces or braces.
    private func looksLikeURL(_ attribute: HTMLAttribute) -> Bool {
        let value = text.bytes.part(text.bytes.trimmed(attribute.valueRange))
        var hasDotOrSlash = false
        for byte in value {
            switch byte {
            case 0...0x20, UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "<"): return false
            case UInt8(ascii: "."), UInt8(ascii: "/"): hasDotOrSlash = true
            default: break
            }
        }
        return hasDotOrSlash && value.first != UInt8(ascii: "#")
    }

    private static func forEachCommaPart(_ bytes: Bytes, _ body: (Range<Int>) -> Void) {
        var start = 0
        for end in 0...bytes.count where end == bytes.count || bytes[end] == UInt8(ascii: ",") {
            let part = bytes.trimmed(start..<end)
            if !part.isEmpty { body(part) }
            start = end + 1
        }
    }

    /// Returns `isNofollow` if the `rel` of a link says that the page does not endorse its target.
    private func endorsement(_ tag: HTMLTag) -> LinkFlags {
        guard let rel = value(vocabulary.attribute.rel, of: tag) else { return [] }
        let words: [StaticString] = ["nofollow", "ugc", "sponsored"]
        return withReferencesDecoded(rel) { rel in words.contains { rel.containsWord($0) } ? .isNofollow : []
        }
    }

    /// Whether a form is sent with POST, or not sent at all.
    private func isPost(_ tag: HTMLTag) -> Bool {
        guard let method = value(vocabulary.attribute.method, of: tag) else { return false }
        return withReferencesDecoded(method, Self.namesPost)
    }

    /// Whether a button's form is sent with POST: by the button's own `formmethod`, or by the form around it.
    /// A form that the button names may be anywhere, so it is assumed to be sent with POST.
    private func isButtonOfPost(_ tag: HTMLTag) -> Bool {
        if let method = value(vocabulary.attribute.formmethod, of: tag) {
            return withReferencesDecoded(method, Self.namesPost)
        }
        return value(vocabulary.attribute.form, of: tag) != nil || isInPost == true
    }

    private static func namesPost(_ method: Bytes) -> Bool {
        method.equals("post") || method.equals("dialog")
    }

    /// Whether a script of a common framework sends the link with a method other than GET.
    private func isSentByScript(_ tag: HTMLTag) -> Bool {
        let names = vocabulary.attribute
        let method = value(names.dataMethod, of: tag) ?? value(names.dataTurboMethod, of: tag)
        return method.map { !$0.isEmpty && !$0.equals("get") } ?? false
    }

    /// Adds the URL of a `<base>`. The first one that is not empty is the document's base.
    private func addBase(_ attribute: HTMLAttribute, _ tag: HTMLTag) {
        add(attribute, tag, .base, .ignoresBase)
        guard isOutermost, sink.table.base == nil else { return }
        withDecoded(attribute) { text in
            let range = text.map(text.bytes.trimmed(0..<text.bytes.count))
            guard !range.isEmpty else { return }
            sink.table.base = sink.read(range, text.context)
        }
    }

    // MARK: - <link>

    /// The relevant words of `rel`, in the order of precedence.
    private static let relations: [(word: StaticString, kind: LinkKind)] = [
        ("stylesheet", .style), ("icon", .icon), ("apple-touch-icon", .icon),
        ("apple-touch-icon-precomposed", .icon),
        ("apple-touch-startup-image", .icon), ("mask-icon", .icon), ("fluid-icon", .icon),
        ("shortcut", .icon),
        ("manifest", .manifest), ("modulepreload", .module), ("preload", .preload), ("import", .htmlImport),
        ("serviceworker", .worker), ("compression-dictionary", .data), ("search", .search),
        ("prefetch", .prefetch),
        ("prerender", .prefetch), ("preconnect", .origin), ("dns-prefetch", .origin),
        ("canonical", .canonical),
        ("amphtml", .alternate), ("alternate", .alternate), ("next", .navigation), ("prev", .navigation),
        ("previous", .navigation), ("first", .navigation), ("last", .navigation), ("start", .navigation),
        ("up", .navigation), ("top", .navigation), ("contents", .navigation), ("toc", .navigation),
        ("index", .navigation), ("chapter", .navigation), ("section", .navigation),
        ("subsection", .navigation),
        ("appendix", .navigation), ("bookmark", .navigation), ("author", .about), ("license", .about),
        ("copyright", .about), ("help", .about), ("glossary", .about), ("privacy-policy", .about),
        ("terms-of-service", .about), ("pingback", .ping), ("image_src", .sharing),
    ]

    /// Returns the kind of a `<link>` by its `rel`.
    func linkKind(_ tag: HTMLTag) -> LinkKind? {
        guard let rel = value(vocabulary.attribute.rel, of: tag) else { return .metadata }
        return withReferencesDecoded(rel) {
            Self.linkKind(rel: $0, as: value(vocabulary.attribute.as, of: tag))
        }
    }

    /// Returns the kind of a link by its relations.
    ///
    /// - Parameter destination: The `as` value of a preload.
    fileprivate static func linkKind(rel: Bytes, as destination: Bytes?) -> LinkKind {
        for relation in relations where rel.containsWord(relation.word) {
            return relation.kind == .preload ? preloadKind(destination) : relation.kind
        }
        return .metadata
    }

    private static func preloadKind(_ destination: Bytes?) -> LinkKind {
        guard let destination else { return .preload }
        let kinds: [(StaticString, LinkKind)] = [
            ("script", .script), ("style", .style), ("image", .image), ("font", .font), ("fetch", .data),
            ("audio", .media), ("video", .media), ("track", .track), ("worker", .worker),
            ("sharedworker", .worker),
            ("document", .frame), ("iframe", .frame), ("object", .embed), ("embed", .embed), ("json", .data),
            ("manifest", .manifest),
        ]
        return kinds.first { destination.equals($0.0) }?.1 ?? .preload
    }

    /// Calls `body` with a value whose character references are decoded. For values that are not links
    /// themselves.
    func withReferencesDecoded<Result>(_ value: Bytes, _ body: (Bytes) -> Result) -> Result {
        guard CharacterReferences.mayBeIn(value) else { return body(value) }
        var decoded: [UInt8] = []
        CharacterReferences.decode(value, into: &decoded)
        return decoded.withUnsafeBufferPointer(body)
    }

    // MARK: - <meta>

    /// Adds the URL in a `<meta content>`: that of a refresh, or of an image that sharing services show for
    /// the page.
    func addMeta(_ attribute: HTMLAttribute, _ tag: HTMLTag) {
        if let directive = value(vocabulary.attribute.httpEquiv, of: tag),
            withReferencesDecoded(directive, { $0.equals("refresh") })
        {
            withDecoded(attribute) { text in
                guard let range = RefreshDirective(utf8: Span(_unsafeElements: text.bytes))?.urlRange else {
                    return
                }
                sink.add(range, in: text, .refresh, .refresh)
            }
            return
        }
        if let name = value(vocabulary.attribute.name, of: tag), withReferencesDecoded(name, Self.isForRobots)
        {
            return addRobots(attribute)
        }
        let names = [vocabulary.attribute.property, vocabulary.attribute.name, vocabulary.attribute.itemprop]
        for case let name? in names.map({ value($0, of: tag) }) {
            guard let kind = withReferencesDecoded(name, Self.metaKind) else { continue }
            add(attribute, tag, kind, [])
            return
        }
    }

    /// Whether the name addresses all crawlers, or Larder.
    private static func isForRobots(_ name: Bytes) -> Bool { name.equals("robots") || name.equals("larder") }

    /// Appends the directives of a `<meta name=robots>` to those of the table.
    private func addRobots(_ attribute: HTMLAttribute) {
        guard isOutermost, !text.flags.contains(.isConditional), attribute.valueRange.count <= 1024 else {
            return
        }
        withDecoded(attribute) { text in
            let words = String(decoding: text.bytes, as: UTF8.self)
            sink.table.robots =
                sink.table.robots.map { $0.utf8.count > 4096 ? $0 : $0 + "," + words } ?? words
        }
    }

    /// Returns the kind of URL in a `<meta>` with this name; nil if it contains none.
    private static func metaKind(_ name: Bytes) -> LinkKind? {
        if name.equals("og:url") || name.equals("twitter:url") { return .canonical }
        if name.starts(with: "og:") || name.starts(with: "twitter:") {
            let words: [StaticString] = [
                "og:image", "og:image:url", "og:image:secure_url", "og:audio", "og:audio:url",
                "og:audio:secure_url",
                "og:video", "og:video:url", "og:video:secure_url", "twitter:image", "twitter:image:src",
                "twitter:player", "twitter:player:stream",
            ]
            return words.contains { name.equals($0) } ? .sharing : nil
        }
        let words: [StaticString] = [
            "thumbnail", "thumbnailurl", "image", "contenturl", "embedurl", "msapplication-config",
            "msapplication-tileimage", "msapplication-square70x70logo", "msapplication-square150x150logo",
            "msapplication-wide310x150logo", "msapplication-square310x310logo",
        ]
        return words.contains { name.equals($0) } ? .sharing : nil
    }
}

/// The links in the headers of a response, which correspond to `<link>` and `<meta>` elements.
package enum HeadLinks {
    /// Returns the links of the `Link` and `Refresh` headers, in that order, with the references as written.
    /// Omits links with an `anchor`, since those belong to another resource.
    package static func all(of fields: HTTPFields) -> [(reference: String, kind: LinkKind, isCORS: Bool)] {
        var links: [(String, LinkKind, Bool)] = []
        for value in fields.all("Link") {
            for link in LinkField.parse(value) where link.anchor == nil {
                let rel = Array(link.relations.joined(separator: " ").utf8)
                let kind = rel.withUnsafeBufferPointer { rel in
                    guard let destination = link["as"] else { return HTMLScanner.linkKind(rel: rel, as: nil) }
                    return Array(destination.utf8).withUnsafeBufferPointer {
                        HTMLScanner.linkKind(rel: rel, as: $0)
                    }
                }
                links.append((link.target, kind, kind.isCORS(link["crossorigin"] == nil ? [] : .isCORS)))
            }
        }
        if let url = fields["Refresh"].flatMap({ RefreshDirective($0) })?.url {
            links.append((url, .refresh, false))
        }
        return links
    }
}

/// A parser of `srcset` that follows the HTML standard, except that it keeps candidates with unknown
/// descriptors, because other browsers may support them.
enum SourceSet {
    /// Calls `body` with the range of each candidate's URL.
    static func forEachURL(_ bytes: Bytes, _ body: (Range<Int>) -> Void) {
        let comma = UInt8(ascii: ",")
        var index = 0
        while true {
            while index < bytes.count, bytes[index].isSpace || bytes[index] == comma { index += 1 }
            guard index < bytes.count else { return }
            let start = index
            while index < bytes.count, !bytes[index].isSpace { index += 1 }
            var end = index
            while end > start, bytes[end - 1] == comma { end -= 1 }
            body(start..<end)
            if end == index { index = descriptorsEnd(bytes, from: index) }
        }
    }

    /// Returns the offset of the first comma after the descriptors that is not in parentheses, or the end.
    private static func descriptorsEnd(_ bytes: Bytes, from start: Int) -> Int {
        var isInParentheses = false
        var index = start
        // Parentheses do not nest here.
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: ","): if !isInParentheses { return index }
            case UInt8(ascii: "("): isInParentheses = true
            case UInt8(ascii: ")"): isInParentheses = false
            default: break
            }
            index += 1
        }
        return index
    }
}
