/// A text inside a body, as a scanner gets it: the whole body, a script, the value of an attribute.
///
/// The bytes are borrowed: they live as long as the call that hands the text over.
struct SourceText {
    let bytes: Bytes
    /// From places in `bytes` to places in the body.
    let map: OffsetMap
    /// The markup around the text; its inner language is plain.
    let context: LinkContext
    /// What holds for every link in the text.
    let flags: LinkFlags

    init(
        _ bytes: Bytes, map: OffsetMap = OffsetMap(base: 0), context: LinkContext = .plain,
        flags: LinkFlags = []
    ) {
        self.bytes = bytes
        self.map = map
        self.context = context
        self.flags = flags
    }

    /// A part of this text that is written as it is.
    func part(_ range: Range<Int>, adding flags: LinkFlags = []) -> SourceText {
        SourceText(
            bytes.part(range), map: map.part(from: range.lowerBound), context: context,
            flags: self.flags.union(flags))
    }

    /// Hands over a part of this text with its character references undone; not when that would nest too
    /// deep.
    func withDecoded(
        _ range: Range<Int>, isUnquoted: Bool = false, flags: LinkFlags = [], _ body: (SourceText) -> Void
    ) {
        guard context.levels < LinkContext.maximalLevels else { return }
        let context = LinkContext(
            levels: context.levels + 1, isUnquoted: context.isUnquoted || isUnquoted, isXML: context.isXML,
            .plain)
        let flags = self.flags.union(flags)
        guard CharacterReferences.isNeeded(bytes.part(range)) else {
            body(
                SourceText(
                    bytes.part(range), map: map.part(from: range.lowerBound), context: context, flags: flags))
            return
        }
        let decoded = OffsetMap.decode(bytes, range, map)
        decoded.text.withUnsafeBufferPointer {
            body(SourceText($0, map: decoded.map, context: context, flags: flags))
        }
    }

    /// Hands over a part of this text, the inside of a script's string, with its escapes undone.
    func withUnescaped(_ range: Range<Int>, _ body: (SourceText) -> Void) {
        guard bytes.part(range).contains(UInt8(ascii: "\\")) else { return body(part(range)) }
        let unescaped = OffsetMap.unescape(bytes, range, map)
        unescaped.text.withUnsafeBufferPointer {
            body(SourceText($0, map: unescaped.map, context: context, flags: flags))
        }
    }
}

/// From places in a text to the places in the body that it was read from.
///
/// A text without character references is a stretch of the body. Where references were undone the map has a
/// step before and behind each of them.
struct OffsetMap {
    struct Step {
        var text: Int
        var body: Int
    }

    private let steps: [Step]
    /// Where the text starts in the one that `steps` are of: parts of a text share them.
    private let origin: Int

    /// A stretch of the body that starts at `base`.
    init(base: Int) {
        self.init(steps: [Step(text: 0, body: base)], origin: 0)
    }

    private init(steps: [Step], origin: Int) {
        self.steps = steps
        self.origin = origin
    }

    /// The place in the body of a place in the text.
    func callAsFunction(_ place: Int) -> Int {
        let step = steps[index(of: place)]
        return step.body + (place + origin - step.text)
    }

    func callAsFunction(_ range: Range<Int>) -> Range<Int> {
        let lower = self(range.lowerBound)
        return lower..<max(lower, self(range.upperBound))
    }

    /// The map of a part of the text.
    func part(from start: Int) -> OffsetMap {
        OffsetMap(steps: steps, origin: origin + start)
    }

    /// The last step at or before `place`.
    private func index(of place: Int) -> Int {
        var lower = 0
        var upper = steps.count
        while upper - lower > 1 {
            let middle = (lower + upper) / 2
            if steps[middle].text <= place + origin { lower = middle } else { upper = middle }
        }
        return lower
    }

    /// Undoes the character references of a part of a text, and maps the result to the body.
    static func decode(_ bytes: Bytes, _ range: Range<Int>, _ map: OffsetMap) -> (
        text: [UInt8], map: OffsetMap
    ) {
        decode(bytes, range, map) { part, index, text in
            let byte = part[index]
            guard byte == UInt8(ascii: "&") || byte == 0x0D || byte == 0 else { return false }
            var length = 1
            if byte == UInt8(ascii: "&") {
                guard let reference = CharacterReferences.read(part, at: index) else { return false }
                length = reference.length
            } else if byte == 0x0D, index + 1 < part.count, part[index + 1] == 0x0A {
                length = 2
            }
            CharacterReferences.decode(part.part(index..<index + length), into: &text)
            index += length
            return true
        }
    }

    /// The same with the escapes of a script's string.
    static func unescape(_ bytes: Bytes, _ range: Range<Int>, _ map: OffsetMap) -> (
        text: [UInt8], map: OffsetMap
    ) {
        decode(bytes, range, map) { part, index, text in
            guard part[index] == UInt8(ascii: "\\"), index + 1 < part.count else { return false }
            ScriptText.unescape(part, &index, into: &text)
            return true
        }
    }

    /// - Parameter undo: appends what stands for something else at a place and goes behind it; false, and
    ///   nothing, where what stands there stands for itself.
    private static func decode(
        _ bytes: Bytes, _ range: Range<Int>, _ map: OffsetMap,
        _ undo: (Bytes, inout Int, inout [UInt8]) -> Bool
    ) -> (text: [UInt8], map: OffsetMap) {
        var text: [UInt8] = []
        var steps: [Step] = []
        var known = map.index(of: range.lowerBound) + 1
        let part = Bytes(rebasing: bytes[range])
        var index = 0
        var run = 0
        func flush(_ end: Int) {
            guard run < end else { return }
            let start = text.count
            steps.append(Step(text: start, body: map(range.lowerBound + run)))
            while known < map.steps.count, map.steps[known].text - map.origin < range.lowerBound + end {
                let inside = map.steps[known].text - map.origin - range.lowerBound
                if inside > run {
                    steps.append(Step(text: start + inside - run, body: map.steps[known].body))
                }
                known += 1
            }
            text.append(contentsOf: part[run..<end])
        }
        var undone: [UInt8] = []
        while index < part.count {
            let start = index
            undone.removeAll(keepingCapacity: true)
            guard undo(part, &index, &undone) else {
                index += 1
                continue
            }
            flush(start)
            steps.append(Step(text: text.count, body: map(range.lowerBound + start)))
            text.append(contentsOf: undone)
            run = index
        }
        flush(part.count)
        steps.append(Step(text: text.count, body: map(range.upperBound)))
        return (text, OffsetMap(steps: steps, origin: 0))
    }
}
