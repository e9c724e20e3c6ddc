/// The reason why a repository cannot be read, changed or published. Its description says what to do.
package struct RepositoryError: Error, Sendable, Equatable, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }

    /// The user asked for something that cannot be done.
    package static func input(_ description: String) -> RepositoryError { RepositoryError(description) }

    /// A file of the repository is not valid.
    private static func malformedFile(_ file: String, _ detail: String) -> RepositoryError {
        RepositoryError("\(file): \(detail); restore it from a backup")
    }

    /// The repository has not been created.
    static let notCreated = RepositoryError("there is no repository; create one first")

    /// Signatures of a role are missing, and its key is not among those that were given.
    static func missingSignatures(_ role: RepositoryRole, _ count: Int) -> RepositoryError {
        RepositoryError(
            "\(role.rawValue) needs \(count == 1 ? "1 more signature" : "\(count) more signatures"); "
                + "give the keys of this role")
    }

    /// Clients would not accept the result.
    static func rejectedByClients(_ error: TUFError) -> RepositoryError {
        RepositoryError(
            "clients would reject the result, so that nothing was published: \(error.file): \(error.detail)")
    }

    /// Runs `body` and turns the error of a reader into one of a repository.
    static func map<Value>(_ body: () throws(TUFError) -> Value) throws(RepositoryError) -> Value {
        do throws(TUFError) { return try body() } catch { throw .malformedFile(error.file, error.detail) }
    }
}
