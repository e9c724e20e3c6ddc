/// The SplitMix64 generator, which returns the same numbers for the same seed on all machines.
struct Dice {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    /// Returns a number from 0 up to, but not including, `sides`, which must be more than 0.
    mutating func roll(_ sides: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((value ^ (value >> 31)) % UInt64(sides))
    }

    mutating func pick<Element>(_ elements: [Element]) -> Element { elements[roll(elements.count)] }
}
