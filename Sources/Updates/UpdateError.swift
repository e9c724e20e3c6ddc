package import Store
package import System

/// The reason why an update file cannot be written or used. Its description says what failed, why and what to do.
package struct UpdateError: Error, Sendable, Equatable, CustomStringConvertible {
    package enum Kind: Sendable, Equatable {
        /// A name or an option is wrong.
        case input
        /// The file is damaged or incomplete, or exceeds a limit. Nothing of it is used.
        case refused
        /// The disk, the store or a library failed.
        case machine
        case interrupted
    }

    package let kind: Kind
    package let description: String

    package init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }

    package init(_ error: SystemError) {
        self.init(.machine, error.description)
    }

    package init(_ error: StoreError) {
        self.init(error.reason == .request ? .input : .machine, error.description)
    }

    /// The error for a file that does not have the form that `UpdateWriter` gives it.
    static func damagedFile(_ path: String, _ detail: String) -> UpdateError {
        UpdateError(
            .refused, "the update file \(path) is refused: \(detail); copy it again from its publisher")
    }

    /// The error for a file that asks for more than a limit allows.
    static func excessive(_ path: String, _ detail: String) -> UpdateError {
        UpdateError(
            .refused, "the update file \(path) is refused: \(detail); ask its publisher for a smaller update")
    }

    static let interrupted = UpdateError(.interrupted, "interrupted; run the same command again")

    /// Runs a closure and converts its error.
    static func wrapping<Value: ~Copyable>(
        _ body: () throws(SystemError) -> Value
    ) throws(UpdateError) -> Value {
        do throws(SystemError) { return try body() } catch { throw UpdateError(error) }
    }

    static func storing<Value>(_ body: () throws(StoreError) -> Value) throws(UpdateError) -> Value {
        do throws(StoreError) { return try body() } catch { throw UpdateError(error) }
    }
}
