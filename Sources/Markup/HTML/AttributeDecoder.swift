internal import CXML2

/// Decodes the values of attributes that contain links, with libxml2, many values in one call.
///
/// The decoder writes each queued attribute into a tag of its own. libxml2 reports the tags in the order in which
/// it parses them, so the first result belongs to the first queued attribute, and so on. A value that libxml2 would
/// decode differently from the HTML standard is not queued, and a value that libxml2 does not return has no
/// result. The caller decodes both with ``ReferenceReader``.
///
/// A call of libxml2 is expensive, and most values need no decoding: those that have only printable ASCII and no ampersand
/// are used as written.
///
/// Use it on one thread: call `add(_:)` for each attribute, then `parse()`, then `withValue(_:_:)` for each queued
/// number, then `reset()`.
final class AttributeDecoder {
    /// How the caller gets the decoded value of an attribute.
    enum ValueSource {
        /// The value needs no decoding.
        case asWritten
        /// `withValue(_:_:)` returns the value for this number after ``parse()``.
        case queued(Int)
        /// The caller decodes the value with ``ReferenceReader``.
        case unsupported
    }

    /// Longer values are not queued; ``ReferenceReader`` decodes them.
    private static let maxValueBytes = 1 << 16
    /// After this many bytes, a new parser replaces the current one, because a push parser keeps all its input in
    /// memory.
    private static let maxParserBytes = 1 << 20

    private var parser: htmlParserCtxtPtr?
    private var parsedBytes = 0
    private var queue = AttributeQueue()
    /// The bytes of all decoded values, one after the other.
    private var values: [UInt8] = []
    /// The range in `values` for each queued attribute, by number. Nil if libxml2 dropped the attribute, as it does
    /// for `<head>`.
    private var valueRanges: [Range<Int>?] = []

    /// Initializes libxml2. A static property, because Swift evaluates it only once, even if several threads use it.
    private static let initializeLibrary: Void = larder_xml_set_up()

    /// Initializes libxml2, unless this process has already done so. Other code that calls libxml2 must call this
    /// first.
    static func initializeLibraryOnce() { initializeLibrary }

    init() {
        Self.initializeLibraryOnce()
    }

    deinit {
        htmlFreeParserCtxt(parser)
    }

    /// Queues an attribute, unless its value can be used as written or libxml2 cannot decode it. Copies the bytes of
    /// the attribute.
    func add(_ attribute: LinkAttribute) -> ValueSource {
        switch ValueCharacters(attribute.value) {
        case .plain: return .asWritten
        case .other: return .unsupported
        case .hasAmpersands:
            guard attribute.value.count <= Self.maxValueBytes, let quote = Self.quote(for: attribute.value)
            else {
                return .unsupported
            }
            queue.append(attribute, quote: quote)
            return .queued(queue.count - 1)
        }
    }

    /// The kinds of characters in a value.
    private enum ValueCharacters {
        /// Only printable ASCII, and no ampersands: the value needs no decoding.
        case plain
        /// Only printable ASCII, with ampersands: the value may contain character references.
        case hasAmpersands
        /// Control characters or non-ASCII bytes. libxml2 decodes both differently from the standard: its parser has one
        /// encoding, but documents have different ones.
        case other

        init(_ value: Bytes) {
            var hasOther = false
            var hasAmpersand = false
            for byte in value {
                // True outside of 0x20...0x7E.
                hasOther = hasOther || byte &- 0x20 > 0x5E
                hasAmpersand = hasAmpersand || byte == UInt8(ascii: "&")
            }
            self = hasOther ? .other : hasAmpersand ? .hasAmpersands : .plain
        }
    }

    /// Returns the quotation mark to write around a value with ampersands. Nil if the value has a character reference that
    /// libxml2 may decode differently from the standard (see `isCommonReference`), or both quotation marks.
    private static func quote(for value: Bytes) -> UInt8? {
        for index in 0..<value.count
        where value[index] == UInt8(ascii: "&") && !isCommonReference(value, at: index) { return nil }
        guard value.contains(UInt8(ascii: "\"")) else { return UInt8(ascii: "\"") }
        return value.contains(UInt8(ascii: "'")) ? nil : UInt8(ascii: "'")
    }

    /// Whether the bytes at `start` are a character reference that libxml2, which implements HTML 4, decodes like the
    /// HTML standard. Only the most frequent ones are listed.
    private static func isCommonReference(_ value: Bytes, at start: Int) -> Bool {
        for reference: StaticString in [
            "&amp;", "&lt;", "&gt;", "&quot;", "&#38;", "&#39;", "&#x27;", "&#34;",
        ]
        where value.starts(with: reference, at: start) {
            return true
        }
        return false
    }

