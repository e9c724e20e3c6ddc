/// Creates inputs for a target: parts of bodies from its corpus with a few random changes.
struct Mutator {
    /// The maximum size in bytes, so small that many inputs are tried per second and a slow one is a fault.
    static let inputLimit = 4096
    private static let maxChanges = 16

    let corpus: [[UInt8]]
    /// Tokens of the target's language.
    let pieces: [[UInt8]]
    var dice: Dice

    mutating func next() -> [UInt8] {
        var input = part(of: dice.pick(corpus), atMost: Self.inputLimit)
        for _ in 0..<dice.roll(Self.maxChanges) { change(&input) }
        return input
    }

    private mutating func change(_ input: inout [UInt8]) {
        let place = dice.roll(input.count + 1)
        let end = min(input.count, place + 1 + dice.roll(40))
        switch dice.roll(8) {
        case 0, 1: input.insert(contentsOf: dice.pick(pieces), at: place)
        case 2: input.removeSubrange(place..<min(input.count, place + 1 + dice.roll(8)))
        case 3: input.insert(contentsOf: input[place..<end], at: dice.roll(input.count + 1))
        case 4: input.replaceSubrange(place..<end, with: part(of: dice.pick(corpus), atMost: 64))
        case 5:
            let piece = dice.pick(pieces)
            input.insert(contentsOf: (0...dice.roll(16)).flatMap { _ in piece }, at: place)
        case 6: if dice.roll(8) == 0 { input.removeSubrange(place...) }
        default: if place < input.count { input[place] = UInt8(truncatingIfNeeded: dice.roll(256)) }
        }
    }

    /// A part of a body. Half of the parts begin at its start, which often determines how the rest is parsed.
    private mutating func part(of body: [UInt8], atMost limit: Int) -> [UInt8] {
        let start = dice.roll(2) == 0 ? 0 : dice.roll(body.count + 1)
        return Array(body[start..<min(body.count, start + limit)])
    }
}
