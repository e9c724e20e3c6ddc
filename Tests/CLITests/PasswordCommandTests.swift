import Glibc
import TestOrigin
import Testing

@Suite struct PasswordCommandTests {
    private let home: TemporaryFolder

    init() throws { home = try TemporaryFolder() }

    /// Runs the command with these words as its standard input.
    private func password(_ words: String, _ options: String...) throws -> Command.Ending {
        try Command(
            ["password"] + options, home: home, environment: ["WORDS": words],
            shell: #"printf '%s' "$WORDS" | exec "$0" "$@""#
        ).wait()
    }

    private var file: String { home.file(".local/share/larder/password") }

    /// Returns the content of the password file; nil if there is none.
    private func passwordText() -> String? {
        guard let file = fopen(file, "r") else { return nil }
        defer { fclose(file) }
        var bytes = [CChar](repeating: 0, count: 2000)
        let count = fread(&bytes, 1, bytes.count - 1, file)
        return String(decoding: bytes[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    @Test func `a password from standard input is stored as a hash, changed and removed`() throws {
        let set = try password("correct horse\n")
        #expect(set.status == 0, "\(set)")
        #expect((set.output + set.errors).contains("the password is set"))
        let first = try #require(passwordText())
        #expect(first.hasPrefix("scrypt") && !first.contains("correct horse"))
        var status = stat()
        #expect(stat(file, &status) == 0 && status.st_mode & 0o777 == 0o600)
        // Works without a line break at the end too. The salt is a new one.
        #expect(try password("correct horse").status == 0)
        #expect(passwordText() != first)
        let forgotten = try password("", "--forget")
        #expect(forgotten.status == 0 && (forgotten.output + forgotten.errors).contains("is removed"))
        #expect(passwordText() == nil)
        let again = try password("", "--forget")
        #expect(again.status == 0 && (again.output + again.errors).contains("no password was set"))
    }

    @Test(arguments: [
        ("short\n", "use eight characters or more"), ("", "no password was entered; type one"),
        ("\n", "no password was entered; type one"),
        (String(repeating: "x", count: 1025) + "\n", "the password is too"),
    ])
    func `an unusable password is refused, and changes nothing`(words: String, message: String) throws {
        #expect(try password("correct horse\n").status == 0)
        let before = passwordText()
        let ending = try password(words)
        #expect(ending.status == 2)
        #expect(ending.errors.contains(message), "\(ending)")
        #expect(passwordText() == before)
    }
}