    /// Decodes the queued attributes. If libxml2 fails, none of them has a result.
    func parse() {
        guard queue.count > 0 else { return }
        if parsedBytes > Self.maxParserBytes { replaceParser() }
        guard let parser = parser ?? replaceParser() else { return }
        let bytes = queue.tags
        parsedBytes += bytes.count
        let status = bytes.withUnsafeBytes {
            htmlParseChunk(parser, $0.baseAddress?.assumingMemoryBound(to: CChar.self), Int32($0.count), 0)
        }
        // After an error, or if libxml2 reported more or fewer tags, it is unknown which attribute a result belongs to.
        let isBroken = status == XML_ERR_NO_MEMORY.rawValue || parser.pointee.instate == XML_PARSER_EOF
        if isBroken || valueRanges.count != queue.count {
            valueRanges.removeAll(keepingCapacity: true)
            replaceParser()
            return
        }
    }

    /// Calls `body` with the decoded value for the number of a queued attribute. Returns false if there is none. The
    /// value is valid only during the call.
    func withValue(_ number: Int, _ body: (Bytes) -> Void) -> Bool {
        guard number < valueRanges.count, let range = valueRanges[number] else { return false }
        values.withUnsafeBufferPointer { body($0.part(range)) }
        return true
    }

    /// Empties the queue and discards the values.
    func reset() {
        queue.removeAll()
        values.removeAll(keepingCapacity: true)
        valueRanges.removeAll(keepingCapacity: true)
    }

    @discardableResult
    private func replaceParser() -> htmlParserCtxtPtr? {
        htmlFreeParserCtxt(parser)
        parsedBytes = 0
        // The parser copies the handler, and `deinit` frees the parser, so that it never outlives `self`.
        var handler = xmlSAXHandler()
        handler.startElement = { context, _, attributes in
            guard let context else { return }
            Unmanaged<AttributeDecoder>.fromOpaque(context).takeUnretainedValue().didStartTag(attributes)
        }
        parser = htmlCreatePushParserCtxt(
            &handler, Unmanaged.passUnretained(self).toOpaque(), nil, 0, nil, XML_CHAR_ENCODING_UTF8)
        if let parser {
            let options =
                HTML_PARSE_RECOVER.rawValue | HTML_PARSE_NOIMPLIED.rawValue | HTML_PARSE_NONET.rawValue
                | HTML_PARSE_NOERROR.rawValue | HTML_PARSE_NOWARNING.rawValue | HTML_PARSE_IGNORE_ENC.rawValue
            // Returns the options that this version of libxml2 does not know. The decoder works without them.
            _ = htmlCtxtUseOptions(parser, Int32(options))
        }
        return parser
    }

    /// Records the value of the first attribute of a tag. libxml2 calls this for each tag. The pointers, a list of
    /// names and values in turn that ends with nil, are valid only during the call.
    private func didStartTag(_ attributes: UnsafeMutablePointer<UnsafePointer<xmlChar>?>?) {
        guard let attributes, attributes[0] != nil, let value = attributes[1] else {
            valueRanges.append(nil)
            return
        }
        let start = values.count
        values.append(contentsOf: Bytes(start: value, count: Int(xmlStrlen(value))))
        valueRanges.append(start..<values.count)
    }
}

/// One attribute of an element, with pointers into the memory of the caller.
struct LinkAttribute {
    var element: Bytes
    var name: Bytes
    /// The value as it is written in the document, without quotation marks.
    var value: Bytes
}

/// The queued attributes, written as HTML for libxml2.
struct AttributeQueue {
    /// The text to parse: one tag for each attribute.
    private(set) var tags: [UInt8] = []
    /// The number of queued attributes.
    private(set) var count = 0

    /// Appends `<element name="value" />` with the given quotation mark. The tag is self-closing, so that no element
    /// stays open.
    mutating func append(_ attribute: LinkAttribute, quote: UInt8) {
        tags.append(UInt8(ascii: "<"))
        tags.append(contentsOf: attribute.element)
        tags.append(UInt8(ascii: " "))
        tags.append(contentsOf: attribute.name)
        tags.append(UInt8(ascii: "="))
        tags.append(quote)
        tags.append(contentsOf: attribute.value)
        tags.append(quote)
        tags.append(UInt8(ascii: " "))
        tags.append(UInt8(ascii: "/"))
        tags.append(UInt8(ascii: ">"))
        count += 1
    }

    mutating func removeAll() {
        tags.removeAll(keepingCapacity: true)
        count = 0
    }
}
