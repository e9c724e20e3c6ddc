internal import Store
internal import Synchronization

/// When held bodies are hashed before they are shown.
public enum Verification: String, Sendable, CaseIterable {
    /// The first time that this server shows them.
    case once
    /// Each time; nothing is kept ready then.
    case always
    /// Not at all: they were when they came.
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

    func isWhole(_ content: BodyContent, _ body: StoredBody) throws(StoreError) -> Bool {
        switch verification {
        case .never: return true
        case .always: return try body.isWhole(content)
        case .once:
            if known.withLock({ $0.contains(body.sha256) }) { return true }
            guard try body.isWhole(content) else { return false }
            known.withLock { known in
                if known.count < Self.mostKnown { known.insert(body.sha256) }
            }
            return true
        }
    }
}
