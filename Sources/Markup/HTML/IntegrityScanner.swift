internal import Web

/// Finds the `integrity` attributes (Subresource Integrity) of a page's scripts, style sheets and preloads.
/// One thread at a time may use a scanner.
package final class IntegrityScanner {
    /// One attribute, with the `src` or `href` of the same tag.
    package struct Attribute: Hashable, Sendable {
        /// The reference as a browser reads it, before any URL parsing.
        package var reference: [UInt8]
        package var integrity: [UInt8]
    }

    private let links = LinkScanner()

    package init() {}

    /// Returns the attributes in the order of the page, and the page's own `<base href>`, decoded but not
    /// resolved.
    package func scan(_ body: Span<UInt8>) -> (base: String?, attributes: [Attribute]) {
        let table = links.scan(body, as: .html, charset: nil) { _, _ in }
        let attributes =
            table.source(of: body).map { Self.attributes(table, $0.span) } ?? Self.attributes(table, body)
        return (table.base, attributes)
    }

    private static func attributes(_ table: LinkTable, _ source: Span<UInt8>) -> [Attribute] {
        table.marks.filter { $0.kind == .integrity }.compactMap { mark in
            let link = table.occurrences[mark.occurrence]
            // Markup in a script, a comment or a `srcdoc` is not part of the page itself.
            let isOfPage =
                link.context.levels == 1 && link.context.inner != .scriptMarkup
                && !link.flags.contains(.isConditional)
            guard isOfPage else { return nil }
            return Attribute(
                reference: table.reference(link, in: source), integrity: value(of: mark, in: source))
        }
    }

    /// Returns the decoded value of the attribute.
    package static func value(of mark: DocumentMark, in source: Span<UInt8>) -> [UInt8] {
        source.withUnsafeBufferPointer { bytes in
            var value: [UInt8] = []
            CharacterReferences.decode(
                bytes.part(HTMLAttribute.value(ofAttributeAt: mark.offset, in: bytes)), into: &value)
            return value
        }
    }

    /// Returns the ranges of an algorithm's name in the attribute: for `ed25519`, the range of `ed25519` in each word that
    /// starts with `ed25519-`. A name that is written with character references is not found.
    package static func ranges(
        ofName name: StaticString, in mark: DocumentMark, _ source: Span<UInt8>
    ) -> [Range<Int>] {
        source.withUnsafeBufferPointer { bytes in
            let value = HTMLAttribute.value(ofAttributeAt: mark.offset, in: bytes)
            let count = name.utf8CodeUnitCount
            return name.withUTF8Buffer { name in
                value.filter { start in
                    guard start == value.lowerBound || bytes[start - 1] <= 0x20,
                        start + count < value.upperBound,
                        bytes[start + count] == UInt8(ascii: "-")
                    else { return false }
                    return (0..<count).allSatisfy { bytes[start + $0].lowercasedASCII == name[$0] }
                }.map { $0..<$0 + count }
            }
        }
    }
}
