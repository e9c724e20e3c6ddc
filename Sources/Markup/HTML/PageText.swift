/// Estimates the amount of text in a document before its scripts run.
enum PageText {
    /// The minimum number of bytes, without white space, that counts as text of a page.
    static let minTextBytes = 200

    /// Whether the document has that much text. Stops as soon as it has, which is soon after the head of most
    /// documents.
    static func isEnough(in document: Bytes) -> Bool {
        guard let bytes = document.baseAddress else { return false }
        var index = 0
        var length = 0
        while index < document.count {
            let mark = bytes.find(UInt8(ascii: "<"), from: index, to: document.count)
            while index < mark {
                if !bytes[index].isSpace { length += 1 }
                index += 1
                if length >= minTextBytes { return true }
            }
            index = end(of: mark, in: document, bytes)
        }
        return false
    }

    /// Elements whose content is not displayed in a browser that runs scripts.
    private static let invisibleElements: [StaticString] = [
        "script", "style", "title", "noscript", "template",
    ]

    /// Returns the offset after the tag or the comment, and after the content of an invisible element.
    private static func end(of mark: Int, in document: Bytes, _ bytes: UnsafePointer<UInt8>) -> Int {
        func offset(after byte: UInt8, from index: Int) -> Int {
            min(bytes.find(byte, from: index, to: document.count) + 1, document.count)
        }
        guard mark + 1 < document.count else { return document.count }
        if bytes[mark + 1] == UInt8(ascii: "!"), document.starts(with: "<!--", at: mark) {
            var index = mark + 4
            while index < document.count {
                index = offset(after: UInt8(ascii: ">"), from: index)
                if index >= mark + 7, bytes[index - 2] == UInt8(ascii: "-"),
                    bytes[index - 3] == UInt8(ascii: "-")
                {
                    return index
                }
            }
            return document.count
        }
        let end = offset(after: UInt8(ascii: ">"), from: mark)
        // Most tags start with another letter.
        switch bytes[mark + 1].lowercased {
        case UInt8(ascii: "s"), UInt8(ascii: "t"), UInt8(ascii: "n"): break
        default: return end
        }
        let name = invisibleElements.first { name in
            let next = mark + 1 + name.utf8CodeUnitCount
            return next < document.count && document.starts(with: name, at: mark + 1) && !bytes[next].isLetter
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
