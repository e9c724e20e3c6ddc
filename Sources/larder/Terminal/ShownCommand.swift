internal import Glibc

extension CommandLine {
    /// A command of larder's, to be typed or pasted into a shell: by the name under which larder was called.
    static func shown(_ words: [String], program: String = program) -> String {
        ([program] + words).map(quoted).joined(separator: " ")
    }

    /// For those who look for programs elsewhere than a shell does.
    static var ownPath: String {
        guard let path = realpath("/proc/self/exe", nil) else { return program }
        defer { free(path) }
        return String(cString: path)
    }

    /// `scripts/larder` says so of itself.
    static var program: String {
        let name = getenv("LARDER_CALLED").map { String(cString: $0) } ?? ""
        return name.isEmpty ? "larder" : name
    }

    private static func quoted(_ word: String) -> String {
        let isPlain = word.utf8.allSatisfy { byte in
            (0x2d...0x3a).contains(byte) || (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte) || byte == 0x5f
                || byte == 0x3d
        }
        return isPlain && !word.isEmpty ? word : "'" + word.replacing("'", with: "'\\''") + "'"
    }
}
