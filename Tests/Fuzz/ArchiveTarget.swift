import Archives
import Glibc

/// Archives of all forms: which it is, their own bytes say.
struct ArchiveTarget: Target {
    let name = "archive"
    let suffixes = [".warc", ".har", ".wacz", ".mhtml"]
    let pieces = [
        "WARC/1.0\r\n", "WARC/1.1\r\n", "WARC-Type: response\r\n", "WARC-Type: revisit\r\n", "WARC-Type: request\r\n",
        "WARC-Target-URI: http://a.test/\r\n", "WARC-Date: 2020-02-02T02:02:02Z\r\n", "Content-Length: 9\r\n",
        "Content-Length: 99999999999999999999\r\n", "Content-Length: -1\r\n", "\r\n\r\n", "HTTP/1.1 200 OK\r\n",
        "Transfer-Encoding: chunked\r\n", "Content-Encoding: gzip\r\n", "Content-Encoding: br\r\n",
        "5\r\nhello\r\n0\r\n\r\n",
        "WARC-Block-Digest: sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ\r\n", "\u{1F}", "PK\u{3}\u{4}", "PK\u{5}\u{6}",
        "{\"log\":{\"entries\":[", "\"request\":{\"url\":\"http://a.test/\"}", "\"encoding\":\"base64\"", "]}}",
        "MIME-Version: 1.0\r\nContent-Type: multipart/related; boundary=\"b\"\r\n\r\n", "\r\n--b\r\n", "\r\n--b--\r\n",
        "Content-Location: http://a.test/x\r\n", "Content-Location: cid:c\r\n", "Content-ID: <c>\r\n", "cid:c",
        "Content-Transfer-Encoding: base64\r\n", "Content-Transfer-Encoding: quoted-printable\r\n", "=3D", "=\r\n",
        "Content-Type: text/html\r\n", "<img src=\"cid:c\">",
        "filedesc://a 0 19960923142103 text/plain 20\n", "http://a.test/ 1.2.3.4 19961104142103 text/html 20\n",
    ]

    /// What is tried stands here; the system clears it away.
    private static let file: String? = {
        var path = Array("/tmp/larder-fuzz-XXXXXX".utf8CString)
        let descriptor = mkstemp(&path)
        guard descriptor >= 0 else { return nil }
        close(descriptor)
        return String(decoding: path.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }()

    func fault(_ input: [UInt8]) -> String? {
        guard let path = Self.file else { return "a file: none" }
        do throws(FuzzError) { try InputFile(path).write(input) } catch { return "a file: \(error)" }
        var limits = ArchiveLimits()
        // What grows without measure is refused early, so that a second is enough.
        (limits.floor, limits.body) = (1 << 20, 4 << 20)
        do throws(ArchiveError) {
            let reader = try ArchiveFiles.looking(at: path, limits)
            var count = 0
            while try reader.next() != nil {
                count += 1
                // A record takes more bytes than this, and a fault at least one.
                if count > input.count + 16 { return "an end: \(count) items in \(input.count) bytes" }
            }
        } catch {
            return error.kind == .machine ? "the machine: \(error)" : nil
        }
        return nil
    }
}
