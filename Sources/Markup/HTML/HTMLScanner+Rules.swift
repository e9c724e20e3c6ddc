extension HTMLScanner {
    /// Adds what an attribute names, by its rule.
    func apply(_ rule: LinkRule, _ attribute: HTMLAttribute, _ tag: HTMLTag) {
        var flags = rule.flags
        if flags.contains(.hasCodebase), value(vocabulary.attribute.codebase, of: tag) == nil {
            flags.remove(.hasCodebase)
        }
        if flags.contains(.isCORS), rule.syntax != .css, !isCORS(rule, tag) { flags.remove(.isCORS) }
        if writing != nil, !rule.syntax.isOneReference { return }
        switch rule.syntax {
        case .url where rule.kind == .page:
            add(attribute, tag, isSentByScript(tag) ? .submission : .page, flags.union(endorsement(tag)))
        case .url: add(attribute, tag, rule.kind, flags)
        case .srcset: list(attribute, .srcset, rule.kind, flags, SourceSet.forEachAddress)
        case .spaceList: list(attribute, .spaceList, rule.kind, flags) { $0.forEachWord($1) }
        case .commaList: list(attribute, .commaList, rule.kind, flags, Self.forEachCommaPart)
        case .css: if mayHoldCSSLink(attribute) { css(attribute, rule.kind, adding: flags) }
        case .document:
            decoded(attribute) { HTMLScanner.scan($0, sink, isOutermost: false) }
        case .lazy: if looksLikeAddress(attribute) { add(attribute, tag, rule.kind, flags) }
        case .lazyBackground:
            if mayHoldCSSLink(attribute) {
                css(attribute, rule.kind, adding: .isLazy)
            } else if looksLikeAddress(attribute) {
                add(attribute, tag, rule.kind, flags)
            }
        case .absolute: if namesOrigin(attribute) { add(attribute, tag, rule.kind, flags) }
        case .absoluteWords:
            list(attribute, .spaceList, rule.kind, flags) { bytes, body in
                bytes.forEachWord { if ReferenceShape(bytes.part($0)) == .namesOrigin { body($0) } }
            }
        case .base: base(attribute, tag)
        case .link: if let kind = linkKind(tag) { add(attribute, tag, kind, flags) }
        case .meta: meta(attribute, tag)
        case .form: add(attribute, tag, isPost(tag) ? .submission : .form, flags)
        case .button: add(attribute, tag, isOfPost(tag) ? .submission : .form, flags)
        case .script:
            let isModule = value(vocabulary.attribute.type, of: tag)?.equals("module") ?? false
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

    /// Whether the tag says `crossorigin`, or the film or sound around it does.
    private func isCORS(_ rule: LinkRule, _ tag: HTMLTag) -> Bool {
        if value(vocabulary.attribute.crossorigin, of: tag) != nil { return true }
        // A source that is one of several pictures belongs to no film.
        let isPart = tag.name == vocabulary.element.source || tag.name == vocabulary.element.track
        return isPart && isMediaCORS && rule.kind != .image
    }

    /// The whole value is one reference.
    func add(_ attribute: HTMLAttribute, _ tag: HTMLTag, _ kind: LinkKind, _ flags: LinkFlags) {
        let range = text.bytes.trimmed(attribute.valueRange)
        guard !range.isEmpty else { return }
        if let writing { return add(written: range, kind, flags, writing) }
        if text.context.levels == 0 {
            let body = text.map(range)
            sink.add(
                attribute: body, name: text.bytes.part(attribute.nameRange), of: text.bytes.part(tag.nameRange),
                isUnquoted: attribute.quoting == .unquoted, kind, flags.union(text.flags))
        } else {
            decoded(attribute) { sink.add($0.bytes.trimmed(0..<$0.bytes.count), in: $0, kind, .plain, flags) }
        }
    }

    /// Pages are followed. That a script that could write something does so, nobody knows: what a page would need is a guess.
    private func add(written range: Range<Int>, _ kind: LinkKind, _ flags: LinkFlags, _ writing: Writing) {
        switch ScriptAddress(text.bytes.part(range)) {
        case .absolute, .rooted: break
        case .dotted, .bare: if writing == .elsewhere { return }
        }
        sink.add(range, in: text, kind, .scriptMarkup, kind.role == .requisite ? flags.union(.isGuess) : flags)
    }

    /// The value is a list of references.
    private func list(
        _ attribute: HTMLAttribute, _ inner: LinkContext.Inner, _ kind: LinkKind, _ flags: LinkFlags,
        _ forEach: (Bytes, (Range<Int>) -> Void) -> Void
    ) {
        decoded(attribute) { text in
            forEach(text.bytes) { sink.add($0, in: text, kind, inner, flags) }
        }
    }

    func decoded(_ attribute: HTMLAttribute, adding flags: LinkFlags = [], _ body: (SourceText) -> Void) {
        text.withDecoded(attribute.valueRange, isUnquoted: attribute.quoting == .unquoted, flags: flags, body)
    }

    private func css(_ attribute: HTMLAttribute, _ kind: LinkKind, adding flags: LinkFlags = []) {
        decoded(attribute, adding: flags) { CSSScanner.scan($0, sink, kind: kind) }
    }

    /// Most style attributes hold no function at all.
    private func mayHoldCSSLink(_ attribute: HTMLAttribute) -> Bool {
        let value = text.bytes.part(attribute.valueRange)
        return value.contains(UInt8(ascii: "(")) || value.contains(UInt8(ascii: "&"))
    }

    private func namesOrigin(_ attribute: HTMLAttribute) -> Bool {
        ReferenceShape(text.bytes.part(attribute.valueRange)) == .namesOrigin
    }

    /// `http:`, `https:` or two slashes.
    private func namesWebOrigin(_ attribute: HTMLAttribute) -> Bool {
        let value = text.bytes.part(text.bytes.trimmed(attribute.valueRange))
        return value.starts(with: "http://") || value.starts(with: "https://") || value.starts(with: "//")
    }

    /// No blanks and no braces, and a dot or a slash: an address rather than a setting.
    func looksLikeAddress(_ attribute: HTMLAttribute) -> Bool {
        let value = text.bytes.part(text.bytes.trimmed(attribute.valueRange))
        var hasMark = false
        for byte in value {
            switch byte {
            case 0...0x20, UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "<"): return false
            case UInt8(ascii: "."), UInt8(ascii: "/"): hasMark = true
            default: break
            }
        }
        return hasMark && value.first != UInt8(ascii: "#")
    }

    private static func forEachCommaPart(_ bytes: Bytes, _ body: (Range<Int>) -> Void) {
        var start = 0
        for end in 0...bytes.count where end == bytes.count || bytes[end] == UInt8(ascii: ",") {
            let part = bytes.trimmed(start..<end)
            if !part.isEmpty { body(part) }
            start = end + 1
        }
    }

    private func endorsement(_ tag: HTMLTag) -> LinkFlags {
        guard let rel = value(vocabulary.attribute.rel, of: tag) else { return [] }
        let words: [StaticString] = ["nofollow", "ugc", "sponsored"]
        return reading(rel) { rel in words.contains { rel.containsWord($0) } ? .isNofollow : [] }
    }

    /// A form that is sent with POST, or not sent at all.
    func isPost(_ tag: HTMLTag) -> Bool {
        guard let method = value(vocabulary.attribute.method, of: tag) else { return false }
        return reading(method, Self.namesPost)
    }

    /// A button that says so itself, or whose form does: the one around it, or another one by its name, which may be
    /// anywhere and is taken to be sent with POST.
    private func isOfPost(_ tag: HTMLTag) -> Bool {
        if let method = value(vocabulary.attribute.formmethod, of: tag) { return reading(method, Self.namesPost) }
        return value(vocabulary.attribute.form, of: tag) != nil || isInPost == true
    }

    private static func namesPost(_ method: Bytes) -> Bool { method.equals("post") || method.equals("dialog") }

    /// A link that the scripts of common frameworks send by another method than GET.
    private func isSentByScript(_ tag: HTMLTag) -> Bool {
        let names = vocabulary.attribute
        let method = value(names.dataMethod, of: tag) ?? value(names.dataTurboMethod, of: tag)
        return method.map { !$0.isEmpty && !$0.equals("get") } ?? false
    }

    /// The first `<base>` with an address is the document's base.
    private func base(_ attribute: HTMLAttribute, _ tag: HTMLTag) {
        add(attribute, tag, .base, .ignoresBase)
        guard isOutermost, sink.table.base == nil else { return }
        decoded(attribute) { text in
            let place = text.map(text.bytes.trimmed(0..<text.bytes.count))
            guard !place.isEmpty else { return }
            sink.table.base = sink.read(place, text.context)
        }
    }
}
