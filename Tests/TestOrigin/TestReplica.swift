import Glibc

/// A PostgreSQL primary with TLS on loopback, whose certificate is from its own authority, and a standby.
/// Both end when this process does.
package struct TestReplica: Sendable {
    /// Whether PostgreSQL and `openssl` are installed.
    package static let isInstalled = TestPostgreSQL.isInstalled && access("/usr/bin/openssl", X_OK) == 0

    /// The port of the primary on `localhost`, which accepts only TLS.
    package let port: Int
    private let folder: TemporaryFolder
    private let process: ChildProcess

    /// The authority that issued the certificate, and (`otherAuthority`) an unrelated one.
    package var authority: String { folder.file("ca.pem") }
    package var otherAuthority: String { folder.file("other.pem") }
    /// The folders with the Unix sockets of the two servers.
    package var primary: String { folder.file("primary") }
    package var standby: String { folder.file("standby") }

    package init() throws(TestError) {
        guard let programs = TestPostgreSQL.newestPrograms() else {
            throw TestError("starting a PostgreSQL: it is not installed (apt install postgresql)")
        }
        port = try FreePort.draw()
        folder = try TemporaryFolder("pg")
        process = try ChildProcess(
            "/bin/sh", ["-c", Self.script, "sh", programs, folder.path, "\(getpid())", "\(port)"],
            environment: ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"])
        let output = process.read(until: "ready\n")
        guard output.hasSuffix("ready\n") else { throw TestError("starting two PostgreSQLs: \(output)") }
    }

    private static let script = """
        set -eu
        programs=$1 folder=$2 parent=$3 port=$4 as=
        if [ "$(id -u)" -eq 0 ]; then
            as="runuser -u $(getent passwd postgres >/dev/null && echo postgres || echo nobody) --"
            $as true
            chmod 755 "$folder"
        fi
        cd "$folder"
        mkdir data primary standby
        key="-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
        for name in ca other; do
            openssl req -x509 $key -keyout $name.key -out $name.pem -days 2 -subj "/CN=test authority $name" 2>/dev/null
        done
        openssl req $key -keyout server.key -out server.csr -subj /CN=localhost 2>/dev/null
        echo subjectAltName=DNS:localhost >names
        openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names \\
            -out server.pem 2>/dev/null
        if [ -n "$as" ]; then
            for place in data primary standby; do chown "$($as id -u)" $place; done
            mkdir follower && chown "$($as id -u)" follower && chmod 700 follower
            chmod 644 ca.pem other.pem
        fi
        $as "$programs/initdb" -D "$folder/data" -U larder -A trust -E UTF8 --locale=C.UTF-8 --no-sync 2>&1 >/dev/null
        install -m 600 server.key server.pem data/
        if [ -n "$as" ]; then chown "$($as id -u)" data/server.key data/server.pem; fi
        printf 'local all all trust\\nlocal replication all trust\\nhostssl all all 127.0.0.1/32 trust\\n' >data/pg_hba.conf
        serve() {
            $as "$programs/postgres" -D "$folder/$1" -k "$folder/$2" -c "listen_addresses=$3" -c "port=$port" \\
                -c ssl=on -c ssl_cert_file=server.pem -c ssl_key_file=server.key -c wal_level=replica \\
                -c fsync=off -c full_page_writes=off -c shared_buffers=32MB >"$folder/$1.log" 2>&1 &
            server=$!
        }
        await() {
            tries=0
            until $as "$programs/pg_isready" -q -h "$folder/$1" -p "$port" -U larder; do
                tries=$((tries + 1))
                if [ "$tries" -gt 1200 ] || ! kill -0 "$server"; then cat "$folder"/*.log; exit 1; fi
                sleep 0.1
            done
        }
        serve data primary 127.0.0.1
        await primary
        $as "$programs/pg_basebackup" -h "$folder/primary" -p "$port" -U larder -D "$folder/follower" -R \\
            --checkpoint=fast --no-sync
        serve follower standby ''
        await standby
        echo ready
        while kill -0 "$parent" 2>/dev/null; do sleep 0.5; done
        for place in follower data; do kill -QUIT "$(head -n 1 "$folder/$place/postmaster.pid")" || true; done
        wait || true
        rm -rf "$folder"
        """
}
