/// Tells pages that contain text from pages whose scripts create it.
package enum PageText {
    /// The minimum number of bytes, without white space, that counts as text of a page.
    static let minTextBytes = 200

    /// Whether the document has at least `minTextBytes` of text before its scripts run. Stops reading there, which in
    /// most documents is soon after the head.
    static func isSufficient(in document: Bytes) -> Bool {
        var length = 0
        return isAnyByte(of: document) { byte in
            if !byte.isSpace { length += 1 }
            return length >= minTextBytes
        }
    }

    /// The first `maxBeginningBytes` of the text of a document before its scripts run. White space in it is unchanged.
    package static func beginning(of document: Span<UInt8>) -> [UInt8] {
        var text: [UInt8] = []
        document.withUnsafeBufferPointer {
            _ = isAnyByte(of: $0) { byte in
                text.append(byte)
                return text.count >= maxBeginningBytes
            }
        }
        return text
    }

    private static let maxBeginningBytes = 512

    /// Whether the predicate is true for any byte of the text. Stops reading there.
    @inline(__always)
    private static func isAnyByte(of document: Bytes, _ predicate: (UInt8) -> Bool) -> Bool {
        guard let bytes = document.baseAddress else { return false }
        var index = 0
        while index < document.count {
            let tag = bytes.find(UInt8(ascii: "<"), from: index, to: document.count)
            while index < tag {
                if predicate(bytes[index]) { return true }
                index += 1
            }
            index = end(of: tag, in: document, bytes)
        }
        return false
    }

    /// Elements whose content is not displayed in a browser that runs scripts.
    private static let invisibleElements: [StaticString] = [
        "script", "style", "title", "noscript", "template",
    ]

    /// Returns the offset after the tag or comment that begins at `tag`, and after the content of an invisible element.
    private static func end(of tag: Int, in document: Bytes, _ bytes: UnsafePointer<UInt8>) -> Int {
        func offset(after byte: UInt8, from index: Int) -> Int {
            min(bytes.find(byte, from: index, to: document.count) + 1, document.count)
        }
        guard tag + 1 < document.count else { return document.count }
        if bytes[tag + 1] == UInt8(ascii: "!"), document.starts(with: "<!--", at: tag) {
            var index = tag + 4
            while index < document.count {
                index = offset(after: UInt8(ascii: ">"), from: index)
                if index >= tag + 7, bytes[index - 2] == UInt8(ascii: "-"),
                    bytes[index - 3] == UInt8(ascii: "-")
                {
                    return index
                }
            }
            return document.count
        }
        let end = offset(after: UInt8(ascii: ">"), from: tag)
        // The invisible elements begin with these letters, most other elements do not.
        switch bytes[tag + 1].lowercased {
        case UInt8(ascii: "s"), UInt8(ascii: "t"), UInt8(ascii: "n"): break
        default: return end
        }
        let name = invisibleElements.first { name in
            let next = tag + 1 + name.utf8CodeUnitCount
            return next < document.count && document.starts(with: name, at: tag + 1) && !bytes[next].isLetter
        }
        guard let name else { return end }
        var index = end
        while index < document.count {
            index = offset(after: UInt8(ascii: "<"), from: index)
            guard index + name.utf8CodeUnitCount < document.count else { return document.count }
            if bytes[index] == UInt8(ascii: "/"), document.starts(with: name, at: index + 1) {
                return offset(after: UInt8(ascii: ">"), from: index)
            }
        }
        return document.count
    }
}
