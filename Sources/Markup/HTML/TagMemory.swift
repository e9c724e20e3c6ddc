internal import Glibc

/// Which kinds of tags libxml2 has read with a plain value, and read just as it is written: what it made of one such
/// value it makes of all, for nothing in them stands for anything else.
///
/// On the Python docs and on rustdoc's std 99 of 100 link attributes need no further reading. A fixed table: a tag takes
/// the place of another with the same hash.
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

    /// Whether libxml2 read a plain value of this element's attribute as it is written. An empty slot holds no tag: each
    /// has an element.
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
        guard tag.fits, let element = tag.element.baseAddress, let attribute = tag.attribute.baseAddress else { return }
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
