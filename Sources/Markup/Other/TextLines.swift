/// The lines of a text.
enum TextLines {
    /// Calls with each line that is not blank, without the white space at its ends.
    static func forEach(_ bytes: Bytes, _ body: (Range<Int>) -> Void) {
        var start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        while start < bytes.count {
            let end = bytes[start...].firstIndex { $0 == 0x0A || $0 == 0x0D } ?? bytes.count
            let line = bytes.trimmed(start..<end)
            if !line.isEmpty { body(line) }
            start = end + 1
        }
    }
}
