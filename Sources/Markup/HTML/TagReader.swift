internal import CXML2
internal import Glibc

/// A reader of attributes with links that passes many of them at once to one libxml2 push parser.
///
/// Each attribute is queued as a tag of its own, so results match queued attributes by their order. A value
/// that libxml2 reads differently from the HTML standard is not queued, and one that it did not read as
/// expected has no result. ``ReferenceReader`` decodes both.
///
/// A call of libxml2 is expensive, so most values skip it: once libxml2 returned a value without special characters as
/// written, `TagMemory` remembers the element and attribute, and further such values are used as written.
///
/// It belongs to one thread. The cycle is: any number of `add(_:)`, `read()`, `withValue(_:_:)` for each queued number,
/// `reset()`.
final class TagReader {
    /// The way in which an attribute's value is read.
    enum ValueSource {
        /// The value is used as written, because libxml2 did not change another plain value of the same
        /// attribute.
        case asWritten
        /// The value is available under this number after ``read()``.
        case queued(Int)
        /// The value cannot be read by libxml2.
        case unsupported
    }

    /// Longer values are not queued; ``ReferenceReader`` decodes them.
    private static let maxValueBytes = 1 << 16
    /// The number of bytes after which the parser is replaced, since it never frees its input.
    private static let maxParserBytes = 1 << 20

    private var parser: htmlParserCtxtPtr?
    private var parsedBytes = 0
    private var memory = TagMemory()
    private var queue = TagQueue()
    /// The values that were read, one after the other, and the range of each; nil for a tag whose attribute
    /// was lost, as happens for `<head>`.
    private var values: [UInt8] = []
    private var valueRanges: [Range<Int>?] = []

    /// The global initialization of libxml2, which must not run on two threads at once.
    private static let initializeLibrary: Void = larder_xml_set_up()

    static func initializeLibraryOnce() { initializeLibrary }

    init() {
        Self.initializeLibraryOnce()
    }

    deinit {
        htmlFreeParserCtxt(parser)
    }

    /// Queues one attribute of a tag, unless it can be used as written or libxml2 cannot read it.
    func add(_ tag: TagMemory.Tag) -> ValueSource {
        let form = ValueCharacters(tag.value)
        if form == .plain, memory.contains(tag) { return .asWritten }
        guard tag.value.count <= Self.maxValueBytes, let quote = Self.quote(for: tag.value, form) else {
            return .unsupported
        }
        queue.append(tag, quote: quote, isPlain: form == .plain)
        return .queued(queue.count - 1)
    }

    /// The characters of a value, which determine how it is read.
    private enum ValueCharacters {
        /// Printable ASCII without special characters.
        case plain
        /// Printable ASCII with ampersands.
        case hasAmpersands
        /// Text with control characters or non-ASCII bytes.
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

    /// Returns the quote to write around a value; nil if libxml2 would read the value differently from the
    /// standard. That applies to control characters, non-ASCII bytes (it supports one encoding at a time),
    /// and most character references.
    private static func quote(for value: Bytes, _ form: ValueCharacters) -> UInt8? {
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

    /// Whether HTML 4 and the HTML standard decode a character reference in the same way.
    private static func isCommonReference(_ value: Bytes, at start: Int) -> Bool {
        for reference: StaticString in [
            "&amp;", "&lt;", "&gt;", "&quot;", "&#38;", "&#39;", "&#x27;", "&#34;",
        ]
        where value.starts(with: reference, at: start) {
            return true
        }
        return false
    }

    /// Parses the queued tags.
    func read() {
        guard queue.count > 0 else { return }
        if parsedBytes > Self.maxParserBytes { replaceParser() }
        guard let parser = parser ?? replaceParser() else { return }
        let bytes = queue.bytes
        parsedBytes += bytes.count
        let status = bytes.withUnsafeBytes {
            htmlParseChunk(parser, $0.baseAddress?.assumingMemoryBound(to: CChar.self), Int32($0.count), 0)
        }
        // After an error, or with a different number of tags than queued, results cannot be matched.
        let isBroken = status == XML_ERR_NO_MEMORY.rawValue || parser.pointee.instate == XML_PARSER_EOF
        if isBroken || valueRanges.count != queue.count {
            valueRanges.removeAll(keepingCapacity: true)
            replaceParser()
            return
        }
        values.withUnsafeBufferPointer { values in
            for (number, range) in valueRanges.enumerated() {
                guard let range else { continue }
                queue.withPlainTag(number) {
                    if values.part(range).isEqual(to: $0.value) { memory.remember($0) }
                }
            }
        }
    }

    /// Calls `body` with the value that libxml2 read under a number. Returns false if it read none.
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
        var handler = xmlSAXHandler()
        handler.startElement = { context, _, attributes in
            guard let context else { return }
            Unmanaged<TagReader>.fromOpaque(context).takeUnretainedValue().didStartTag(attributes)
        }
        parser = htmlCreatePushParserCtxt(
            &handler, Unmanaged.passUnretained(self).toOpaque(), nil, 0, nil, XML_CHAR_ENCODING_UTF8)
        if let parser {
            let options =
                HTML_PARSE_RECOVER.rawValue | HTML_PARSE_NOIMPLIED.rawValue | HTML_PARSE_NONET.rawValue
                | HTML_PARSE_NOERROR.rawValue | HTML_PARSE_NOWARNING.rawValue | HTML_PARSE_IGNORE_ENC.rawValue
            // The result lists unknown options, and none of these is essential.
            _ = htmlCtxtUseOptions(parser, Int32(options))
        }
        return parser
    }

