/// Finds the `integrity` attributes (Subresource Integrity) of a page's scripts, style sheets and preloads.
/// Use one per thread.
package final class IntegrityScanner {
    /// One attribute, with the `src` or `href` of the same tag.
    package struct Found: Hashable, Sendable {
        /// The reference as a browser reads it, before any URL parsing.
        package var reference: [UInt8]
        package var integrity: [UInt8]
    }

    private let links = LinkScanner()

    package init() {}

    /// Returns the attributes in the order of the page, and the page's own `<base href>`, decoded but not
    /// resolved.
    package func scan(_ body: Span<UInt8>) -> (base: String?, found: [Found]) {
        let table = links.scan(body, as: .html, charset: nil) { _, _ in }
        let found = table.source(of: body).map { Self.found(table, $0.span) } ?? Self.found(table, body)
        return (table.base, found)
    }

    private static func found(_ table: LinkTable, _ source: Span<UInt8>) -> [Found] {
        table.marks.filter { $0.kind == .integrity }.compactMap { mark in
            let link = table.occurrences[mark.link]
            // Markup in a script, a comment or a `srcdoc` is not part of the page itself.
            let isOfPage =
                link.context.levels == 1 && link.context.inner != .scriptMarkup
                && !link.flags.contains(.isConditional)
            guard isOfPage else { return nil }
            return Found(
                reference: table.reference(link, in: source), integrity: value(of: mark, in: source))
        }
    }

    /// Returns the decoded value of the attribute.
    package static func value(of mark: DocumentMark, in source: Span<UInt8>) -> [UInt8] {
        source.withUnsafeBufferPointer { bytes in
            var value: [UInt8] = []
            CharacterReferences.decode(
                bytes.part(HTMLAttribute.value(behind: mark.place, in: bytes)), into: &value)
            return value
        }
    }
}
