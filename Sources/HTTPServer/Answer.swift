package import Markup
package import System
package import Web

/// A complete response in the form in which it is sent: the head as bytes, and the body as bytes or as a file.
///
/// It is immutable, so that the memory tier and any number of clients share it. In the common case, the server
/// sends `bytes` with one system call. `OutgoingResponse` makes the variations for single clients, such as 304 and
/// 206.
package final class Answer: Sendable {
    package let status: Int
    /// The head and the body, if the body is in memory, so that one call sends both.
    package let bytes: [UInt8]
    /// The number of bytes of the head, including the empty line.
    let headCount: Int
    package let entityTag: String?
    let lastModified: String?
    /// Whether the fields contain `Date`. A stored response keeps its own.
    let hasDate: Bool
    /// The file that follows `bytes` if the body is large. The kernel sends it.
    package let file: FileBody?
    package let sharing: Sharing
    /// How long a cache may serve the answer without validation. Nil if it is valid until the store changes.
    package let freshness: Freshness?
    /// The text of the `VaryKey`, which says for which requests the answer is valid.
    package let variant: String
    /// The body compressed with zstd, for clients that accept it.
    package let zstdBody: [UInt8]?

    /// A body that is sent from a file.
    package struct FileBody: Sendable {
        package let path: String
        /// The length of the body as it is sent.
        package let byteCount: Int
        /// The changes that are made to the file while it is sent.
        package var patch: Patch?
        /// The state in which the file was hashed: a file in another state is not sent. Nil for a file that
        /// was not hashed.
        package var stamp: FileStamp?

        package init(path: String, byteCount: Int, patch: Patch? = nil, stamp: FileStamp? = nil) {
            (self.path, self.byteCount, self.patch, self.stamp) = (path, byteCount, patch, stamp)
        }
    }

    package init(
        status: Int, fields: [(name: String, value: String)], body: [UInt8], zstdBody: [UInt8]? = nil,
        sharing: Sharing = .portal, freshness: Freshness? = nil, variant: String = ""
    ) {
        var bytes = Self.head(status: status, fields: fields, byteCount: body.count, extra: body.count)
        headCount = bytes.count
        bytes.append(contentsOf: body)
        self.status = status
        self.bytes = bytes
        self.zstdBody = zstdBody
        (entityTag, lastModified, hasDate) = Self.validators(fields)
        file = nil
        self.sharing = sharing
        self.freshness = freshness
        self.variant = variant
    }

    package init(
        status: Int, fields: [(name: String, value: String)], file: FileBody, sharing: Sharing = .portal,
        freshness: Freshness? = nil, variant: String = ""
    ) {
        self.status = status
        bytes = Self.head(status: status, fields: fields, byteCount: file.byteCount, extra: 0)
        headCount = bytes.count
        zstdBody = nil
        (entityTag, lastModified, hasDate) = Self.validators(fields)
        self.file = file
        self.sharing = sharing
        self.freshness = freshness
        self.variant = variant
    }

    /// Makes the answer to a HEAD request: a head that describes a body that is not sent.
    ///
    /// - Parameter byteCount: The length of the body; nil if unknown.
    package init(
        headOf status: Int, fields: [(name: String, value: String)], byteCount: Int?, sharing: Sharing
    ) {
        self.status = status
        bytes = Self.head(status: status, fields: fields, byteCount: byteCount, extra: 0)
        headCount = bytes.count
        zstdBody = nil
        (entityTag, lastModified, hasDate) = Self.validators(fields)
        file = FileBody(path: "", byteCount: byteCount ?? 0)
        self.sharing = sharing
        freshness = nil
        variant = ""
    }

    private init(_ answer: Answer, head: [UInt8]) {
        status = answer.status
        bytes = head + answer.bytes[answer.headCount...]
        headCount = head.count
        zstdBody = answer.zstdBody
        (entityTag, lastModified, hasDate) = (answer.entityTag, answer.lastModified, answer.hasDate)
        (file, sharing, freshness, variant) = (answer.file, answer.sharing, answer.freshness, answer.variant)
    }

    /// Returns the answer with a further field, which comes first.
    package func adding(_ field: (name: String, value: String)) -> Answer {
        var head = Array(bytes.prefix { $0 != 0x0a }) + [0x0a]
        head += "\(field.name): \(field.value)\r\n".utf8
        for line in HeadLines(self) { head += line }
        return Answer(self, head: head + [0x0d, 0x0a])
    }

    /// The answer without `Cross-Origin-Opener-Policy`, for requesters that get another policy in its place.
    /// Browsers ignore the field if there are two.
    package var withoutOpenerPolicy: Answer {
        let name: [StaticString] = ["cross-origin-opener-policy"]
        guard HeadLines(self).contains(where: { HeadLines.isNamed($0, name) }) else { return self }
        var head = Array(bytes.prefix { $0 != 0x0a }) + [0x0a]
        for line in HeadLines(self) where !HeadLines.isNamed(line, name) { head += line }
        return Answer(self, head: head + [0x0d, 0x0a])
    }

    /// Whether the file of the body, if there is one, is still the one that was hashed.
    package var isCurrent: Bool {
        guard let file, let stamp = file.stamp else { return true }
        return FileStamp(file.path) == stamp
    }

    /// The length of the body, wherever it is.
    package var bodyByteCount: Int { file?.byteCount ?? bytes.count - headCount }

    /// The memory that the answer uses, in bytes.
    package var heldByteCount: Int {
        bytes.capacity + (file?.patch?.memoryByteCount ?? 0) + (zstdBody?.capacity ?? 0)
    }

    /// Whether every client can be sent exactly `bytes`.
    package var canSendUnchanged: Bool { hasDate && file == nil && zstdBody == nil }

    package static func text(
        _ status: Int, _ text: String, fields: [(name: String, value: String)] = [],
        sharing: Sharing = .portal
    ) -> Answer {
        Answer(
            status: status, fields: [("Content-Type", "text/plain; charset=utf-8")] + fields,
            body: Array(text.utf8),
            sharing: sharing)
    }

    /// Returns an answer that explains an error in one line. If a page requested it as a subresource, the body is
    /// empty instead: a script would take the explanation for data and show it.
    ///
    /// - Parameter request: The header fields of the request.
    package static func explanation(
        _ status: Int, _ text: String, to request: HTTPFields,
        fields: [(name: String, value: String)] = [], sharing: Sharing = .portal
    ) -> Answer {
        guard let type = request.expectedTypeOfSubresource else {
            return .text(status, text, fields: fields, sharing: sharing)
        }
        return Answer(
            status: status, fields: [("Content-Type", type)] + fields, body: [], sharing: sharing)
    }

    package static func html(
        _ status: Int, _ html: String, fields: [(name: String, value: String)] = [],
        sharing: Sharing = .portal
    ) -> Answer {
        Answer(
            status: status, fields: [("Content-Type", "text/html; charset=utf-8")] + fields,
            body: Array(html.utf8),
            sharing: sharing)
    }

    /// - Parameter keepsMethod: Whether clients repeat the method and the body at the new location (307 in
    ///   place of 302).
    package static func redirect(
        to location: String, fields: [(name: String, value: String)] = [], keepsMethod: Bool = false,
        sharing: Sharing = .portal
    ) -> Answer {
        Answer(
            status: keepsMethod ? 307 : 302, fields: [("Location", location)] + fields, body: [],
            sharing: sharing)
    }

    /// Returns the fields that the answer keeps for evaluating preconditions.
    private static func validators(
        _ fields: [(name: String, value: String)]
    ) -> (entityTag: String?, lastModified: String?, hasDate: Bool) {
        func value(_ name: String) -> String? {
            fields.first { HeadLines.isSameName($0.name.utf8, name.utf8) }?.value
        }
        return (value("etag"), value("last-modified"), value("date") != nil)
    }

    /// Writes the status line and the header fields.
    ///
    /// - Parameters:
    ///   - byteCount: The length of the body; nil for no `Content-Length`.
    ///   - extra: The number of further bytes to reserve memory for.
    private static func head(
        status: Int, fields: [(name: String, value: String)], byteCount: Int?, extra: Int
    ) -> [UInt8] {
        func isBreak(_ byte: UInt8) -> Bool { byte == 0x0d || byte == 0x0a || byte == 0 }
        var head: [UInt8] = []
        head.reserveCapacity(512 + extra)
        head.append(
            contentsOf: (status == 200
                ? "HTTP/1.1 200 OK\r\n" : "HTTP/1.1 \(status) \(StatusPhrase.of(status))\r\n").utf8)
        var hasAcceptRanges = false
        for field in fields {
            if HeadLines.isSameName(field.name.utf8, "accept-ranges".utf8) { hasAcceptRanges = true }
            head.append(contentsOf: field.name.utf8)
            head.append(contentsOf: ": ".utf8)
            // Values from origins are filtered, so that none of them can end its field and add another one.
            let start = head.count
            HTTPGrammar.append(field.value, to: &head)
            if head.withUnsafeBufferPointer({ $0[start...].contains(where: isBreak) }) {
                head.replaceSubrange(start..., with: head[start...].filter { !isBreak($0) })
            }
            head.append(contentsOf: "\r\n".utf8)
        }
        // The server answers range requests for every body itself: see `ResponseSelection`.
        if status == 200, !hasAcceptRanges { head.append(contentsOf: "Accept-Ranges: bytes\r\n".utf8) }
        // RFC 9110 §8.6: a 204 must not have a length, and that of a 304 would have to be the length of the
        // unsent body.
        if let byteCount, status != 204, status != 304 {
            head.append(contentsOf: "Content-Length: \(byteCount)\r\n".utf8)
        }
        head.append(contentsOf: "\r\n".utf8)
        return head
    }
}

