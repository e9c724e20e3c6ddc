import TestOrigin

/// The real `larder`, run as a person would run it.
typealias Command = ChildProcess

extension ChildProcess {
    /// - Parameters:
    ///   - environment: added to a bare one, in which HOME is an empty folder and there is no browser.
    ///   - shell: a script that runs it as `exec "$0" "$@"`, and changes something around it.
    ///   - blocksOutput: false makes its standard output a pipe that refuses to wait for its reader.
    init(
        _ arguments: [String], home: TemporaryFolder, environment: [String: String] = [:],
        shell: String? = nil,
        blocksOutput: Bool = true
    ) throws(TestError) {
        let larder = Self.built("larder")
        try self.init(
            shell == nil ? larder : "/bin/sh", (shell.map { ["-c", $0, larder] } ?? []) + arguments,
            environment: ["HOME": home.path, "PATH": "/usr/bin:/bin", "LARDER_CHROMIUM": ""].merging(
                environment
            ) { $1 },
            blocksOutput: blocksOutput)
    }

    /// Runs it to its end.
    static func run(
        _ arguments: String..., home: TemporaryFolder, environment: [String: String] = [:]
    ) throws(TestError) -> Ending {
        try Command(arguments, home: home, environment: environment).wait()
    }
}

/// The tests' own kind, by a name that larder's has not.
typealias HomeFolder = TemporaryFolder
