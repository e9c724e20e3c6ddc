/// A text that is built from pieces, with one line for each block and with white space collapsed.
struct BlockLines {
    private(set) var bytes: [UInt8] = []
    /// Whether the text is empty or ends with a space.
    private var isSpaced = true
    private var isNewLine = true
    private let maxBytes: Int

    init(maxBytes: Int) { self.maxBytes = maxBytes }

    var isFull: Bool { bytes.count >= maxBytes }

    /// Appends a piece of text. With `keepsLines`, line ends in it end the block.
    mutating func append(_ piece: UnsafeBufferPointer<UInt8>, keepsLines: Bool = false) {
        guard !isFull else { return }
        for byte in piece {
            if byte.isSpace || byte == 0 {
                if keepsLines, byte == 0x0A { breakLine() } else { space() }
            } else {
                bytes.append(byte)
                (isSpaced, isNewLine) = (false, false)
            }
        }
    }

    mutating func append(_ text: String) {
        var text = text
        text.withUTF8 { append($0) }
    }

    mutating func space() {
        guard !isSpaced else { return }
        bytes.append(UInt8(ascii: " "))
        isSpaced = true
    }

    mutating func breakLine() {
        guard !isNewLine else { return }
        if bytes.last == UInt8(ascii: " ") { bytes.removeLast() }
        bytes.append(UInt8(ascii: "\n"))
        (isSpaced, isNewLine) = (true, true)
    }

    /// Ends the current block, and returns the offset of the next one.
    mutating func startBlock() -> Int {
        breakLine()
        return bytes.count
    }

    /// The whole text as one line.
    var line: String {
        let end = bytes.lastIndex { $0 > 0x20 }.map { $0 + 1 } ?? 0
        return String(decoding: bytes[..<end].lazy.map { $0 == 0x0A ? 0x20 : $0 }, as: UTF8.self)
    }
}
