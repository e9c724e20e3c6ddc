package import Digest

/// One thing that somebody says of a body: a manifest, a header field, an ETag, a file's name.
package struct Claim: Sendable, Hashable {
    package enum Content: Sendable, Hashable {
        case digest(Digest)
        /// Any of its strongest digests will do.
        case integrity(Integrity)
        case byteCount(Int)
        /// Lower-case hexadecimal digits with which the digest begins.
        case prefix(DigestAlgorithm, String)
    }

    package enum Subject: String, Sendable, Hashable {
        /// What is left when every content coding is undone: what a browser runs, and what a larder holds.
        case decoded
        /// What a server sends: with its content coding, without transfer coding. Without a coding it is the same.
        case encoded
    }

    package enum Strength: Sendable, Hashable {
        /// When it does not hold, the body is not what it should be.
        case strong
        /// It may mean something else, or agree by chance. It is told, and neither fails nor proves anything.
        case weak
    }

    package var content: Content
    package var subject: Subject
    package var strength: Strength
    /// Who says so, as people know it: `md5`, `integrity`, `Repr-Digest`, `ETag`, `file name`.
    package var source: String

    package init(_ content: Content, of subject: Subject = .decoded, _ strength: Strength = .strong, source: String) {
        self.content = content
        self.subject = subject
        self.strength = strength
        self.source = source
    }

    /// Under the name that manifests use for the algorithm.
    package init(_ digest: Digest) {
        self.init(.digest(digest), source: digest.algorithm.rawValue)
    }

    package init(byteCount: Int) {
        self.init(.byteCount(byteCount), source: Self.sizeSource)
    }

    static let sizeSource = "size"

    package init(_ integrity: Integrity) {
        self.init(.integrity(integrity), source: "integrity")
    }

    /// What has to be computed to hold a body against it; nil when nothing has to.
    package var algorithm: DigestAlgorithm? {
        switch content {
        case .digest(let digest): digest.algorithm
        case .integrity(let integrity): integrity.algorithm
        case .byteCount: nil
        case .prefix(let algorithm, _): algorithm
        }
    }

    /// Whether a body for which it holds is, as far as digests can tell, the one that is meant.
    package var isProof: Bool {
        guard strength == .strong else { return false }
        switch content {
        case .digest: return true
        case .integrity(let integrity): return integrity.algorithm != nil
        case .byteCount, .prefix: return false
        }
    }
}
