/// A text inside a body that a scanner reads: the whole body, a script, or the value of an attribute.
///
/// The bytes are borrowed. They are valid only during the call that passes the text.
struct SourceText {
    let bytes: Bytes
    /// The mapping of offsets in `bytes` to offsets in the body.
    let map: OffsetMap
    /// The markup around the text. Its inner syntax is plain.
    let context: LinkContext
    /// Flags of every link in the text.
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

    /// Returns a part of this text that is written without escapes.
    func part(_ range: Range<Int>, adding flags: LinkFlags = []) -> SourceText {
        SourceText(
            bytes.part(range), map: map.part(from: range.lowerBound), context: context,
            flags: self.flags.union(flags))
    }

    /// Calls `body` with a part of this text whose character references are decoded. Does nothing beyond the
    /// maximum nesting.
    func withDecoded(
        _ range: Range<Int>, isUnquoted: Bool = false, flags: LinkFlags = [], _ body: (SourceText) -> Void
    ) {
        guard context.levels < LinkContext.maxLevels else { return }
        let context = LinkContext(
            levels: context.levels + 1, isUnquoted: context.isUnquoted || isUnquoted, isXML: context.isXML,
            .plain)
        let flags = self.flags.union(flags)
        guard CharacterReferences.mayBeIn(bytes.part(range)) else {
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

    /// Calls `body` with a part of this text, the content of a script string, whose escapes are decoded.
    func withUnescaped(_ range: Range<Int>, _ body: (SourceText) -> Void) {
        guard bytes.part(range).contains(UInt8(ascii: "\\")) else { return body(part(range)) }
        let unescaped = OffsetMap.unescape(bytes, range, map)
        unescaped.text.withUnsafeBufferPointer {
            body(SourceText($0, map: unescaped.map, context: context, flags: flags))
        }
    }
}

/// A mapping of offsets in a text to offsets in the body that it comes from.
///
/// A text without character references is a contiguous part of the body. Otherwise the map has a step before
/// and after each decoded reference. For example, the text `a&b` comes from `a&amp;b` at the offset 100 of the body: its
/// steps are 0 → 100, 1 → 101 and 2 → 106.
struct OffsetMap {
    /// The start of a contiguous part: its offset in the text, and that in the body.
    struct Step {
        var text: Int
        var body: Int
    }

    private let steps: [Step]
    /// The offset of this text in the one that `steps` belongs to. Parts of a text share its steps.
    private let origin: Int

    /// Creates the mapping of a contiguous part of the body that starts at `base`.
    init(base: Int) {
        self.init(steps: [Step(text: 0, body: base)], origin: 0)
    }

    private init(steps: [Step], origin: Int) {
        self.steps = steps
        self.origin = origin
    }

    /// Returns the offset in the body of an offset in the text.
    func callAsFunction(_ offset: Int) -> Int {
        let step = steps[index(of: offset)]
        return step.body + (offset + origin - step.text)
    }

    func callAsFunction(_ range: Range<Int>) -> Range<Int> {
        let lower = self(range.lowerBound)
        return lower..<max(lower, self(range.upperBound))
    }

    /// Returns the mapping of the part of the text from `start` on.
    func part(from start: Int) -> OffsetMap {
        OffsetMap(steps: steps, origin: origin + start)
    }

    /// Returns the index of the last step at or before `offset`.
    private func index(of offset: Int) -> Int {
        var lower = 0
        var upper = steps.count
        while upper - lower > 1 {
            let middle = (lower + upper) / 2
            if steps[middle].text <= offset + origin { lower = middle } else { upper = middle }
        }
        return lower
    }

    /// Decodes the character references of a part of a text, and maps the result to the body.
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

    /// Decodes the escapes of a part of a script string, and maps the result to the body.
    static func unescape(_ bytes: Bytes, _ range: Range<Int>, _ map: OffsetMap) -> (
        text: [UInt8], map: OffsetMap
    ) {
        decode(bytes, range, map) { part, index, text in
            guard part[index] == UInt8(ascii: "\\"), index + 1 < part.count else { return false }
            ScriptText.unescape(part, &index, into: &text)
            return true
        }
    }

    /// - Parameter decodeEscape: Decodes the escape at an offset, appends the result and moves the offset after the
    ///   escape. Returns false and changes nothing if there is no escape.
    private static func decode(
        _ bytes: Bytes, _ range: Range<Int>, _ map: OffsetMap,
        _ decodeEscape: (Bytes, inout Int, inout [UInt8]) -> Bool
    ) -> (text: [UInt8], map: OffsetMap) {
        var text: [UInt8] = []
        var steps: [Step] = []
        var nextStep = map.index(of: range.lowerBound) + 1
        let part = Bytes(rebasing: bytes[range])
        var index = 0
        var runStart = 0
        func flush(_ end: Int) {
            guard runStart < end else { return }
            let start = text.count
            steps.append(Step(text: start, body: map(range.lowerBound + runStart)))
            while nextStep < map.steps.count, map.steps[nextStep].text - map.origin < range.lowerBound + end {
                let inside = map.steps[nextStep].text - map.origin - range.lowerBound
                if inside > runStart {
                    steps.append(Step(text: start + inside - runStart, body: map.steps[nextStep].body))
                }
                nextStep += 1
            }
            text.append(contentsOf: part[runStart..<end])
        }
        var decoded: [UInt8] = []
        while index < part.count {
            let start = index
            decoded.removeAll(keepingCapacity: true)
            guard decodeEscape(part, &index, &decoded) else {
                index += 1
                continue
            }
            flush(start)
            steps.append(Step(text: text.count, body: map(range.lowerBound + start)))
            text.append(contentsOf: decoded)
            runStart = index
        }
        flush(part.count)
        steps.append(Step(text: text.count, body: map(range.upperBound)))
        return (text, OffsetMap(steps: steps, origin: 0))
    }
}
