internal import Web

extension HTMLScanner {
    /// What `<meta content>` names: the address of a refresh, or a picture that others show for the page.
    func meta(_ attribute: HTMLAttribute, _ tag: HTMLTag) {
        if let directive = value(vocabulary.attribute.httpEquiv, of: tag), reading(directive, { $0.equals("refresh") })
        {
            decoded(attribute) { text in
                guard let range = RefreshDirective(utf8: Span(_unsafeElements: text.bytes))?.urlRange else { return }
                sink.add(range, in: text, .refresh, .refresh)
            }
            return
        }
        if let name = value(vocabulary.attribute.name, of: tag), reading(name, Self.isForRobots) {
            return robots(attribute)
        }
        let names = [vocabulary.attribute.property, vocabulary.attribute.name, vocabulary.attribute.itemprop]
        for case let name? in names.map({ value($0, of: tag) }) {
            guard let kind = reading(name, Self.metaKind) else { continue }
            add(attribute, tag, kind, [])
            return
        }
    }

    /// Addressed to all crawlers, or to us.
    private static func isForRobots(_ name: Bytes) -> Bool { name.equals("robots") || name.equals("larder") }

    private func robots(_ attribute: HTMLAttribute) {
        guard isOutermost, !text.flags.contains(.isConditional), attribute.valueRange.count <= 1024 else { return }
        decoded(attribute) { text in
            let words = String(decoding: text.bytes, as: UTF8.self)
            sink.table.robots = sink.table.robots.map { $0.utf8.count > 4096 ? $0 : $0 + "," + words } ?? words
        }
    }

    private static func metaKind(_ name: Bytes) -> LinkKind? {
        if name.equals("og:url") || name.equals("twitter:url") { return .canonical }
        if name.starts(with: "og:") || name.starts(with: "twitter:") {
            let words: [StaticString] = [
                "og:image", "og:image:url", "og:image:secure_url", "og:audio", "og:audio:url", "og:audio:secure_url",
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
