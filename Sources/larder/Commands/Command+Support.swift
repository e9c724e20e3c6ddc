internal import Glibc
internal import LarderKit

extension Arguments {
    var larder: Larder { get throws(UsageError) { Larder(at: try store) } }

    /// The folder that holds the larder.
    private var store: String {
        get throws(UsageError) {
            if let path = text(.store) { return path }
            var environment: [String: String] = [:]
            for name in ["LARDER_STORE", "XDG_DATA_HOME", "HOME"] {
                environment[name] = getenv(name).map { String(cString: $0) }
            }
            let path = Larder.defaultPath(environment: environment)
            // Nobody looks for a larder in whatever folder a job happened to start in.
            guard path.hasPrefix("/") || path == environment["LARDER_STORE"] else {
                throw UsageError("HOME is not set: say where the larder is with --store DIR or $LARDER_STORE")
            }
            return path
        }
    }

    /// Nil when the option is not given.
    func size(_ option: Option) throws(UsageError) -> ByteSize? {
        guard let text = text(option) else { return nil }
        guard let size = ByteSize(text) else {
            throw UsageError("\(option.name) wants a size such as 500M, 2G, 1.5GiB or 0, not \"\(text)\"")
        }
        return size
    }

    /// A command on the same larder, to be typed or pasted into a shell.
    func command(_ name: String, _ operands: [String] = []) -> String {
        let words = [name] + operands + (text(.store).map { ["--store", $0] } ?? [])
        return "larder " + words.map(Self.quoted).joined(separator: " ")
    }

    /// The command that was given, with some options changed, on what is named.
    func repeated(_ name: String, _ operands: [String], with changes: [String: String] = [:]) -> String {
        "larder " + ([name] + operands + again(with: changes)).map(Self.quoted).joined(separator: " ")
    }

    private static func quoted(_ word: String) -> String {
        let isPlain = word.utf8.allSatisfy { byte in
            (0x2d...0x3a).contains(byte) || (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte) || byte == 0x5f
        }
        return isPlain && !word.isEmpty ? word : "'" + word.replacing("'", with: "'\\''") + "'"
    }
}

extension Terminal {
    /// Runs what a command does, says what stopped it, and gives the exit status.
    func attempt(_ body: () async throws -> ExitStatus) async -> ExitStatus {
        do {
            return try await body()
        } catch let error as UsageError {
            fail(error.message)
            return .usage
        } catch let error as LarderError {
            show("")
            fail(error.description)
            switch error.kind {
            case .input: return .usage
            case .machine: return .unable
            case .interrupted: return .interrupted
            }
        } catch {
            fail("\(error)")
            return .unable
        }
    }
}
