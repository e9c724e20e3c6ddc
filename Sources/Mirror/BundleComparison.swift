internal import Bundles
internal import Digest
internal import Store
internal import Synchronization
internal import Web

/// The result of comparing a body with the digest that an active manifest requires.
///
/// Clients learn the result from the header `Larder-Bundle`:
///
/// - `verified; by=sha256; md5=…`: the body matches, and is sent byte for byte. If the manifest had to be signed, also
///   `signer=RW…`, the key. It is a token of RFC 9651, so that it has no quotes.
/// - `unverified; by=md5; md5=…`: it matches only a digest that is weaker than the user requires.
/// - `differs; md5=…`: it does not match, and is served until the required body is available.
struct BundleComparison {
    /// Whether the body matches, and is therefore sent without any changes.
    let isVerified: Bool
    /// The description of the difference, if there is one.
    let mismatch: String?
    private let digests: [Digest]
    /// The strongest digest that the body was compared with.
    private let proof: DigestAlgorithm?
    /// The trusted key that signed the manifest; nil if no signature was required.
    private let signer: String?
    /// Whether the body matches only a digest that is weaker than the user requires.
    private let isWeak: Bool

    /// Compares a stored body. Reads it only if its stored digests do not decide.
    init(
        _ bundle: Bundle, _ body: StoredBody, _ content: BodyContent, _ stated: ResponseIntegrity
    ) throws(StoreError) {
        var known = [body.sha256Digest, body.md5.flatMap { Digest(.md5, bytes: $0) }].compactMap { $0 }
        var finding =
            known.count == 2 ? bundle.finding(knowing: known, byteCount: body.byteCount, stated) : nil
        if finding == nil {
            let meter = BundleMeter(bundle, stated, and: [.sha256, .md5])
            try content.eachPiece { meter.update($0) }
            let measured = meter.measurement()
            known = measured.decoded.digests.filter { [.sha256, .md5].contains($0.algorithm) }
            finding = bundle.finding(on: measured)
        }
        self.init(bundle, finding, known)
    }

    /// Compares a body that was just loaded.
    init(_ bundle: Bundle, _ bytes: [UInt8], _ stated: ResponseIntegrity) {
        let meter = BundleMeter(bundle, stated, and: [.sha256, .md5])
        meter.update(bytes.span)
        let measured = meter.measurement()
        self.init(bundle, bundle.finding(on: measured), measured.decoded.digests)
    }

    private init(_ bundle: Bundle, _ finding: Finding?, _ digests: [Digest]) {
        proof = bundle.strongestAlgorithm ?? finding?.signedAlgorithm
        signer = bundle.signer
        isWeak = if case .unverifiable? = finding?.verdict { bundle.reasonTooWeak != nil } else { false }
        isVerified = finding?.verdict == .verified
        mismatch = if case .mismatch(let mismatch) = finding?.verdict { mismatch.description } else { nil }
        self.digests = digests
    }

    /// The digest fields of an answer that contains exactly these bytes (RFC 9530).
    var fields: [(String, String)] {
        let whole = digests.filter { [.sha256, .md5].contains($0.algorithm) }
            .map { FieldDigest(algorithm: $0.algorithm == .md5 ? "md5" : "sha-256", bytes: $0.bytes).text }
            .sorted()
        return [
            ("Repr-Digest", whole.reversed().joined(separator: ", ")),
            ("Larder-Bundle", "verified" + by + (signer.map { "; signer=\($0)" } ?? "") + suffix(.md5)),
        ]
    }

    /// The header fields that go out with the body, from a mirror and from a proxy alike. The digest of a
    /// verified bundle proves its bytes alone. Fields by which its server would redirect the client, have it
    /// load more, or turn the bundle into a service worker, a download or a document are left out.
    func allowedFields(of stored: HTTPFields, at url: WebURL) -> HTTPFields {
        guard isVerified else { return stored }
        var fields = stored.removing(["refresh", "link", "service-worker-allowed", "content-disposition"])
        let ending = url.path.utf8.lastIndex(of: 0x2E).map {
            url.path[url.path.index(after: $0)...].lowercased()
        }
        if let type = stored.contentType, type.isHTML || type.isXML,
            let own = ending.flatMap({ Self.typesByEnding[$0] })
        {
            fields.set("Content-Type", own)
        }
        return fields
    }

    /// The media type of a bundle by its file extension, used if its server sent it as a document.
    private static let typesByEnding = [
        "js": "text/javascript", "mjs": "text/javascript", "cjs": "text/javascript",
        "json": "application/json",
        "css": "text/css", "wasm": "application/wasm", "bundle": "application/octet-stream",
        "jsbundle": "text/javascript", "map": "application/json",
    ]

    /// The fields of a body that does not match or is not verified, and is served until the required one is
    /// available.
    var differingFields: [(String, String)] {
        [("Larder-Bundle", (isWeak ? "unverified" + by : "differs") + suffix(.md5))]
    }

    /// The algorithm of the digest that the body was compared with, as a parameter of `Larder-Bundle`.
    private var by: String { proof.map { "; by=\($0.rawValue)" } ?? "" }

    /// The entity tag of the unchanged body: its SHA-256, so that it is the same in every snapshot and on every server.
    var tag: String? { digests.first { $0.algorithm == .sha256 }.map { "\"\($0.hex)\"" } }

    /// A digest of the body as a parameter of `Larder-Bundle`.
    private func suffix(_ algorithm: DigestAlgorithm) -> String {
        digests.first { $0.algorithm == algorithm }.map { "; \(algorithm.rawValue)=\($0.hex)" } ?? ""
    }
}

extension StoredBody {
    fileprivate var sha256Digest: Digest? { Digest(.sha256, bytes: sha256) }
}
