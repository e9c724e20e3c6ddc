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

    private static func splice(
        _ body: Bytes, _ table: LinkTable, _ encoding: TextEncoding, _ only: LinkFlags, _ output: inout [UInt8],
        _ replacement: (LinkOccurrence, Span<UInt8>) -> String?
    ) {
        var reader = ReferenceReader(encoding: encoding)
        var writer = ReferenceWriter(encoding: encoding)
        var copied = 0
        output.reserveCapacity(output.count + body.count + body.count / 16)
        for occurrence in table.occurrences where occurrence.flags.isSuperset(of: only) {
            let range = occurrence.range
            // A table that belongs to another body must not make this one worse.
            guard range.lowerBound >= copied, range.upperBound <= body.count else { continue }
            let replaced = reader.withReference(body.part(range), occurrence.context) { reference in
                let text = replacement(occurrence, Span(_unsafeElements: reference))
                // There are many ways to write a reference: the one that stands there is right.
                return text.flatMap { $0.isEmpty || $0.utf8.elementsEqual(reference) ? nil : $0 }
            }
            guard let replaced else { continue }
            output.append(contentsOf: body.part(copied..<range.lowerBound))
            let previous = range.lowerBound > 0 ? body[range.lowerBound - 1] : 0
            writer.write(replaced, occurrence.context, after: previous, into: &output)
            copied = range.upperBound
        }
        output.append(contentsOf: body.part(copied..<body.count))
    }
}