    /// Records a tag. libxml2 calls this for each one; the pointers are valid only during the call.
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

/// The element and attribute names for which libxml2 returned a plain value exactly as written. It does so
/// for all their plain values, since those contain no special characters.
///
/// On the Python docs and on rustdoc's std, 99 of 100 link attributes need no further reading. The table has
/// a fixed size: a tag replaces another one with the same hash.
struct TagMemory: ~Copyable {
    private static let slotCount = 256
    private static let slotBytes = 32
    /// The size of the two lengths at the start of a slot, one byte each.
    private static let headerBytes = 2

    private let slots: UnsafeMutableRawPointer

    init() {
        slots = .allocate(byteCount: Self.slotCount * Self.slotBytes, alignment: 64)
        slots.initializeMemory(as: UInt8.self, repeating: 0, count: Self.slotCount * Self.slotBytes)
    }

    deinit {
        slots.deallocate()
    }

    /// A tag with one attribute.
    struct Tag {
        var element: Bytes
        var attribute: Bytes
        var value: Bytes

        var fits: Bool { headerBytes + element.count + attribute.count <= slotBytes }
        fileprivate var slot: Int { Int(truncatingIfNeeded: attribute.hash(element.hash(0)) >> 56) }
    }

    /// Whether libxml2 returned a plain value of this element's attribute as written. An empty slot matches
    /// no tag, because every tag has an element.
    func contains(_ tag: Tag) -> Bool {
        guard tag.fits else { return false }
        let slot = slots + tag.slot * Self.slotBytes
        let lengths = slot.loadUnaligned(as: (UInt8, UInt8).self)
        guard Int(lengths.0) == tag.element.count, Int(lengths.1) == tag.attribute.count,
            let element = tag.element.baseAddress, let attribute = tag.attribute.baseAddress
        else { return false }
        let names = slot + Self.headerBytes
        return memcmp(names, element, tag.element.count) == 0
            && memcmp(names + tag.element.count, attribute, tag.attribute.count) == 0
    }

    mutating func remember(_ tag: Tag) {
        guard tag.fits, let element = tag.element.baseAddress, let attribute = tag.attribute.baseAddress
        else { return }
        let slot = slots + tag.slot * Self.slotBytes
        slot.storeBytes(of: UInt8(tag.element.count), as: UInt8.self)
        slot.storeBytes(of: UInt8(tag.attribute.count), toByteOffset: 1, as: UInt8.self)
        let names = slot + Self.headerBytes
        names.copyMemory(from: element, byteCount: tag.element.count)
        (names + tag.element.count).copyMemory(from: attribute, byteCount: tag.attribute.count)
    }
}

extension Bytes {
    /// Mixes the bytes into a hash.
    @inline(__always)
    fileprivate func hash(_ start: UInt64) -> UInt64 {
        var hash = start ^ UInt64(truncatingIfNeeded: count)
        for byte in self { hash = (hash ^ UInt64(byte)) &* 0x9E37_79B9_7F4A_7C15 }
        return hash ^ (hash >> 32)
    }
}

/// The queued tags, as the bytes that libxml2 will read.
struct TagQueue {
    /// The ranges of one tag in the queued bytes.
    private struct Item {
        var element: Range<Int>
        var attribute: Range<Int>
        var value: Range<Int>
        var isPlain: Bool
    }

    private(set) var bytes: [UInt8] = []
    private var items: [Item] = []

    var count: Int { items.count }

    /// Appends a self-closing tag, so that no element stays open. The space keeps the slash out of the value.
    mutating func append(_ tag: TagMemory.Tag, quote: UInt8, isPlain: Bool) {
        bytes.append(UInt8(ascii: "<"))
        let element = append(tag.element)
        bytes.append(UInt8(ascii: " "))
        let attribute = append(tag.attribute)
        bytes.append(UInt8(ascii: "="))
        bytes.append(quote)
        let value = append(tag.value)
        bytes.append(quote)
        bytes.append(UInt8(ascii: " "))
        bytes.append(UInt8(ascii: "/"))
        bytes.append(UInt8(ascii: ">"))
        items.append(Item(element: element, attribute: attribute, value: value, isPlain: isPlain))
    }

    private mutating func append(_ part: Bytes) -> Range<Int> {
        let start = bytes.count
        bytes.append(contentsOf: part)
        return start..<bytes.count
    }

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        items.removeAll(keepingCapacity: true)
    }

    /// Calls `body` with the tag of a number, if its value is plain.
    func withPlainTag(_ number: Int, _ body: (TagMemory.Tag) -> Void) {
        let item = items[number]
        guard item.isPlain else { return }
        bytes.withUnsafeBufferPointer {
            body(
                TagMemory.Tag(
                    element: $0.part(item.element), attribute: $0.part(item.attribute),
                    value: $0.part(item.value)))
        }
    }
}
