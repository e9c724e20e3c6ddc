internal import Web

/// The text of RSS and Atom: the feed's title, and each entry with its text.
struct FeedText {
    private var document = DocumentText()
    private var body = BlockLines(maxBytes: DocumentText.maxTextBytes)
    private var entries = 0
    /// The text of the element that was opened last.
    private var words: [UInt8] = []

    /// Reads the text of a feed.
    ///
    /// - Parameter text: The feed in UTF-8.
    static func read(_ text: [UInt8]) -> DocumentText {
        var feed = FeedText()
        text.withUnsafeBufferPointer { feed.read($0) }
        feed.body.breakLine()
        feed.document.body = feed.body.bytes
        return feed.document
    }

    private mutating func read(_ bytes: Bytes) {
        var lexer = XMLLexer(bytes)
        while !body.isFull, let token = lexer.next() {
            switch token {
            case .start(let tag):
                words.removeAll(keepingCapacity: true)
                let name = Self.localName(bytes.part(tag.name))
                if name.equals("item") || name.equals("entry") { entries += 1 }
            case .text(let range): CharacterReferences.decode(bytes.part(range), into: &words)
            case .section(let range): words.append(contentsOf: bytes.part(range))
            case .end(let range):
                end(Self.localName(bytes.part(range)))
                words.removeAll(keepingCapacity: true)
            case .instruction: break
            }
        }
    }

    private mutating func end(_ name: Bytes) {
        if name.equals("title") {
            let title = Self.text(of: words).body
            let line = String(decoding: title.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
            if entries == 0 {
                if document.title.isEmpty { document.title = DocumentText.truncateTitle(line) }
            } else {
                document.addSection(body.startBlock(), anchor: "", title: line)
                body.append(line)
                body.breakLine()
            }
        } else if ["description", "summary", "content", "encoded", "subtitle"].contains(where: {
            name.equals($0)
        }) {
            let text = Self.text(of: words).body
            body.breakLine()
            text.withUnsafeBufferPointer { body.append($0, keepsLines: true) }
            body.breakLine()
        }
    }

    /// Reads the text of an element, which usually is HTML.
    private static func text(of words: [UInt8]) -> DocumentText {
        words.contains(UInt8(ascii: "<")) ? HTMLTextReader.read(words) : PlainText.read(words)
    }

    private static func localName(_ name: Bytes) -> Bytes {
        name.lastIndex(of: UInt8(ascii: ":")).map { name.part($0 + 1..<name.count) } ?? name
    }
}
