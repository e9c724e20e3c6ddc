internal import CXML2
internal import Glibc

/// Decodes the values of attributes that contain links, with libxml2, many values in one call.
///
/// The decoder writes each queued attribute into a tag of its own. libxml2 reports the tags in the order in which
/// it parses them, so the first result belongs to the first queued attribute, and so on. A value that libxml2 would
/// decode differently from the HTML standard is not queued, and a value that libxml2 does not return has no
/// result. The caller decodes both with ``ReferenceReader``.
///
/// A call of libxml2 is expensive, so most values skip it. A value is *plain* if it has only printable ASCII and no
/// ampersand. Once libxml2 has returned one plain value of an attribute unchanged, all further plain values of the
/// same attribute and element are used as written.
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
        /// The caller must decode the value without libxml2.
        case unsupported
    }

    /// Longer values are not queued; ``ReferenceReader`` decodes them.
    private static let maxValueBytes = 1 << 16
    /// After this many bytes, a new parser replaces the current one, because a push parser keeps all its input in
    /// memory.
    private static let maxParserBytes = 1 << 20

    private var parser: htmlParserCtxtPtr?
    private var parsedBytes = 0
    private var unchangedAttributes = UnchangedAttributes()
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
        let characters = ValueCharacters(attribute.value)
        if characters == .plain, unchangedAttributes.contains(attribute) { return .asWritten }
        guard attribute.value.count <= Self.maxValueBytes,
            let quote = Self.quote(for: attribute.value, characters)
        else {
            return .unsupported
        }
        queue.append(attribute, quote: quote, isPlain: characters == .plain)
        return .queued(queue.count - 1)
    }

    /// The kinds of characters in a value.
    private enum ValueCharacters {
        /// Only printable ASCII, and no ampersands.
        case plain
        /// Only printable ASCII, with ampersands: the value may contain character references.
        case hasAmpersands
        /// Control characters or non-ASCII bytes.
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

    /// Returns the quotation mark to write around a value. Nil if libxml2 would decode the value differently from the
    /// standard, or if the value contains both quotation marks. libxml2 differs for control characters, for non-ASCII
    /// bytes (a parser has one encoding, but documents have different ones), and for most character references.
    private static func quote(for value: Bytes, _ characters: ValueCharacters) -> UInt8? {
        switch characters {
        case .other: return nil
        case .hasAmpersands:
            for index in 0..<value.count
            where value[index] == UInt8(ascii: "&") && !isCommonReference(value, at: index) { return nil }
        case .plain: break
        }
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
        values.withUnsafeBufferPointer { values in
            for (number, range) in valueRanges.enumerated() {
                guard let range else { continue }
                queue.withPlainAttribute(number) {
                    if values.part(range).isEqual(to: $0.value) { unchangedAttributes.insert($0) }
                }
            }
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
            // The result has the options that this libxml2 does not know. The decoder works without them.
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

/// A set of attributes, by their own name and that of their element, of which libxml2 returned a plain value
/// unchanged. Whether libxml2 drops an attribute depends only on these names, so it returns all plain values of
/// such an attribute unchanged.
///
/// In the Python documentation and in rustdoc's pages for `std`, libxml2 needs to decode only 1 of 100 link
/// attributes. The set is a hash table of fixed size without probing, because a look-up must be faster than a
/// call of libxml2. An attribute replaces another one with the same hash, which is then decoded once more.
struct UnchangedAttributes: ~Copyable {
    /// One slot for each value of the 8 bits that `slotIndex` takes from the hash.
    private static let slotCount = 256
    /// A slot has the length of the element's name, the length of the attribute's name, and both names. Longer
    /// names are not stored.
    private static let slotBytes = 32
    /// The size of the two lengths, one byte each.
    private static let headerBytes = 2

    private let slots: UnsafeMutableRawPointer

    init() {
        slots = .allocate(byteCount: Self.slotCount * Self.slotBytes, alignment: 64)
        slots.initializeMemory(as: UInt8.self, repeating: 0, count: Self.slotCount * Self.slotBytes)
    }

    deinit {
        slots.deallocate()
    }

    private static func fits(_ attribute: LinkAttribute) -> Bool {
        headerBytes + attribute.element.count + attribute.name.count <= slotBytes
    }

    private static func slotIndex(of attribute: LinkAttribute) -> Int {
        Int(truncatingIfNeeded: attribute.name.hash(attribute.element.hash(0)) >> 56)
    }

    /// Whether the names are in the set. An empty slot matches no attribute, because its lengths are 0 and every
    /// element has a name.
    func contains(_ attribute: LinkAttribute) -> Bool {
        guard Self.fits(attribute) else { return false }
        let slot = slots + Self.slotIndex(of: attribute) * Self.slotBytes
        let lengths = slot.loadUnaligned(as: (UInt8, UInt8).self)
        guard Int(lengths.0) == attribute.element.count, Int(lengths.1) == attribute.name.count,
            let element = attribute.element.baseAddress, let name = attribute.name.baseAddress
        else { return false }
        let names = slot + Self.headerBytes
        return memcmp(names, element, attribute.element.count) == 0
            && memcmp(names + attribute.element.count, name, attribute.name.count) == 0
    }

    /// Adds the names, unless they are too long for a slot.
    mutating func insert(_ attribute: LinkAttribute) {
        guard Self.fits(attribute), let element = attribute.element.baseAddress,
            let name = attribute.name.baseAddress
        else { return }
        let slot = slots + Self.slotIndex(of: attribute) * Self.slotBytes
        slot.storeBytes(of: UInt8(attribute.element.count), as: UInt8.self)
        slot.storeBytes(of: UInt8(attribute.name.count), toByteOffset: 1, as: UInt8.self)
        let names = slot + Self.headerBytes
        names.copyMemory(from: element, byteCount: attribute.element.count)
        (names + attribute.element.count).copyMemory(from: name, byteCount: attribute.name.count)
    }
}

extension Bytes {
    /// Mixes the bytes into a hash. It is not keyed: a document with collisions only causes more calls of libxml2.
    @inline(__always)
    fileprivate func hash(_ start: UInt64) -> UInt64 {
        var hash = start ^ UInt64(truncatingIfNeeded: count)
        for byte in self { hash = (hash ^ UInt64(byte)) &* 0x9E37_79B9_7F4A_7C15 }
        return hash ^ (hash >> 32)
    }
}

/// The queued attributes, written as HTML for libxml2.
struct AttributeQueue {
    /// The ranges of one attribute in `tags`.
    private struct Item {
        var element: Range<Int>
        var name: Range<Int>
        var value: Range<Int>
        var isPlain: Bool
    }

    /// The text to parse: one tag for each attribute.
    private(set) var tags: [UInt8] = []
    private var items: [Item] = []

    var count: Int { items.count }

    /// Appends `<element name="value" />` with the given quotation mark. The tag is self-closing, so that no element
    /// stays open.
    mutating func append(_ attribute: LinkAttribute, quote: UInt8, isPlain: Bool) {
        tags.append(UInt8(ascii: "<"))
        let element = append(attribute.element)
        tags.append(UInt8(ascii: " "))
        let name = append(attribute.name)
        tags.append(UInt8(ascii: "="))
        tags.append(quote)
        let value = append(attribute.value)
        tags.append(quote)
        tags.append(UInt8(ascii: " "))
        tags.append(UInt8(ascii: "/"))
        tags.append(UInt8(ascii: ">"))
        items.append(Item(element: element, name: name, value: value, isPlain: isPlain))
    }

    private mutating func append(_ part: Bytes) -> Range<Int> {
        let start = tags.count
        tags.append(contentsOf: part)
        return start..<tags.count
    }

    mutating func removeAll() {
        tags.removeAll(keepingCapacity: true)
        items.removeAll(keepingCapacity: true)
    }

    /// Calls `body` with a queued attribute if its value is plain.
    func withPlainAttribute(_ number: Int, _ body: (LinkAttribute) -> Void) {
        let item = items[number]
        guard item.isPlain else { return }
        tags.withUnsafeBufferPointer {
            body(
                LinkAttribute(
                    element: $0.part(item.element), name: $0.part(item.name),
                    value: $0.part(item.value)))
        }
    }
}
