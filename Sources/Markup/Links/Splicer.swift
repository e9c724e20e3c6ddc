internal import Web

/// Copies a body with some of its references replaced. Every byte outside of them stays as it is.
package struct Splicer {
    /// Appends the body to `output`, each reference replaced by what `replacement` makes of it.
    ///
    /// `replacement` gets the occurrence and its reference as a browser reads it; nil, nothing or that same reference keeps
    /// the bytes as they stand. What it returns is escaped for the place. Only occurrences with all the flags of `only` are read and
    /// asked about, so the cost of serving a page is that of copying it and of its few links to other origins. A body
    /// whose table ``LinkTable/isTranscoded`` comes out in UTF-8.
    package static func splice(
        _ body: Span<UInt8>, _ table: LinkTable, only: LinkFlags = [], into output: inout [UInt8],
        replacement: (LinkOccurrence, Span<UInt8>) -> String?
    ) {
        if let source = table.source(of: body) {
            source.withUnsafeBufferPointer { splice($0, table, .utf8, only, &output, replacement) }
        } else {
            body.withUnsafeBufferPointer { splice($0, table, table.encoding, only, &output, replacement) }
        }
    }

    /// What `splice` would replace, in order, and by what, for a body that is copied in pieces. The body must not be
    /// transcoded.
    package static func edits(
        _ body: Span<UInt8>, _ table: LinkTable, only: LinkFlags = [],
        replacement: (LinkOccurrence, Span<UInt8>) -> String?
    ) -> [(range: Range<Int>, text: [UInt8])] {
        var edits: [(range: Range<Int>, text: [UInt8])] = []
        body.withUnsafeBufferPointer { body in
            var writer = ReferenceWriter(encoding: table.encoding)
            eachReplacement(body, table, table.encoding, only, replacement) { occurrence, replaced in
                var text: [UInt8] = []
                writer.write(replaced, occurrence.context, after: previous(occurrence, body), into: &text)
                edits.append((occurrence.range, text))
            }
        }
        return edits
    }

    private static func splice(
        _ body: Bytes, _ table: LinkTable, _ encoding: TextEncoding, _ only: LinkFlags, _ output: inout [UInt8],
        _ replacement: (LinkOccurrence, Span<UInt8>) -> String?
    ) {
        var writer = ReferenceWriter(encoding: encoding)
        var copied = 0
        output.reserveCapacity(output.count + body.count + body.count / 16)
        eachReplacement(body, table, encoding, only, replacement) { occurrence, replaced in
            output.append(contentsOf: body.part(copied..<occurrence.range.lowerBound))
            writer.write(replaced, occurrence.context, after: previous(occurrence, body), into: &output)
            copied = occurrence.range.upperBound
        }
        output.append(contentsOf: body.part(copied..<body.count))
    }

    private static func previous(_ occurrence: LinkOccurrence, _ body: Bytes) -> UInt8 {
        occurrence.range.lowerBound > 0 ? body[occurrence.range.lowerBound - 1] : 0
    }

    private static func eachReplacement(
        _ body: Bytes, _ table: LinkTable, _ encoding: TextEncoding, _ only: LinkFlags,
        _ replacement: (LinkOccurrence, Span<UInt8>) -> String?, take: (LinkOccurrence, String) -> Void
    ) {
        var reader = ReferenceReader(encoding: encoding)
        var end = 0
        for occurrence in table.occurrences where occurrence.flags.isSuperset(of: only) {
            let range = occurrence.range
            // A table that belongs to another body must not make this one worse.
            guard range.lowerBound >= end, range.upperBound <= body.count else { continue }
            let replaced = reader.withReference(body.part(range), occurrence.context) { reference in
                let text = replacement(occurrence, Span(_unsafeElements: reference))
                // There are many ways to write a reference: the one that stands there is right.
                return text.flatMap { $0.isEmpty || $0.utf8.elementsEqual(reference) ? nil : $0 }
            }
            guard let replaced else { continue }
            take(occurrence, replaced)
            end = range.upperBound
        }
    }
}
