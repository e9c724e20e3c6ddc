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

    init(_ bytes: Bytes, map: OffsetMap = OffsetMap(base: 0), context: LinkContext = .plain, flags: LinkFlags = []) {
        self.bytes = bytes
        self.map = map
        self.context = context
        self.flags = flags
    }

    /// A part of this text that is written as it is.
    func part(_ range: Range<Int>, adding flags: LinkFlags = []) -> SourceText {
        SourceText(
            bytes.part(range), map: map.part(from: range.lowerBound), context: context, flags: self.flags.union(flags))
    }

    /// Hands over a part of this text with its character references undone; not when that would nest too deep.
    func withDecoded(
        _ range: Range<Int>, isUnquoted: Bool = false, flags: LinkFlags = [], _ body: (SourceText) -> Void
    ) {
        guard context.levels < LinkContext.maximalLevels else { return }
        let context = LinkContext(
            levels: context.levels + 1, isUnquoted: context.isUnquoted || isUnquoted, isXML: context.isXML, .plain)
        let flags = self.flags.union(flags)
        guard CharacterReferences.isNeeded(bytes.part(range)) else {
            body(SourceText(bytes.part(range), map: map.part(from: range.lowerBound), context: context, flags: flags))
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
