internal import Glibc
internal import LarderKit

extension Arguments {
    var larder: Larder {
        var environment: [String: String] = [:]
        for name in ["LARDER_STORE", "XDG_DATA_HOME", "HOME"] {
            environment[name] = getenv(name).map { String(cString: $0) }
        }
        return Larder(at: text(.store) ?? Larder.defaultPath(environment: environment))
    }

    /// How to name the same larder in another command.
    var storeWords: String { text(.store).map { " --store \(Self.quoted($0))" } ?? "" }

    private static func quoted(_ path: String) -> String {
        let isPlain = path.utf8.allSatisfy { byte in
            (0x2d...0x39).contains(byte) || (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte) || byte == 0x5f
        }
        return isPlain ? path : "'" + path.replacing("'", with: "'\\''") + "'"
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
            }
        } catch {
            fail("\(error)")
            return .unable
        }
    }
}
