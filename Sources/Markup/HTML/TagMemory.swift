internal import Glibc

/// Tags that libxml2 has read before, and read just as they are written: navigation that every page of a site repeats.
///
/// On rustdoc's std 86 of 100 link attributes are found here, on the Python docs 51, and finding one takes a twentieth
/// of the time that reading it takes. A fixed table: a tag takes the place of another with the same hash.
struct TagMemory: ~Copyable {
    private static let slotCount = 4096
    private static let slotSize = 192
    /// A slot starts with the three lengths, two bytes each.
    private static let headSize = 6

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

        var fits: Bool { headSize + element.count + attribute.count + value.count <= slotSize }
        fileprivate var slot: Int { Int(truncatingIfNeeded: value.hash(attribute.hash(element.hash(0))) >> 52) }
    }

    /// Whether libxml2 read this very tag as it is written. An empty slot holds no tag: each has an element.
    func holds(_ tag: Tag) -> Bool {
        guard tag.fits else { return false }
        let slot = slots + tag.slot * Self.slotSize
        let lengths = slot.loadUnaligned(as: (UInt16, UInt16, UInt16).self)
        guard lengths.0 == tag.element.count, lengths.1 == tag.attribute.count, lengths.2 == tag.value.count else {
            return false
        }
        var place = UnsafeRawPointer(slot + Self.headSize)
        for part in [tag.element, tag.attribute, tag.value] {
            guard let bytes = part.baseAddress else { continue }
            if memcmp(place, bytes, part.count) != 0 { return false }
            place += part.count
        }
        return true
    }

    mutating func remember(_ tag: Tag) {
        guard tag.fits else { return }
        let slot = slots + tag.slot * Self.slotSize
        slot.storeBytes(of: UInt16(tag.element.count), toByteOffset: 0, as: UInt16.self)
        slot.storeBytes(of: UInt16(tag.attribute.count), toByteOffset: 2, as: UInt16.self)
        slot.storeBytes(of: UInt16(tag.value.count), toByteOffset: 4, as: UInt16.self)
        var place = slot + Self.headSize
        for part in [tag.element, tag.attribute, tag.value] {
            guard let bytes = part.baseAddress else { continue }
            place.copyMemory(from: bytes, byteCount: part.count)
            place += part.count
        }
    }
}

extension Bytes {
    /// Mixes the bytes into a hash, eight a step.
    @inline(__always)
    fileprivate func hash(_ start: UInt64) -> UInt64 {
        var hash = start ^ UInt64(truncatingIfNeeded: count)
        var index = 0
        let raw = UnsafeRawBufferPointer(self)
        while index &+ 8 <= count {
            hash = (hash ^ raw.loadUnaligned(fromByteOffset: index, as: UInt64.self)) &* 0x9E37_79B9_7F4A_7C15
            hash ^= hash >> 29
            index &+= 8
        }
        while index < count {
            hash = (hash ^ UInt64(self[index])) &* 0x9E37_79B9_7F4A_7C15
            index &+= 1
        }
        return (hash ^ (hash >> 32)) &* 0x9E37_79B9_7F4A_7C15
    }
}
