package import Markup
package import System
package import Web

/// A complete HTTP response that any number of clients can share: the head as bytes, and the body as bytes or as a file.
///
/// It is immutable, so that it can be cached in memory. In the common case, the server sends `bytes` with one system
/// call. A `Reply` combines an answer with the properties that differ by client, and `OutgoingResponse` derives from it
/// what one client is sent, such as a 304 or 206.
package final class Answer: Sendable {
    package let status: Int
    /// The head, followed by the body unless `file` contains the body.
    package let bytes: [UInt8]
    /// The number of bytes of the head, including the empty line.
    let headByteCount: Int
    package let entityTag: String?
    let lastModified: String?
    /// Whether the head contains `Date`. Stored responses keep that of their origin; the server adds one to others.
    let hasDate: Bool
    /// The file with the body, if the body is large; nil if the body is in `bytes`.
    package let file: FileBody?
    /// The rules for pages of other origins that request the response.
    package let sharing: Sharing
    /// The time for which the cache in memory may serve the answer without validation; nil if it may until the store
    /// changes.
    package let freshness: Freshness?
    /// The text of the `VaryKey`: the values of the request's header fields that `Vary` names. The answer is valid for
    /// requests with the same key.
    package let variant: String
    /// The body compressed with zstd, for clients that accept it; nil if it is not stored in this form.
    package let zstdBody: [UInt8]?
    /// How the body may be compressed with earlier versions of it; nil if it may not.
    package let dictionary: DictionaryTerms?

    /// A body that is sent from a file.
    package struct FileBody: Sendable {
        package let path: String
        /// The length of the body as it is sent.
        package let byteCount: Int
        /// The changes that are made to the file while it is sent.
        package var patch: Patch?
        /// The state of the file (its size and times) when its digest was verified. A file in another state is not
        /// sent. Nil for a file that was not verified.
        package var stamp: FileStamp?

        package init(path: String, byteCount: Int, patch: Patch? = nil, stamp: FileStamp? = nil) {
            (self.path, self.byteCount, self.patch, self.stamp) = (path, byteCount, patch, stamp)
        }
    }

    /// Creates an answer with a body in memory.
    ///
    /// `Content-Length` and `Accept-Ranges` are added to the fields.
    package init(
        status: Int, fields: [(name: String, value: String)], body: [UInt8], zstdBody: [UInt8]? = nil,
        sharing: Sharing = .portal, freshness: Freshness? = nil, variant: String = "",
        dictionary: DictionaryTerms? = nil
    ) {
        var bytes = Self.head(
            status: status, fields: fields, byteCount: body.count, extraCapacity: body.count)
        headByteCount = bytes.count
        bytes.append(contentsOf: body)
        self.status = status
        self.bytes = bytes
        self.zstdBody = zstdBody
        self.dictionary = dictionary
        (entityTag, lastModified, hasDate) = Self.validators(fields)
        file = nil
        self.sharing = sharing
        self.freshness = freshness
        self.variant = variant
    }

    /// Creates an answer with a body in a file.
    package init(
        status: Int, fields: [(name: String, value: String)], file: FileBody, sharing: Sharing = .portal,
        freshness: Freshness? = nil, variant: String = "", dictionary: DictionaryTerms? = nil
    ) {
        self.status = status
        bytes = Self.head(status: status, fields: fields, byteCount: file.byteCount, extraCapacity: 0)
        headByteCount = bytes.count
        zstdBody = nil
        self.dictionary = dictionary
        (entityTag, lastModified, hasDate) = Self.validators(fields)
        self.file = file
        self.sharing = sharing
        self.freshness = freshness
        self.variant = variant
    }

    /// Creates an answer to a HEAD request. Use it only for those: it has no body that could be sent.
    ///
    /// - Parameter byteCount: The length of the body that a GET request would get; nil if unknown.
    package init(
        headOf status: Int, fields: [(name: String, value: String)], byteCount: Int?, sharing: Sharing
    ) {
        self.status = status
        bytes = Self.head(status: status, fields: fields, byteCount: byteCount, extraCapacity: 0)
        headByteCount = bytes.count
        (zstdBody, dictionary) = (nil, nil)
        (entityTag, lastModified, hasDate) = Self.validators(fields)
        // Without a path: only the length is used.
        file = FileBody(path: "", byteCount: byteCount ?? 0)
        self.sharing = sharing
        freshness = nil
        variant = ""
    }

    private init(_ answer: Answer, head: [UInt8]) {
        status = answer.status
        bytes = head + answer.bytes[answer.headByteCount...]
        headByteCount = head.count
        (zstdBody, dictionary) = (answer.zstdBody, answer.dictionary)
        (entityTag, lastModified, hasDate) = (answer.entityTag, answer.lastModified, answer.hasDate)
        (file, sharing, freshness, variant) = (answer.file, answer.sharing, answer.freshness, answer.variant)
    }

    /// The status line, with its CRLF.
    private var statusLine: [UInt8] { Array(bytes.prefix { $0 != 0x0a }) + [0x0a] }

    /// Returns the answer with a further header field, which is put before the others.
    package func adding(_ field: (name: String, value: String)) -> Answer {
        var head = statusLine
        head += "\(field.name): \(field.value)\r\n".utf8
        for line in HeadLines(self) { head += line }
        return Answer(self, head: head + [0x0d, 0x0a])
    }

    /// The answer without `Cross-Origin-Opener-Policy`, for clients that are sent another value of this field in
    /// `Reply.clientFields`. Browsers ignore the policy if the field occurs twice.
    package var withoutOpenerPolicy: Answer {
        let name: [StaticString] = ["cross-origin-opener-policy"]
        guard HeadLines(self).contains(where: { HeadLines.isNamed($0, name) }) else { return self }
        var head = statusLine
        for line in HeadLines(self) where !HeadLines.isNamed(line, name) { head += line }
        return Answer(self, head: head + [0x0d, 0x0a])
    }

    /// Whether the file of the body, if there is one, is still in the state in which it was verified. Calls `stat`.
    package var isCurrent: Bool {
        guard let file, let stamp = file.stamp else { return true }
        return FileStamp(file.path) == stamp
    }

    /// The length of the body, in memory or in the file.
    package var bodyByteCount: Int { file?.byteCount ?? bytes.count - headByteCount }

    /// The body as it is sent; nil if it is larger than `maxBytes`, or if its file changed or cannot be read.
    package func wholeBody(maxBytes: Int) -> [UInt8]? {
        guard bodyByteCount <= maxBytes else { return nil }
        guard let file else { return Array(bytes[headByteCount...]) }
        // Checked after reading, too: the file may be replaced in between.
        guard isCurrent,
            let stored = try? WholeFile.read(file.path, atMost: maxBytes + Self.maxPatchedBytes), isCurrent
        else { return nil }
        let body = file.patch?.apply(to: stored) ?? stored
        return body.count == bodyByteCount ? body : nil
    }

    /// The number of bytes by which a file may be longer than the body that is made from it.
    private static let maxPatchedBytes = 1 << 20

    /// The value of the first field of this name, which must be in lower case.
    package func value(of name: StaticString) -> String? {
        HeadLines(self).first { HeadLines.isNamed($0, [name]) }
            .map { String(decoding: HeadLines.value($0), as: UTF8.self) }
    }

    /// The memory that the answer uses, in bytes. The body in a file does not count.
    package var memoryByteCount: Int {
        bytes.capacity + (file?.patch?.memoryByteCount ?? 0) + (zstdBody?.capacity ?? 0)
    }

    /// Whether the server can send exactly `bytes` to a client whose request changes nothing in the response
    /// (`RequestHead.canSendUnchanged`).
    var canSendUnchanged: Bool { hasDate && file == nil && zstdBody == nil }

    /// Returns an answer with a plain text in UTF-8.
    package static func text(
        _ status: Int, _ text: String, fields: [(name: String, value: String)] = [],
        sharing: Sharing = .portal
    ) -> Answer {
        Answer(
            status: status, fields: [("Content-Type", "text/plain; charset=utf-8")] + fields,
            body: Array(text.utf8),
            sharing: sharing)
    }

    /// Returns an answer with a text that explains an error. If a page requested it as a subresource, such as a script or
    /// with `fetch`, the answer has the expected media type and an empty body instead: the page could show the text as
    /// if it were its data.
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

    /// Returns an answer with an HTML document in UTF-8.
    package static func html(
        _ status: Int, _ html: String, fields: [(name: String, value: String)] = [],
        sharing: Sharing = .portal
    ) -> Answer {
        Answer(
            status: status, fields: [("Content-Type", "text/html; charset=utf-8")] + fields,
            body: Array(html.utf8),
            sharing: sharing)
    }

    /// Returns a temporary redirect without a body.
    ///
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

    /// Returns the validators among the fields, which a client's preconditions are compared with, and whether there is a
    /// `Date`.
    private static func validators(
        _ fields: [(name: String, value: String)]
    ) -> (entityTag: String?, lastModified: String?, hasDate: Bool) {
        func value(_ name: String) -> String? {
            fields.first { HeadLines.isSameName($0.name.utf8, name.utf8) }?.value
        }
        return (value("etag"), value("last-modified"), value("date") != nil)
    }

    /// Returns the head: the status line, the header fields and the empty line.
    ///
    /// - Parameters:
    ///   - byteCount: The length of the body; nil for no `Content-Length`.
    ///   - extraCapacity: The number of bytes that the caller will append.
    private static func head(
        status: Int, fields: [(name: String, value: String)], byteCount: Int?, extraCapacity: Int
    ) -> [UInt8] {
        func endsField(_ byte: UInt8) -> Bool { byte == 0x0d || byte == 0x0a || byte == 0 }
        var head: [UInt8] = []
        // Most heads are shorter than 512 bytes.
        head.reserveCapacity(512 + extraCapacity)
        head.append(
            contentsOf: (status == 200
                ? "HTTP/1.1 200 OK\r\n" : "HTTP/1.1 \(status) \(StatusPhrase.of(status))\r\n").utf8)
        var hasAcceptRanges = false
        for field in fields {
            if HeadLines.isSameName(field.name.utf8, "accept-ranges".utf8) { hasAcceptRanges = true }
            head.append(contentsOf: field.name.utf8)
            head.append(contentsOf: ": ".utf8)
            // Removes CR, LF and NUL, so that no value from an origin can end its field and add another one.
            let start = head.count
            HTTPGrammar.append(field.value, to: &head)
            if head.withUnsafeBufferPointer({ $0[start...].contains(where: endsField) }) {
                head.replaceSubrange(start..., with: head[start...].filter { !endsField($0) })
            }
            head.append(contentsOf: "\r\n".utf8)
        }
        // The server handles range requests for every body itself: see `ResponseSelection`.
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

/// The header lines of an answer, each with its CRLF. The status line and the empty line are left out.
///
/// The parsing relies on the syntax of the heads that `Answer` writes, and is not suitable for heads from clients or
/// origins.
struct HeadLines: Sequence, IteratorProtocol {
    private var rest: ArraySlice<UInt8>

    init(_ answer: Answer) {
        // The call of `next` skips the status line.
        rest = answer.bytes[..<(answer.headByteCount - 2)]
        _ = next()
    }

    mutating func next() -> ArraySlice<UInt8>? {
        guard let end = rest.firstIndex(of: 0x0a) else { return nil }
        defer { rest = rest[(end + 1)...] }
        return rest[...end]
    }

    /// Whether the line's field name is one of `names`, which must be in lower case.
    static func isNamed(_ line: ArraySlice<UInt8>, _ names: [StaticString]) -> Bool {
        let name = line.prefix { $0 != 0x3a }
        return names.contains { text in
            text.withUTF8Buffer { isSameName(name, $0) }
        }
    }

    /// Returns the field value of the line, without the line end.
    static func value(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        line.drop { $0 != 0x3a }.dropFirst().drop { $0 == 0x20 }.dropLast(2)
    }

    /// Whether the two field names are equal without regard to the case of `name`. `lowercased` must be in lower case.
    static func isSameName(_ name: some Collection<UInt8>, _ lowercased: some Collection<UInt8>) -> Bool {
        name.count == lowercased.count && zip(name, lowercased).allSatisfy { HeadSyntax.lowercased($0) == $1 }
    }
}
