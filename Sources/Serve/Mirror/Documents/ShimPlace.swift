/// Where the first script of a document may stand.
enum ShimPlace: Equatable {
    /// It runs no script of its own.
    case none
    case at(Int)
    /// It may be a piece of a document, which whoever asks for it puts somewhere: there only if a browser shows it.
    case ifShown(Int)

    init(in document: [UInt8], _ form: DocumentForm) {
        self = document.withUnsafeBufferPointer { bytes in
            switch form {
            case .other: .none
            case .html: Self.hasScript(bytes, isXML: false) ? Self.start(bytes) : .none
            case .xml: Self.hasScript(bytes, isXML: true) ? Self.startOfXML(bytes) : .none
            }
        }
    }

    // MARK: - Whether there is a script

    private static func hasScript(_ bytes: UnsafeBufferPointer<UInt8>, isXML: Bool) -> Bool {
        guard isXML else { return !bytes.places(of: "script").isEmpty || hasHandler(bytes) }
        // A word in a feed is none, nor is an element of another vocabulary.
        let names: [StaticString] = ["http://www.w3.org/1999/xhtml", "http://www.w3.org/2000/svg"]
        guard names.contains(where: { !bytes.places(of: $0).isEmpty }) else { return false }
        return hasHandler(bytes)
            || bytes.places(of: "script").contains { place in
                place > 0 && [UInt8(ascii: "<"), UInt8(ascii: ":")].contains(bytes[place - 1])
            }
    }

    /// An attribute such as `onload`, as far as a quick look tells.
    private static func hasHandler(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        bytes.places(of: "on").contains { place in
            guard place > 0, StartTag.isSpace(bytes[place - 1]) || "\"'/".utf8.contains(bytes[place - 1]) else {
                return false
            }
            var end = place + 2
            while end < bytes.count, (0x61...0x7a).contains(bytes[end] | 0x20) { end += 1 }
            guard end > place + 2 else { return false }
            while end < bytes.count, StartTag.isSpace(bytes[end]) { end += 1 }
            return end < bytes.count && bytes[end] == UInt8(ascii: "=")
        }
    }

    // MARK: - Where it begins

    private static func start(_ bytes: UnsafeBufferPointer<UInt8>) -> ShimPlace {
        var position = bytes.starts(with: [0xef, 0xbb, 0xbf]) ? 3 : 0
        var place: Int?
        while true {
            position = skipped(bytes, from: position)
            guard let tag = StartTag(bytes, at: position) else { break }
            if bytes.says("html", at: tag.name) {
                position = tag.end
                place = position
            } else {
                if bytes.says("head", at: tag.name) { place = tag.end }
                break
            }
        }
        if let place { return .at(place) }
        return position < bytes.count && hasDoctype(bytes[..<position]) ? .at(position) : .ifShown(position)
    }

    /// An element may only stand inside another one.
    private static func startOfXML(_ bytes: UnsafeBufferPointer<UInt8>) -> ShimPlace {
        let start = skipped(bytes, from: bytes.starts(with: [0xef, 0xbb, 0xbf]) ? 3 : 0)
        guard let root = StartTag(bytes, at: start), bytes[root.end - 2] != UInt8(ascii: "/") else { return .none }
        guard bytes.says("html", at: root.name) else { return .at(root.end) }
        let head = StartTag(bytes, at: skipped(bytes, from: root.end))
        guard let head, bytes.says("head", at: head.name), bytes[head.end - 2] != UInt8(ascii: "/") else {
            return .at(root.end)
        }
        return .at(head.end)
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
                guard let end = declarationEnd(bytes, from: position) else { return position }
                position = end
            } else {
                break
            }
        }
        return position
    }

    /// A document type may hold declarations of its own, between brackets.
    private static func declarationEnd(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int? {
        guard let end = bytes[start...].firstIndex(of: UInt8(ascii: ">")) else { return nil }
        guard let bracket = bytes[start..<end].firstIndex(of: UInt8(ascii: "[")), bytes[start + 1] == UInt8(ascii: "!"),
            let closing = bytes[bracket...].firstIndex(of: UInt8(ascii: "]"))
        else { return end + 1 }
        return bytes[closing...].firstIndex(of: UInt8(ascii: ">")).map { $0 + 1 }
    }

    private static func hasDoctype(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        !UnsafeBufferPointer(rebasing: bytes).places(of: "doctype").isEmpty
    }
}
