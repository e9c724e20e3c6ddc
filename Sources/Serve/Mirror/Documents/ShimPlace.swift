/// Where the first script of a document may stand.
enum ShimPlace {
    /// Nil for what has no script of its own, and for what is a piece of a document: whoever asked for it puts it somewhere.
    ///
    /// - Parameter isXML: an element may only stand inside another one.
    static func find(in document: [UInt8], isXML: Bool) -> Int? {
        document.withUnsafeBufferPointer { bytes in
            guard let place = headStart(bytes, isXML: isXML), !bytes.places(of: "script").isEmpty else { return nil }
            return place
        }
    }

    private static func headStart(_ bytes: UnsafeBufferPointer<UInt8>, isXML: Bool) -> Int? {
        var position = bytes.starts(with: [0xef, 0xbb, 0xbf]) ? 3 : 0
        var place: Int?
        while true {
            position = skipped(bytes, from: position)
            guard let tag = StartTag(bytes, at: position) else { break }
            if bytes.says("html", at: tag.name) {
                position = tag.end
                if !isXML { place = position }
            } else {
                if bytes.says("head", at: tag.name) { place = tag.end }
                break
            }
        }
        guard place == nil, !isXML else { return place }
        return position < bytes.count && hasDoctype(bytes[..<position]) ? position : nil
    }

    /// Behind white space, comments, declarations and processing instructions.
    private static func skipped(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
        var position = start
        while position < bytes.count {
            if StartTag.isSpace(bytes[position]) {
                position += 1
            } else if bytes[position...].starts(with: "<!--".utf8) {
                var end = position + 4
                while end < bytes.count, !bytes[end...].starts(with: "-->".utf8) { end += 1 }
                guard end < bytes.count else { return position }
                position = end + 3
            } else if bytes[position...].starts(with: "<!".utf8) || bytes[position...].starts(with: "<?".utf8) {
                guard let end = bytes[position...].firstIndex(of: UInt8(ascii: ">")) else { return position }
                position = end + 1
            } else {
                break
            }
        }
        return position
    }

    private static func hasDoctype(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        !UnsafeBufferPointer(rebasing: bytes).places(of: "doctype").isEmpty
    }
}
