internal import Codings
package import Database
package import Digest
internal import Glibc

/// A response for the writer to store.
package struct NewResponse: Sendable {
    package var href: String
    /// A small number that the caller uses for this URL only. The writer then looks the URL up once per
    /// snapshot.
    package var number: UInt32?
    /// The id of the URL's row, if the caller knows it.
    package var row: Int64?
    package var request = RequestKey.get
    /// The text of its `VaryKey`.
    package var variant = ""
    /// The URL of the page that first requested it.
    package var referrer: String?
    /// A number for `referrer`, as in `number`.
    package var referrerNumber: UInt32?
    package var status: Int
    /// The role, as Markup's raw value: 0 for a page, 1 for an asset.
    package var role: UInt8
    package var flags: ResponseFlags = []
    /// The media type, without parameters.
    package var type: String?
    /// The header block, with one header per line.
    package var fields: String
    /// When the request was sent, in seconds since 1970.
    package var requested: Int64
    /// When the response arrived, in seconds since 1970.
    package var fetched: Int64
    package var body: Body

    /// The body of a response, or its absence.
    package enum Body: Sendable {
        /// No body: a redirect, or a tombstone (404, 410).
        case none
        case new(NewBody)
        /// A body that is stored already, and that the origin confirmed.
        case stored(StoredBody)
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

    /// Makes a response that stores a stored response again.
    package init(restoring stored: StoredResponse) {
        self.init(
            href: stored.href, referrer: nil, status: stored.status, role: stored.role, fields: stored.fields,
            fetched: stored.fetched, body: stored.body.map(Body.stored) ?? .none)
        requested = stored.requested
        (request, variant, type, flags) = (stored.request, stored.variant, stored.type, stored.flags)
    }

    /// Whether it counts towards the limit of pages of a snapshot.
    var isPage: Bool { role == 0 && request == .get }
}

/// A body for the writer, with the digest that identifies it.
package struct NewBody: Sendable {
    /// How the bytes are read: format and character set.
    package let form: String
    package let title: String?
    /// The link table in the encoding of Markup.
    package let links: [UInt8]
    package let content: BodyContent
    package let byteCount: Int
    /// The body as a zstd frame, if that is much smaller.
    let frame: [UInt8]?
    package let sha256: Digest
    /// The MD5, if it was computed already.
    package var md5: Digest?

    /// The first 8 bytes of the SHA-256: equal for equal contents.
    package var fingerprint: UInt64 { Self.fingerprint(of: sha256) }

    package static func fingerprint(of sha256: Digest) -> UInt64 {
        sha256.bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Computes the digest of the content, compresses it, and writes a large body to a file in the store's
    /// `incoming` folder, so that the memory of bodies waiting for the writer is bounded. All this happens on
    /// the calling thread.
    ///
    /// - Parameter measured: The digest and the size, if the caller has computed them.
    package init(
        _ content: BodyContent, form: String, title: String? = nil, links: [UInt8],
        measured: (sha256: Digest, byteCount: Int)? = nil, in folder: StoreFolder
    ) throws(StoreError) {
        (sha256, byteCount) = if let measured { measured } else { try content.measure() }
        self.form = form
        self.title = title
        self.links = links
        frame = try Self.frame(of: content, byteCount: byteCount, form: form, in: folder)
        if frame == nil, case .bytes(let bytes) = content, bytes.count > Limits.maxPackedBodyBytes {
            self.content = .file(path: try BodyFiles.write(bytes, in: folder))
        } else {
            self.content = content
        }
    }

    /// Returns the zstd frame of the body. Nil if the store does not compress or is in PostgreSQL, the size
    /// or the form of the body is unsuitable, or the frame is not much smaller or too large for a pack.
    private static func frame(
        of content: BodyContent, byteCount: Int, form: String, in folder: StoreFolder
    ) throws(StoreError) -> [UInt8]? {
        guard folder.compresses, folder.server == nil,
            StoredBody.isCompressible(form: form, byteCount: byteCount),
            let frame = ZstdFrame.compress(try content.load()),
            frame.count <= Limits.maxPackedBodyBytes
        else { return nil }
        return frame
    }

    /// The bytes that go into a pack, if the body does.
    var packedBytes: [UInt8]? {
        if let frame { return frame }
        if case .bytes(let bytes) = content { return bytes }
        return nil
    }
}

/// The links of the body that a URL has in a snapshot.
package struct NewLinks: Sendable {
    /// The target of a link, by its URL or by a number that stands for a URL.
    package struct Target: Sendable {
        /// Nil if an earlier target with the same number had the URL.
        package let href: String?
        /// The number that its writer uses for this URL only, if it numbers any.
        package let number: UInt32
        let isNumbered: Bool

        package init(href: String?, number: UInt32) {
            self.href = href
            self.number = number
            isNumbered = true
        }

        /// Makes a target without a number.
        package init(href: String) {
            self.href = href
            number = 0
            isNumbered = false
        }
    }

    package let source: Target
    package var pages: [Target] = []
    package var assets: [Target] = []
    /// URLs that may not be links at all.
    package var guesses: [Target] = []
    /// Whether they are added to the stored links of the body, and do not replace them.
    package var extendsStoredLinks = false

    package init(from source: Target) {
        self.source = source
    }

    var count: Int { pages.count + assets.count + guesses.count }
}
