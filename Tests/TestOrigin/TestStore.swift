import Glibc

/// The location of the stores of tests: a folder, or a PostgreSQL server if `LARDER_TEST_STORE` is
/// `postgres`. A store on a server still has a folder for the files of this machine.
package enum TestStore {
    /// Whether tests of stores use a PostgreSQL server.
    package static let isPostgreSQL = getenv("LARDER_TEST_STORE").map { String(cString: $0) } == "postgres"

    /// Whether stores on a PostgreSQL server keep all bodies in a folder.
    package static let hasBodiesInFolder =
        getenv("LARDER_TEST_BODIES").map { String(cString: $0) } == "folder"

    /// The value of `--store` for the store of that folder.
    package static func place(_ folder: String) throws(TestError) -> String {
        guard isPostgreSQL else { return folder }
        return try TestPostgreSQL.running.get().place(folder)
    }
}

/// A private PostgreSQL server in a temporary folder, reached only by a socket in it. It ends when the
/// process that started it has ended for any reason.
package struct TestPostgreSQL: Sendable {
    /// The server of this process, started on first use.
    package static let running: Result<TestPostgreSQL, TestError> = Result { () throws(TestError) in
        try TestPostgreSQL()
    }

    /// Whether PostgreSQL is installed (Debian's package `postgresql`).
    package static let isInstalled = newestPrograms() != nil

    private let folder: TemporaryFolder
    private let process: ChildProcess

    static func newestPrograms() -> String? {
        (10...40).reversed().map { "/usr/lib/postgresql/\($0)/bin" }.first {
            access("\($0)/postgres", X_OK) == 0
        }
    }

    private init() throws(TestError) {
        guard let programs = Self.newestPrograms() else {
            throw TestError("starting a PostgreSQL: it is not installed (apt install postgresql)")
        }
        folder = try TemporaryFolder("pg")
        process = try ChildProcess(
            "/bin/sh", ["-c", Self.script, "sh", programs, folder.path, "\(getpid())"],
            environment: ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"])
        let output = process.read(until: "ready\n")
        guard output.hasSuffix("ready\n") else { throw TestError("starting a PostgreSQL: \(output)") }
    }

    /// The address of the store for that folder, always the same for the same folder. If `LARDER_TEST_BODIES`
    /// is `folder`, all its bodies are in a shared folder.
    package func place(_ path: String) -> String {
        TestStore.hasBodiesInFolder ? place(path, bodies: folder.path + "/bodies", over: 0) : ownPlace(path)
    }

    /// The same store address, with bodies of more than `least` bytes in a subfolder of `bodies`.
    package func place(_ path: String, bodies: String, over least: Int? = nil) -> String {
        let own = ownPlace(path)
        let name =
            own.split(separator: "&").first { $0.hasPrefix("schema=") }?.dropFirst("schema=".count) ?? ""
        return own + "&bodies=\(bodies)/\(name)" + (least.map { "&bodies-over=\($0)" } ?? "")
    }

    private func ownPlace(_ path: String) -> String {
        var sum: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in path.utf8 { sum = (sum ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        return
            "postgres://larder@/postgres?host=\(folder.path)/socket&schema=t\(String(sum, radix: 16))&folder=\(path)"
    }

    /// Starts and stops the server. PostgreSQL refuses to run as root, so root starts it as another user.
    /// SIGQUIT stops it at once.
    private static let script = """
        set -eu
        programs=$1 folder=$2 parent=$3 as=
        if [ "$(id -u)" -eq 0 ]; then
            as="runuser -u $(getent passwd postgres >/dev/null && echo postgres || echo nobody) --"
            $as true
            chmod 755 "$folder"
        fi
        mkdir "$folder/data" "$folder/socket"
        if [ -n "$as" ]; then chown "$($as id -u)" "$folder/data" "$folder/socket"; fi
        cd /
        $as "$programs/initdb" -D "$folder/data" -U larder -A trust -E UTF8 --locale=C.UTF-8 --no-sync 2>&1 >/dev/null
        $as "$programs/postgres" -D "$folder/data" -k "$folder/socket" -c listen_addresses= -c max_connections=200 \\
            -c fsync=off -c full_page_writes=off -c shared_buffers=64MB -c autovacuum_naptime=5min \\
            >"$folder/log" 2>&1 &
        server=$!
        tries=0
        until $as "$programs/pg_isready" -q -h "$folder/socket" -U larder; do
            tries=$((tries + 1))
            if [ "$tries" -gt 1200 ] || ! kill -0 "$server"; then cat "$folder/log"; exit 1; fi
            sleep 0.1
        done
        echo ready
        while kill -0 "$parent" 2>/dev/null; do sleep 0.5; done
        kill -QUIT "$(head -n 1 "$folder/data/postmaster.pid")" || kill "$server"
        wait || true
        rm -rf "$folder"
        """
}
