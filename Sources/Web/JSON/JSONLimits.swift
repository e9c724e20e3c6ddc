/// How much a JSON text may ask of us. A text beyond any of these is refused with a `JSONError`.
package struct JSONLimits: Sendable, Equatable {
    /// How deep arrays and objects may nest. Never taken above 4096: parsing, comparing and freeing a tree recurse.
    package var depth: Int
    /// How long the text may be. Never taken above `UInt32.max`, which is what a node's range can count to.
    package var byteCount: Int
    /// How many values, of every kind, the tree may hold: the tree of `[[],[],…]` is many times as large as its text.
    package var valueCount: Int

    package init(depth: Int = 512, byteCount: Int = 64 << 20, valueCount: Int = 4_000_000) {
        self.depth = min(depth, 4096)
        self.byteCount = min(byteCount, Int(UInt32.max))
        self.valueCount = valueCount
    }
}
