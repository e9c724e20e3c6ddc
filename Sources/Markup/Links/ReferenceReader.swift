internal import Web

/// Reads a reference as written into what it says: encoding, then character references, then the small language inside.
struct ReferenceReader {
    var encoding: TextEncoding
    private var text: [UInt8] = []
    private var spare: [UInt8] = []

    init(encoding: TextEncoding) {
        self.encoding = encoding
    }

    /// Hands over what `written` says in its context, in UTF-8. Most references say just what is written.
    mutating func withReference<Result>(
        _ written: Bytes, _ context: LinkContext, _ body: (Bytes) throws -> Result
    ) rethrows -> Result {
        if Self.isPlain(written) { return try body(written) }
        if written.allSatisfy({ $0 < 0x80 }) {
            text.removeAll(keepingCapacity: true)
            text.append(contentsOf: written)
        } else {
            text = encoding.decode(Span(_unsafeElements: written))
        }
        for _ in 0..<context.levels {
            step { bytes, output in
                guard CharacterReferences.isNeeded(bytes) else { return false }
                CharacterReferences.decode(bytes, into: &output)
                return true
            }
        }
        switch context.inner {
        case .plain, .srcset, .spaceList, .commaList, .refresh, .line:
            break
        case .cssString, .cssURL:
            step { bytes, output in
                guard bytes.contains(where: { $0 == UInt8(ascii: "\\") || $0 == 0 }) else { return false }
                CSSText.unescape(bytes, isURL: context.inner == .cssURL, into: &output)
                return true
            }
        case .scriptString, .scriptTemplate, .scriptMarkup, .json:
            step { bytes, output in
                guard bytes.contains(UInt8(ascii: "\\")) else { return false }
                ScriptText.unescape(bytes, into: &output)
                return true
            }
            guard context.inner == .scriptMarkup else { break }
            step { bytes, output in
                guard CharacterReferences.isNeeded(bytes) else { return false }
                CharacterReferences.decode(bytes, into: &output)
                return true
            }
        }
        return try text.withUnsafeBufferPointer(body)
    }

    /// ASCII without anything that stands for something else in one of the languages: `&`, `\`, NUL, carriage return.
    private static func isPlain(_ written: Bytes) -> Bool {
        var marks: UInt8 = 0
        for byte in written {
            marks |= byte & 0x80
            marks |= byte == UInt8(ascii: "&") || byte == UInt8(ascii: "\\") || byte == 0 || byte == 0x0D ? 1 : 0
        }
        return marks == 0
    }

    private mutating func step(_ body: (Bytes, inout [UInt8]) -> Bool) {
        spare.removeAll(keepingCapacity: true)
        let isChanged = text.withUnsafeBufferPointer { body($0, &spare) }
        if isChanged { swap(&text, &spare) }
    }
}
