internal import Web

/// Finds the links of bodies, one after the other. One per thread: it reuses its libxml2 parser and its buffers.
package final class LinkScanner {
    private let sink = LinkSink(tags: TagReader())

    package init() {}

    /// Finds every link of a body. `found` gets each occurrence with its reference as a browser reads it, in the order
    /// of the body, before this returns. `charset` is what the HTTP header says.
    package func scan(
        _ body: Span<UInt8>, as format: BodyFormat, charset: String?, found: (LinkOccurrence, Span<UInt8>) -> Void
    ) -> LinkTable {
        let encoding = body.withUnsafeBufferPointer { format.encoding(of: $0, charset: charset) }
        let isTranscoded = !encoding.isASCIICompatible
        let source = isTranscoded ? encoding.decode(body) : nil
        var table = withoutActuallyEscaping(found) { found in
            if let source {
                return source.withUnsafeBufferPointer { scan($0, format, .utf8, found) }
            }
            return body.withUnsafeBufferPointer { scan($0, format, encoding, found) }
        }
        table.encoding = encoding
        table.isTranscoded = isTranscoded
        return table
    }

    /// The table of a body that is stored with this one: scanned anew where an earlier or a later larder made it.
    ///
    /// - Parameters:
    ///   - form: the body's format, and behind a semicolon the charset that its server named.
    ///   - load: gives the body; nil where its bytes are gone.
    /// - Returns: nil where what is stored is damaged.
    package func table<Failure: Error>(
        stored: [UInt8], form: String, _ load: () throws(Failure) -> [UInt8]?
    ) throws(Failure) -> LinkTable? {
        do throws(MarkupError) {
            return try LinkTable(decoding: stored.span)
        } catch {
            guard case .otherVersion = error else { return nil }
        }
        let parts = form.split(separator: ";", maxSplits: 1)
        guard let format = parts.first.flatMap({ BodyFormat(name: String($0)) }) else { return nil }
        // Nobody looked into it then, and nobody would now.
        if format == .opaque { return LinkTable() }
        guard let body = try load() else { return nil }
        return scan(body.span, as: format, charset: parts.count > 1 ? String(parts[1]) : nil) { _, _ in }
    }

    private func scan(
        _ body: Bytes, _ format: BodyFormat, _ encoding: TextEncoding,
        _ found: @escaping (LinkOccurrence, Span<UInt8>) -> Void
    ) -> LinkTable {
        sink.begin(body, encoding, found: found)
        if let masked = encoding.masked(body) {
            masked.withUnsafeBufferPointer { format.scan(SourceText($0), sink) }
        } else {
            format.scan(SourceText(body), sink)
        }
        return sink.end()
    }
}
