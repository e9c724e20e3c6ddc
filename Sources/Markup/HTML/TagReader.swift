internal import CXML2

/// Has one libxml2 push parser read the attributes that carry a link, many at once.
///
/// Each attribute is queued as a tag of its own, so what was read pairs with what was queued by order. A value that
/// libxml2 reads otherwise than the HTML standard says is not queued; one that it did not read as expected has no value
/// here. Both are read by ``ReferenceReader``.
final class TagReader {
    /// How an attribute's value comes to be read.
    enum Reading {
        /// As it is written: so libxml2 read another plain value of the same attribute.
        case asWritten
        /// To be had under this number after ``read()``.
        case queued(Int)
        /// Not by libxml2.
        case refused
    }

    /// Longer values are not queued.
    private static let lengthLimit = 1 << 16
    /// After so many bytes the parser is made anew: it never lets go of what it was fed.
    private static let renewal = 1 << 20

    private var parser: htmlParserCtxtPtr?
    private var fed = 0
    private var memory = TagMemory()
    private var queue = TagQueue()
    /// What was read: the values one after the other, and where each stands; nil for a tag whose attribute got lost, as
    /// those of `<head>` do.
    private var values: [UInt8] = []
    private var places: [Range<Int>?] = []

    /// libxml2's own set-up, which must not run on two threads at once.
    private static let setUp: Void = xmlInitParser()

    init() {
        Self.setUp
    }

    deinit {
        htmlFreeParserCtxt(parser)
    }

    /// Takes one attribute of a tag.
    func add(_ tag: TagMemory.Tag) -> Reading {
        let form = ValueForm(tag.value)
        if form == .plain, memory.holds(tag) { return .asWritten }
        guard tag.value.count <= Self.lengthLimit, let quote = Self.quote(for: tag.value, form) else { return .refused }
        queue.append(tag, quote: quote, isPlain: form == .plain)
        return .queued(queue.count - 1)
    }

    private enum ValueForm {
        /// Printable ASCII, in which nothing stands for anything else.
        case plain
        /// The same with ampersands.
        case hasAmpersands
        /// With control characters, or with bytes outside of ASCII.
        case other

        init(_ value: Bytes) {
            var hasOther = false
            var hasAmpersand = false
            for byte in value {
                hasOther = hasOther || byte &- 0x20 > 0x5E
                hasAmpersand = hasAmpersand || byte == UInt8(ascii: "&")
            }
            self = hasOther ? .other : hasAmpersand ? .hasAmpersands : .plain
        }
    }

    /// The quote to write around a value; nil when libxml2 would read the value otherwise than the standard says:
    /// control characters, bytes outside of ASCII (it knows one encoding at a time), and most character references.
    private static func quote(for value: Bytes, _ form: ValueForm) -> UInt8? {
        switch form {
        case .other: return nil
        case .hasAmpersands:
            for index in 0..<value.count
            where value[index] == UInt8(ascii: "&") && !isCommonReference(value, at: index) { return nil }
        case .plain: break
        }
        guard value.contains(UInt8(ascii: "\"")) else { return UInt8(ascii: "\"") }
        return value.contains(UInt8(ascii: "'")) ? nil : UInt8(ascii: "'")
    }

    /// A reference that HTML 4 and the HTML standard read alike.
    private static func isCommonReference(_ value: Bytes, at start: Int) -> Bool {
        for reference: StaticString in ["&amp;", "&lt;", "&gt;", "&quot;", "&#38;", "&#39;", "&#x27;", "&#34;"]
        where value.starts(with: reference, at: start) {
            return true
        }
        return false
    }

    /// Parses what is queued.
    func read() {
        guard queue.count > 0 else { return }
        if fed > Self.renewal { renew() }
        guard let parser = parser ?? renew() else { return }
        let bytes = queue.bytes
        fed += bytes.count
        let status = bytes.withUnsafeBytes {
            htmlParseChunk(parser, $0.baseAddress?.assumingMemoryBound(to: CChar.self), Int32($0.count), 0)
        }
        // A tag more or less than queued, or an error that is more than a complaint: the pairs cannot be trusted.
        let isBroken = status == XML_ERR_NO_MEMORY.rawValue || parser.pointee.instate == XML_PARSER_EOF
        if isBroken || places.count != queue.count {
            places.removeAll(keepingCapacity: true)
            renew()
            return
        }
        values.withUnsafeBufferPointer { values in
            for (number, place) in places.enumerated() {
                guard let place else { continue }
                queue.withPlainTag(number) { if values.part(place).isEqual(to: $0.value) { memory.remember($0) } }
            }
        }
    }

    /// Hands over what libxml2 read under a number; false when it read nothing.
    func withValue(_ number: Int, _ body: (Bytes) -> Void) -> Bool {
        guard number < places.count, let place = places[number] else { return false }
        values.withUnsafeBufferPointer { body($0.part(place)) }
        return true
    }

    /// Empties the queue and forgets the values.
    func forget() {
        queue.removeAll()
        values.removeAll(keepingCapacity: true)
        places.removeAll(keepingCapacity: true)
    }

    @discardableResult
    private func renew() -> htmlParserCtxtPtr? {
        htmlFreeParserCtxt(parser)
        fed = 0
        var handler = xmlSAXHandler()
        handler.startElement = { context, _, attributes in
            guard let context else { return }
            Unmanaged<TagReader>.fromOpaque(context).takeUnretainedValue().started(attributes)
        }
        parser = htmlCreatePushParserCtxt(
            &handler, Unmanaged.passUnretained(self).toOpaque(), nil, 0, nil, XML_CHAR_ENCODING_UTF8)
        if let parser {
            let options =
                HTML_PARSE_RECOVER.rawValue | HTML_PARSE_NOIMPLIED.rawValue | HTML_PARSE_NONET.rawValue
                | HTML_PARSE_NOERROR.rawValue | HTML_PARSE_NOWARNING.rawValue | HTML_PARSE_IGNORE_ENC.rawValue
            // What it does not know of these does not matter here.
            _ = htmlCtxtUseOptions(parser, Int32(options))
        }
        return parser
    }

    /// libxml2 calls this for each tag; the names and values are its own and gone afterwards.
    private func started(_ attributes: UnsafeMutablePointer<UnsafePointer<xmlChar>?>?) {
        guard let attributes, attributes[0] != nil, let value = attributes[1] else {
            places.append(nil)
            return
        }
        let start = values.count
        values.append(contentsOf: Bytes(start: value, count: Int(xmlStrlen(value))))
        places.append(start..<values.count)
    }
}
