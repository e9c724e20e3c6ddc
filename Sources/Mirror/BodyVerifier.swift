internal import Store
internal import Synchronization
internal import System

/// When stored bodies are hashed before they are served.
public enum Verification: String, Sendable, CaseIterable {
    /// The first time that this server serves them, and again if their file has changed.
    case once
    /// Each time. No response is kept in memory then.
    case always
    /// Never: they were hashed when they were stored. A body that a manifest requires is hashed as with
    /// `once`.
    case never
}

/// Checks whether stored bodies still have the bytes that were stored. Any thread may use it.
///
/// A body is hashed again as soon as the file with its bytes has another state. Bodies in the database are
/// small, and are hashed each time.
final class BodyVerifier: Sendable {
    let verification: Verification
    /// The state of the file when the body was hashed, by the SHA-256 of the body.
    private let known = Mutex<[[UInt8]: FileStamp]>([:])

    /// The maximum number of entries in `known`. Further bodies are hashed each time.
    private static let maxKnown = 100_000

    init(_ verification: Verification) { self.verification = verification }

    /// Whether a response may be kept in memory.
    var allowsKeeping: Bool { verification != .always }

    /// The result of a check.
    enum Finding {
        case missing
        case damaged
        /// The bytes match. The stamp is for a file that is sent later: it must still be the file that was
        /// hashed. Nil if there is no file, or if it was not hashed.
        case whole(BodyContent, FileStamp?)
    }

    /// Returns the bytes of a body, and hashes them if that is due.
    ///
    /// - Parameter isRequired: Whether a manifest has a digest of the body.
    func content(
        of body: StoredBody, in reader: StoreReader, isRequired: Bool = false
    ) throws(StoreError) -> Finding {
        // Read before the bytes, so that a later change of the file changes the stamp.
        let isHashed = verification != .never || isRequired
        var stamp = isHashed ? try reader.bodies.fileStamp(of: body) : nil
        guard let content = try reader.content(of: body) else { return .missing }
        guard isHashed else { return .whole(content, nil) }
        var sent: FileStamp?
        if case .file(let path) = content {
            // The file is a copy if the body is in PostgreSQL.
            if stamp == nil { stamp = FileStamp(path) }
            sent = stamp
        }
        if verification != .always, let stamp, known.withLock({ $0[body.sha256] }) == stamp {
            return .whole(content, sent)
        }
        guard try body.isIntact(content) else { return .damaged }
        if let stamp {
            known.withLock { known in
                if known.count < Self.maxKnown || known[body.sha256] != nil { known[body.sha256] = stamp }
            }
        }
        return .whole(content, sent)
    }
}
