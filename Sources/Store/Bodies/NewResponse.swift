internal import Codings
package import Digest
internal import Glibc

/// What was learnt about one URL, for the writer to keep.
package struct NewResponse: Sendable {
    package var href: String
    /// A small number that its writer uses for this URL only; then the URL is looked up but once.
    package var number: UInt32?
    /// The row of its URL, where it is known to whoever holds the site.
    package var row: Int64?
    package var request = RequestKey.get
    /// The text of its `VaryKey`.
    package var variant = ""
    /// The page that first asked for it.
    package var referrer: String?
    /// The same kind of number for that.
    package var referrerNumber: UInt32?
    package var status: Int
    /// 0 for a page, 1 for an asset: the raw value that Markup gives the role.
    package var role: UInt8
    package var flags: ResponseFlags = []
    /// The media type, without parameters.
    package var type: String?
    /// The header block, a line each.
    package var fields: String
    /// When it was asked for, and when the answer came: seconds since 1970.
    package var requested: Int64
    package var fetched: Int64
    package var body: Body

    package enum Body: Sendable {
        /// A redirect, or a tombstone (404, 410).
        case none
        case new(NewBody)
        /// One that the store has: the origin confirmed it.
        case held(StoredBody)
    }

    package init(
        href: String, referrer: String?, status: Int, role: UInt8, fields: String, fetched: Int64, body: Body
    ) {
        self.href = href
        self.referrer = referrer
        self.status = status
        self.role = role
        self.fields = fields
        requested = fetched
        self.fetched = fetched
        self.body = body
    }

    /// A response that was stored before, to be stored again.
    package init(restoring stored: StoredResponse) {
        self.init(
            href: stored.href, referrer: nil, status: stored.status, role: stored.role, fields: stored.fields,
            fetched: stored.fetched, body: stored.body.map(Body.held) ?? .none)
        requested = stored.requested
        (request, variant, type, flags) = (stored.request, stored.variant, stored.type, stored.flags)
    }

    /// It counts among the pages that a snapshot may ask for.
    var isPage: Bool { role == 0 && request == .get }
}

/// A body for the writer, with the digest that it is kept under.
package struct NewBody: Sendable {
    /// How the bytes are read: format and character set.
    package let form: String
    package let title: String?
    /// The link table, as Markup encodes it.
    package let links: [UInt8]
    package let content: BodyContent
    package let byteCount: Int
    /// The same as it is kept, where zstd makes little of it.
    let frame: [UInt8]?
    package let sha256: Digest
    /// Where somebody has computed it: then nobody has to again.
    package var md5: Digest?

    /// Equal for equal contents.
    package var fingerprint: UInt64 { Self.fingerprint(of: sha256) }

    package static func fingerprint(of sha256: Digest) -> UInt64 {
        sha256.bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Reads the content once to know its digest, makes it small, and puts a large one into a file of
    /// `folder`, so that what waits for the writer is bounded. All this happens on the thread that asks.
    ///
    /// - Parameter sha256: where somebody has computed it already.
    package init(
        _ content: BodyContent, form: String, title: String? = nil, links: [UInt8],
        measured: (sha256: Digest, byteCount: Int)? = nil, in folder: StoreFolder
    ) throws(StoreError) {
        (sha256, byteCount) = if let measured { measured } else { try content.measure() }
        self.form = form
        self.title = title
        self.links = links
        frame = try Self.frame(of: content, byteCount: byteCount, form: form, in: folder)
        if frame == nil, case .bytes(let bytes) = content, bytes.count > Limits.packedBody {
            self.content = .file(path: try BodyFiles.write(bytes, in: folder))
        } else {
            self.content = content
        }
    }

    /// Nil for what stays as it is: it would not be much smaller, or a file serves it better.
    private static func frame(
        of content: BodyContent, byteCount: Int, form: String, in folder: StoreFolder
    ) throws(StoreError) -> [UInt8]? {
        guard folder.compresses, folder.server == nil,
            StoredBody.mayBeFrame(form: form, byteCount: byteCount),
            let frame = ZstdFrame.packed(try content.load()),
            frame.count <= Limits.packedBody
        else { return nil }
        return frame
    }

    /// What of it goes into a pack.
    var packedBytes: [UInt8]? {
        if let frame { return frame }
        if case .bytes(let bytes) = content { return bytes }
        return nil
    }
}

/// The links of the body that a URL has in a snapshot.
package struct NewLinks: Sendable {
    package struct Target: Sendable {
        /// Nil when the number was told before.
        package let href: String?
        /// The number that its writer uses for this URL only, if it numbers any.
        package let number: UInt32
        let isNumbered: Bool

        package init(href: String?, number: UInt32) {
            self.href = href
            self.number = number
            isNumbered = true
        }

        /// Of a writer that numbers none.
        package init(href: String) {
            self.href = href
            number = 0
            isNumbered = false
        }
    }

    package let source: Target
    package var pages: [Target] = []
    package var assets: [Target] = []
    /// What may be no link at all.
    package var guesses: [Target] = []
    /// They come to those that are kept, in place of which other lists are put.
    package var areFurther = false

    package init(from source: Target) {
        self.source = source
    }

    var count: Int { pages.count + assets.count + guesses.count }
}
