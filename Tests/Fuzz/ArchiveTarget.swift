import Archives
import Glibc

/// The readers of archives. The format of an input is recognised by its bytes.
struct ArchiveTarget: Target {
    let name = "archive"
    let suffixes = [".warc", ".har", ".wacz", ".mhtml", ".tar", ".zip"]
    let pieces = [
        "WARC/1.0\r\n", "WARC/1.1\r\n", "WARC-Type: response\r\n", "WARC-Type: revisit\r\n",
        "WARC-Type: request\r\n",
        "WARC-Target-URI: http://a.test/\r\n", "WARC-Date: 2020-02-02T02:02:02Z\r\n", "Content-Length: 9\r\n",
        "Content-Length: 99999999999999999999\r\n", "Content-Length: -1\r\n", "\r\n\r\n",
        "HTTP/1.1 200 OK\r\n",
        "Transfer-Encoding: chunked\r\n", "Content-Encoding: gzip\r\n", "Content-Encoding: br\r\n",
        "5\r\nhello\r\n0\r\n\r\n",
        "WARC-Block-Digest: sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ\r\n", "\u{1F}", "PK\u{3}\u{4}",
        "PK\u{5}\u{6}",
        "{\"log\":{\"entries\":[", "\"request\":{\"url\":\"http://a.test/\"}", "\"encoding\":\"base64\"",
        "]}}",
        "MIME-Version: 1.0\r\nContent-Type: multipart/related; boundary=\"b\"\r\n\r\n", "\r\n--b\r\n",
        "\r\n--b--\r\n",
        "Content-Location: http://a.test/x\r\n", "Content-Location: cid:c\r\n", "Content-ID: <c>\r\n",
        "cid:c",
        "Content-Transfer-Encoding: base64\r\n", "Content-Transfer-Encoding: quoted-printable\r\n", "=3D",
        "=\r\n",
        "Content-Type: text/html\r\n", "<img src=\"cid:c\">",
        "filedesc://a 0 19960923142103 text/plain 20\n",
        "http://a.test/ 1.2.3.4 19961104142103 text/html 20\n",
        "../", "./", "//", "a.test/index.html", "ustar\u{0}00", "0000644\u{0}", "00000001000\u{0}",
        "30 path=a.test/",
        "20 linkpath=", "GNU.sparse.major=1", "~larder.jsonl", "hts-cache/new.zip", "<a href=\"x.html\">",
        "<!-- saved from url=(0014)http://a.test/ -->", "<!-- Mirrored from a.test/ by HTTrack -->",
    ]

    /// The file with the input, because archives are read from files. The system removes it from /tmp.
    private static let file: String? = {
        var path = Array("/tmp/larder-fuzz-XXXXXX".utf8CString)
        let descriptor = mkstemp(&path)
        guard descriptor >= 0 else { return nil }
        close(descriptor)
        return String(decoding: path.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }()

    /// Corrects the checksums of tar headers. Otherwise the reader would stop at each changed header.
    private static func withTarChecksums(_ input: [UInt8]) -> [UInt8] {
        var input = input
        for start in stride(from: 0, to: input.count - 511, by: 512)
        where input[(start + 257)..<(start + 262)].elementsEqual("ustar".utf8) {
            for place in 148..<156 { input[start + place] = 0x20 }
            let sum = String(input[start..<(start + 512)].reduce(0) { $0 + Int($1) }, radix: 8)
            let text = String(repeating: "0", count: max(0, 6 - sum.utf8.count)) + sum + "\0"
            input.replaceSubrange((start + 148)..<(start + 148 + text.utf8.count), with: text.utf8)
        }
        return input
    }

    func fault(_ input: [UInt8]) -> String? {
        guard let path = Self.file else { return "a file: none" }
        do throws(FuzzError) {
            try InputFile(path).write(Self.withTarChecksums(input))
        } catch {
            return "a file: \(error)"
        }
        var limits = ArchiveLimits()
        // Low limits refuse archives that expand too much, so that each input takes less than a second.
        (limits.expansionAllowanceBytes, limits.maxBodyBytes) = (1 << 20, 4 << 20)
        do throws(ArchiveError) {
            let reader = try ArchiveFiles.measuringReader(at: path, limits)
            var count = 0
            while try reader.next() != nil {
                count += 1
                // Each record and each fault takes at least one byte.
                if count > input.count + 16 { return "an end: \(count) items in \(input.count) bytes" }
            }
        } catch {
            return error.kind == .machine ? "the machine: \(error)" : nil
        }
        return nil
    }
}
