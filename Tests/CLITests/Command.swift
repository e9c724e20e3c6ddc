import TestOrigin

/// A run of the built `larder` program as a child process.
typealias Command = ChildProcess

extension ChildProcess {
    /// - Parameters:
    ///   - environment: variables added to `HOME` (the empty folder `home`), `PATH` and a setting that hides Chromium.
    ///   - shell: a shell script that prepares something, and then runs the command with `exec "$0" "$@"`.
    ///   - blocksOutput: false makes standard output a non-blocking pipe.
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

    /// Runs the command, and returns its output and exit status.
    static func run(
        _ arguments: String..., home: TemporaryFolder, environment: [String: String] = [:]
    ) throws(TestError) -> Ending {
        try Command(arguments, home: home, environment: environment).wait()
    }
}

/// A temporary folder that is the home folder of a run. `larder` has a `TemporaryFolder` of its own.
typealias HomeFolder = TemporaryFolder
