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
