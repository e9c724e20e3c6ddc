internal import CXML2

/// libxml2's SAX parser over a whole document, for comparison: what it costs to learn the elements, without any places.
enum PlainParse {
    static func elementCount(_ body: [UInt8]) -> Int {
        var count = 0
        var handler = xmlSAXHandler()
        handler.startElement = { context, _, _ in
            context?.assumingMemoryBound(to: Int.self).pointee += 1
        }
        withUnsafeMutablePointer(to: &count) { count in
            let parser = htmlCreatePushParserCtxt(&handler, count, nil, 0, nil, XML_CHAR_ENCODING_UTF8)
            htmlCtxtUseOptions(parser, Int32(HTML_PARSE_NOERROR.rawValue | HTML_PARSE_NOWARNING.rawValue))
            body.withUnsafeBytes {
                let bytes = $0.baseAddress?.assumingMemoryBound(to: CChar.self)
                // What it thinks of the document is no matter here.
                _ = htmlParseChunk(parser, bytes, Int32($0.count), 1)
            }
            htmlFreeParserCtxt(parser)
        }
        return count
    }
}
