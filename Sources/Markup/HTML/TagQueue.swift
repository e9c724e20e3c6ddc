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
                    element: $0.part(item.element), attribute: $0.part(item.attribute), value: $0.part(item.value)))
        }
    }
}
