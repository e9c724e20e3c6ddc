extension HTMLScanner {
    /// The words of `rel` that matter, those that decide first before the others.
    private static let relations: [(word: StaticString, kind: LinkKind)] = [
        ("stylesheet", .style), ("icon", .icon), ("apple-touch-icon", .icon), ("apple-touch-icon-precomposed", .icon),
        ("apple-touch-startup-image", .icon), ("mask-icon", .icon), ("fluid-icon", .icon), ("shortcut", .icon),
        ("manifest", .manifest), ("modulepreload", .module), ("preload", .preload), ("import", .htmlImport),
        ("serviceworker", .worker), ("compression-dictionary", .data), ("search", .search), ("prefetch", .prefetch),
        ("prerender", .prefetch), ("preconnect", .origin), ("dns-prefetch", .origin), ("canonical", .canonical),
        ("amphtml", .alternate), ("alternate", .alternate), ("next", .navigation), ("prev", .navigation),
        ("previous", .navigation), ("first", .navigation), ("last", .navigation), ("start", .navigation),
        ("up", .navigation), ("top", .navigation), ("contents", .navigation), ("toc", .navigation),
        ("index", .navigation), ("chapter", .navigation), ("section", .navigation), ("subsection", .navigation),
        ("appendix", .navigation), ("bookmark", .navigation), ("author", .about), ("license", .about),
        ("copyright", .about), ("help", .about), ("glossary", .about), ("privacy-policy", .about),
        ("terms-of-service", .about), ("pingback", .ping), ("image_src", .sharing),
    ]

    /// What `<link>` names, by its `rel`.
    func linkKind(_ tag: HTMLTag) -> LinkKind? {
        guard let rel = value(vocabulary.attribute.rel, of: tag) else { return .metadata }
        return reading(rel) { rel in
            for relation in Self.relations where rel.containsWord(relation.word) {
                return relation.kind == .preload ? preloadKind(tag) : relation.kind
            }
            return .metadata
        }
    }

    /// What a preload is used for, by `as`.
    private func preloadKind(_ tag: HTMLTag) -> LinkKind {
        guard let destination = value(vocabulary.attribute.as, of: tag) else { return .preload }
        let kinds: [(StaticString, LinkKind)] = [
            ("script", .script), ("style", .style), ("image", .image), ("font", .font), ("fetch", .data),
            ("audio", .media), ("video", .media), ("track", .track), ("worker", .worker), ("sharedworker", .worker),
            ("document", .frame), ("iframe", .frame), ("object", .embed), ("embed", .embed), ("json", .data),
            ("manifest", .manifest),
        ]
        return kinds.first { destination.equals($0.0) }?.1 ?? .preload
    }

    /// Undoes the character references of a value that only decides about a link.
    func reading<Result>(_ value: Bytes, _ body: (Bytes) -> Result) -> Result {
        guard CharacterReferences.isNeeded(value) else { return body(value) }
        var decoded: [UInt8] = []
        CharacterReferences.decode(value, into: &decoded)
        return decoded.withUnsafeBufferPointer(body)
    }
}
