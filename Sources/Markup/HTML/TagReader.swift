internal import CXML2
internal import Glibc

/// Has one libxml2 push parser read the attributes that carry a link, many at once.
///
/// Each attribute is queued as a tag of its own, so what was read pairs with what was queued by order. A
/// value that libxml2 reads otherwise than the HTML standard says is not queued; one that it did not read as
/// expected has no value here. Both are read by ``ReferenceReader``.
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
    /// What was read: the values one after the other, and where each stands; nil for a tag whose attribute
    /// got lost, as those of `<head>` do.
    private var values: [UInt8] = []
    private var places: [Range<Int>?] = []

    /// libxml2's own set-up, which must not run on two threads at once.
    private static let setUp: Void = larder_xml_set_up()

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
        guard tag.value.count <= Self.lengthLimit, let quote = Self.quote(for: tag.value, form) else {
            return .refused
        }
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

    /// The quote to write around a value; nil when libxml2 would read the value otherwise than the standard
    /// says: control characters, bytes outside of ASCII (it knows one encoding at a time), and most character
    /// references.
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
        for reference: StaticString in [
            "&amp;", "&lt;", "&gt;", "&quot;", "&#38;", "&#39;", "&#x27;", "&#34;",
        ]
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
        // A tag more or less than queued, or an error that is more than a complaint: the pairs cannot be
        // trusted.
        let isBroken = status == XML_ERR_NO_MEMORY.rawValue || parser.pointee.instate == XML_PARSER_EOF
        if isBroken || places.count != queue.count {
            places.removeAll(keepingCapacity: true)
            renew()
            return
        }
        values.withUnsafeBufferPointer { values in
            for (number, place) in places.enumerated() {
                guard let place else { continue }
                queue.withPlainTag(number) {
                    if values.part(place).isEqual(to: $0.value) { memory.remember($0) }
                }
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

/// Which kinds of tags libxml2 has read with a plain value, and read just as it is written: what it made of
/// one such value it makes of all, for nothing in them stands for anything else.
///
/// On the Python docs and on rustdoc's std 99 of 100 link attributes need no further reading. A fixed table:
/// a tag takes the place of another with the same hash.
struct TagMemory: ~Copyable {
    private static let slotCount = 256
    private static let slotSize = 32
    /// A slot starts with the two lengths, a byte each.
    private static let headSize = 2

    private let slots: UnsafeMutableRawPointer

    init() {
        slots = .allocate(byteCount: Self.slotCount * Self.slotSize, alignment: 64)
        slots.initializeMemory(as: UInt8.self, repeating: 0, count: Self.slotCount * Self.slotSize)
    }

    deinit {
        slots.deallocate()
    }

    /// A tag of one attribute.
    struct Tag {
        var element: Bytes
        var attribute: Bytes
        var value: Bytes

        var fits: Bool { headSize + element.count + attribute.count <= slotSize }
        fileprivate var slot: Int { Int(truncatingIfNeeded: attribute.hash(element.hash(0)) >> 56) }
    }

    /// Whether libxml2 read a plain value of this element's attribute as it is written. An empty slot holds
    /// no tag: each has an element.
    func holds(_ tag: Tag) -> Bool {
        guard tag.fits else { return false }
        let slot = slots + tag.slot * Self.slotSize
        let lengths = slot.loadUnaligned(as: (UInt8, UInt8).self)
        guard Int(lengths.0) == tag.element.count, Int(lengths.1) == tag.attribute.count,
            let element = tag.element.baseAddress, let attribute = tag.attribute.baseAddress
        else { return false }
        let place = slot + Self.headSize
        return memcmp(place, element, tag.element.count) == 0
            && memcmp(place + tag.element.count, attribute, tag.attribute.count) == 0
    }

    mutating func remember(_ tag: Tag) {
        guard tag.fits, let element = tag.element.baseAddress, let attribute = tag.attribute.baseAddress
        else { return }
        let slot = slots + tag.slot * Self.slotSize
        slot.storeBytes(of: UInt8(tag.element.count), as: UInt8.self)
        slot.storeBytes(of: UInt8(tag.attribute.count), toByteOffset: 1, as: UInt8.self)
        let place = slot + Self.headSize
        place.copyMemory(from: element, byteCount: tag.element.count)
        (place + tag.element.count).copyMemory(from: attribute, byteCount: tag.attribute.count)
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

/// Tags on their way to libxml2, one behind the other as it will read them.
struct TagQueue {
    private struct Item {
        var element: Range<Int>
        var attribute: Range<Int>
        var value: Range<Int>
        var isPlain: Bool
    }

    private(set) var bytes: [UInt8] = []
    private var items: [Item] = []

    var count: Int { items.count }

    /// Writes the tag closed by itself, so that nothing stays open; the blank keeps the slash out of a value.
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

    /// Hands over the tag with a number, where its value is plain.
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
