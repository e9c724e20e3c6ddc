internal import Bundles
internal import Digest
internal import Store
internal import Synchronization
internal import Web

/// A body for which a manifest in force requires a digest, and what it is by that.
struct ShownBundle {
    /// It is as it has to be, and goes out byte for byte.
    let isVerified: Bool
    /// What is wrong with it, in words.
    let mismatch: String?
    private let digests: [Digest]

    init(_ bundle: Bundle, _ body: StoredBody, _ content: BodyContent) throws(StoreError) {
        var known = [body.sha256Digest, body.md5.flatMap { Digest(.md5, bytes: $0) }].compactMap { $0 }
        var finding = known.count == 2 ? bundle.finding(knowing: known, byteCount: body.byteCount) : nil
        if finding == nil {
            let meter = BundleMeter(bundle, and: [.sha256, .md5])
            try content.eachPiece { meter.update($0) }
            let measured = meter.measurement()
            known = measured.decoded.digests.filter { [.sha256, .md5].contains($0.algorithm) }
            finding = bundle.finding(on: measured)
        }
        self.init(finding, known)
    }

    init(_ bundle: Bundle, _ bytes: [UInt8]) {
        let meter = BundleMeter(bundle, and: [.sha256, .md5])
        meter.update(bytes.span)
        let measured = meter.measurement()
        self.init(bundle.finding(on: measured), measured.decoded.digests)
    }

    private init(_ finding: Finding?, _ digests: [Digest]) {
        isVerified = finding?.verdict == .verified
        mismatch = if case .mismatch(let mismatch) = finding?.verdict { mismatch.description } else { nil }
        self.digests = digests
    }

    /// What an answer with exactly these bytes says of them (RFC 9530).
    var fields: [(String, String)] {
        let whole = digests.filter { [.sha256, .md5].contains($0.algorithm) }
            .map { FieldDigest(algorithm: $0.algorithm == .md5 ? "md5" : "sha-256", bytes: $0.bytes).text }
            .sorted()
        return [
            ("Repr-Digest", whole.reversed().joined(separator: ", ")),
            ("Larder-Bundle", "verified" + told(.md5)),
        ]
    }

    /// What is shown until what is required has come.
    var differingFields: [(String, String)] { [("Larder-Bundle", "differs" + told(.md5))] }

    var tag: String? { digests.first { $0.algorithm == .sha256 }.map { "\"\($0.hex)\"" } }

    private func told(_ algorithm: DigestAlgorithm) -> String {
        digests.first { $0.algorithm == algorithm }.map { "; \(algorithm.rawValue)=\($0.hex)" } ?? ""
    }
}

extension StoredBody {
    fileprivate var sha256Digest: Digest? { Digest(.sha256, bytes: sha256) }
}

/// When held bodies are hashed before they are shown.
public enum Verification: String, Sendable, CaseIterable {
    /// The first time that this server shows them.
    case once
    /// Each time; nothing is kept ready then.
    case always
    /// Not at all: they were when they came. But of nothing that a manifest requires is said that it verifies
    /// before this server has hashed it once.
    case never
}

/// Finds out whether held bodies still are what came. Any thread may use it.
final class BodyVerifier: Sendable {
    let verification: Verification
    private let known = Mutex<Set<[UInt8]>>([])

    /// More are hashed again.
    private static let mostKnown = 100_000

    init(_ verification: Verification) { self.verification = verification }

    /// Whether what is shown may be kept ready.
    var allowsKeeping: Bool { verification != .always }

    /// - Parameter isRequired: a manifest says what it has to be.
    func isWhole(
        _ content: BodyContent, _ body: StoredBody, isRequired: Bool = false
    ) throws(StoreError) -> Bool {
        switch verification {
        case .never where !isRequired: return true
        case .always: return try body.isWhole(content)
        case .never, .once:
            if known.withLock({ $0.contains(body.sha256) }) { return true }
            guard try body.isWhole(content) else { return false }
            known.withLock { known in
                if known.count < Self.mostKnown { known.insert(body.sha256) }
            }
            return true
        }
    }
}