/// The header lines of an answer that this server made, each with its CRLF.
struct HeadLines: Sequence, IteratorProtocol {
    private var rest: ArraySlice<UInt8>

    init(_ answer: Answer) {
        // Without the status line, which the call of `next` skips, and without the empty line.
        rest = answer.bytes[..<(answer.headCount - 2)]
        _ = next()
    }

    mutating func next() -> ArraySlice<UInt8>? {
        guard let end = rest.firstIndex(of: 0x0a) else { return nil }
        defer { rest = rest[(end + 1)...] }
        return rest[...end]
    }

    /// Whether the line's name is one of `names`, which must be in lower case.
    static func isNamed(_ line: ArraySlice<UInt8>, _ names: [StaticString]) -> Bool {
        let name = line.prefix { $0 != 0x3a }
        return names.contains { text in
            text.withUTF8Buffer { isSameName(name, $0) }
        }
    }

    /// The value of the line, without the line end.
    static func value(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        line.drop { $0 != 0x3a }.dropFirst().drop { $0 == 0x20 }.dropLast(2)
    }

    /// Compares without regard to the case of `name`. `text` must be in lower case.
    static func isSameName(_ name: some Collection<UInt8>, _ text: some Collection<UInt8>) -> Bool {
        name.count == text.count && zip(name, text).allSatisfy { HeadSyntax.lowercased($0) == $1 }
    }
}
