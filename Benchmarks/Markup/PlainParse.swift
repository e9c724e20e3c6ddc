internal import CXML2

/// Parses a whole document with libxml2's SAX parser, for comparison. It reports elements, but no byte ranges.
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
                // Errors in the document do not matter.
                _ = htmlParseChunk(parser, bytes, Int32($0.count), 1)
            }
            htmlFreeParserCtxt(parser)
        }
        return count
    }
}
