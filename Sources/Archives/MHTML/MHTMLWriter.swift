internal import Digest
internal import Markup
internal import Store
internal import Web

/// Writes a page and its assets as a multipart message (RFC 2557), as browsers do. The page comes first. Each
/// part has the URL by which it is requested.
struct MHTMLWriter {
    private let output: ArchiveOutput
    private let boundary: String

    /// - Parameter sum: A digest of the content. The boundary is derived from it, so that no part can contain
    ///   it.
    init(_ output: ArchiveOutput, page: ExportedResource, sum: Digest) throws(ArchiveError) {
        self.output = output
        boundary = "----MultipartBoundary--\(sum.hex.prefix(40))----"
        let type = page.format == .xhtml ? "application/xhtml+xml" : "text/html"
        let date = HTTPDate(secondsSinceEpoch: page.response.fetched).text.replacing("GMT", with: "+0000")
        let head = """
            From: <Saved by larder>
            Snapshot-Content-Location: \(page.url.href)
            Subject: \(Self.encoded(page.body.title ?? page.url.href))
            Date: \(date)
            MIME-Version: 1.0
            Content-Type: multipart/related;
            \ttype="\(type)";
            \tboundary="\(boundary)"


            """
        try output.write(Array(head.replacing("\n", with: "\r\n").utf8))
    }

    /// Writes a part, as quoted-printable if that is shorter than base64.
    func add(_ bytes: [UInt8], _ type: String, at url: WebURL) throws(ArchiveError) {
        let isText = bytes.count { QuotedPrintable.isEscaped($0) } * 3 <= bytes.count
        let head = """
            --\(boundary)
            Content-Type: \(type)
            Content-Transfer-Encoding: \(isText ? "quoted-printable" : "base64")
            Content-Location: \(url.href)


            """
        try output.write(Array(head.replacing("\n", with: "\r\n").utf8))
        try output.write(isText ? QuotedPrintable.encode(bytes) : Self.base64(bytes))
        try output.write([0x0D, 0x0A])
    }

    func finish() throws(ArchiveError) -> ArchiveFile {
        try output.write(Array("--\(boundary)--\r\n".utf8))
        return try output.finish()
    }

    /// Returns the bytes in base64, in lines of 76 characters (RFC 2045, section 6.8).
    private static func base64(_ bytes: [UInt8]) -> [UInt8] {
        var lines: [UInt8] = []
        lines.reserveCapacity(bytes.count / 57 * 78 + 80)
        for start in stride(from: 0, to: bytes.count, by: 57) {
            if start > 0 { lines += [0x0D, 0x0A] }
            lines += Array(Base64.encode(Array(bytes[start..<min(start + 57, bytes.count)])).utf8)
        }
        return lines
    }

    /// Encodes text that is not plain ASCII (RFC 2047). A character is never split between two words.
    private static func encoded(_ text: String) -> String {
        if text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }), !text.contains("=?"), text.utf8.count < 900 {
            return text
        }
        var words: [String] = [""]
        for scalar in text.unicodeScalars.prefix(250) {
            let piece = Base64.encode(Array((words[words.count - 1] + String(scalar)).utf8))
            if piece.utf8.count > 60 { words.append("") }
            words[words.count - 1].unicodeScalars.append(scalar)
        }
        return words.map { "=?utf-8?B?\(Base64.encode(Array($0.utf8)))?=" }.joined(separator: "\r\n ")
    }
}

/// The quoted-printable encoding (RFC 2045, section 6.7). Decoding gives back every byte.
enum QuotedPrintable {
    static func isEscaped(_ byte: UInt8) -> Bool {
        byte != 0x20 && !(0x21...0x7E).contains(byte) || byte == 0x3D
    }

    /// Encodes bytes in lines of at most 76 characters. Line breaks in the text stay line breaks.
    static func encode(_ bytes: [UInt8]) -> [UInt8] {
        var (text, lineStart): ([UInt8], Int) = ([], 0)
        text.reserveCapacity(bytes.count + bytes.count / 8)
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            if byte == 0x0D, index + 1 < bytes.count, bytes[index + 1] == 0x0A {
                text += [0x0D, 0x0A]
                lineStart = text.count
                index += 2
                continue
            }
            index += 1
            let isEnd = index == bytes.count || bytes[index] == 0x0D
            // A line that begins like a boundary would be mistaken for one.
            let isDash = byte == 0x2D && text.count == lineStart
            let isWritten = isEscaped(byte) || isDash || (byte == 0x20 && isEnd)
            let piece = isWritten ? [0x3D, digit(byte >> 4), digit(byte & 15)] : [byte]
            if text.count - lineStart + piece.count > 75 {
                text += [0x3D, 0x0D, 0x0A]
                lineStart = text.count
                // After the soft line break, the dash begins a line.
                if byte == 0x2D, !isWritten {
                    text += [0x3D, 0x32, 0x44]
                    continue
                }
            }
            text += piece
            if byte == 0x0A {
                text += [0x3D, 0x0D, 0x0A]
                lineStart = text.count
            }
        }
        return text
    }

    private static func digit(_ value: UInt8) -> UInt8 { value + (value > 9 ? 0x37 : 0x30) }
}
