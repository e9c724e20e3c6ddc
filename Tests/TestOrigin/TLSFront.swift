import Glibc

/// nginx with TLS as a reverse proxy for a scripted origin. It reports the connection to the origin in the
/// headers `X-Protocol`, `X-Connection` and `X-Client`.
package final class TLSFront: Sendable {
    package static let isAvailable = ["/usr/sbin/nginx", "/usr/bin/openssl", "/usr/bin/timeout"]
        .allSatisfy { (path: String) in access(path, X_OK) == 0 }

    package let origin: TestOrigin
    /// The TLS ports: `modern` with HTTP/2; `plain` with HTTP/1.1 only, which requests a client certificate;
    /// `expired` with an expired server certificate.
    package let modern: Int
    package let plain: Int
    package let expired: Int
    /// The port without TLS.
    package let clear: Int
    private let folder: TemporaryFolder
    private let nginx: ChildProcess

    /// The file with the certificate authority that clients must trust.
    package var authorities: String { folder.file("ca.pem") }
    package var client: (certificate: String, key: String) {
        (folder.file("client.pem"), folder.file("client.key"))
    }

    package init() throws(TestError) {
        origin = try TestOrigin()
        let folder = try TemporaryFolder()
        self.folder = folder
        (modern, plain) = (try FreePort.draw(), try FreePort.draw())
        (expired, clear) = (try FreePort.draw(), try FreePort.draw())
        try Self.makeCertificates(in: folder)
        let place = """
            location / { proxy_pass http://origin; proxy_http_version 1.1; proxy_buffering off; \
            proxy_set_header Connection ""; proxy_set_header Accept-Encoding $http_accept_encoding; \
            proxy_set_header X-Protocol $server_protocol; proxy_set_header X-Connection $connection; \
            proxy_set_header X-Client $ssl_client_s_dn; }
            """
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map { "\($0)_temp_path \(folder.file($0));" }.joined(separator: " ")
        let path = try folder.write(
            """
            daemon off; master_process off; pid \(folder.file("pid")); error_log \(folder.file("error.log"));
            events { worker_connections 512; }
            http {
                access_log off; \(temporary)
                upstream origin { server 127.0.0.1:\(origin.port); keepalive 64; }
                ssl_certificate \(folder.file("server.pem")); ssl_certificate_key \(folder.file("server.key"));
                server { listen 127.0.0.1:\(modern) ssl http2; \(place) }
                server {
                    listen 127.0.0.1:\(plain) ssl; ssl_client_certificate \(folder.file("ca.pem"));
                    ssl_verify_client optional; \(place)
                }
                server { listen 127.0.0.1:\(expired) ssl; ssl_certificate \(folder.file("expired.pem")); \(place) }
                server { listen 127.0.0.1:\(clear); \(place) }
            }
            """, to: "nginx.conf")
        // If the test process crashes, nginx ends after half an hour, which is longer than any test takes.
        let log = folder.file("nginx.log")
        nginx = try ChildProcess(
            "/usr/bin/timeout", ["-k", "2", "1800", "/usr/sbin/nginx", "-c", path],
            environment: Self.environment,
            output: .file(log), errors: .file(log))
        // nginx does not report when it is ready.
        let end = ContinuousClock.now + .seconds(120)
        while (try? RawClient(port: expired)) == nil {
            guard !nginx.hasEnded, ContinuousClock.now < end else {
                let why = nginx.hasEnded ? "it ended" : "it listens on no port"
                nginx.signal(SIGTERM)
                _ = nginx.wait()
                throw TestError("waiting for nginx", "\(why); its configuration is \(path)")
            }
            usleep(10_000)
        }
    }

    deinit { stop() }

    private func stop() {
        nginx.signal(SIGTERM)
        _ = nginx.wait()
    }

    /// A TLS port, as an argument of parameterized tests.
    package enum Door: Sendable { case modern, expired }

    package func port(_ door: Door) -> Int { door == .modern ? modern : expired }

    /// The URL on a port. The certificates are for `front.test` and the subdomains of `jam.test`.
    package func url(_ target: String, port: Int, host: String = "front.test") -> String {
        "https://\(host):\(port)\(target)"
    }

    private static func makeCertificates(in folder: TemporaryFolder) throws(TestError) {
        let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        try folder.write("subjectAltName=DNS:front.test,DNS:*.jam.test,IP:127.0.0.1", to: "names")
        func openssl(_ words: [String]) throws(TestError) {
            let ending = try ChildProcess("/usr/bin/openssl", words, environment: environment).wait()
            guard ending.status == 0 else {
                throw TestError("openssl \(words.joined(separator: " ")): \(ending.errors)", errno: EINVAL)
            }
        }
        try openssl(
            ["req", "-x509", "-days", "2", "-subj", "/CN=Larder Tests"] + key
                + ["-keyout", folder.file("ca.key"), "-out", folder.file("ca.pem")])
        for (name, days) in [("server", "2"), ("client", "2"), ("expired", "-1")] {
            let keyFile = folder.file(name == "expired" ? "server.key" : "\(name).key")
            let request = folder.file("\(name).csr")
            let make = name == "expired" ? ["-new", "-key", keyFile] : key + ["-keyout", keyFile]
            try openssl(["req", "-subj", "/CN=\(name)", "-out", request] + make)
            try openssl(
                [
                    "x509", "-req", "-in", request, "-days", days, "-CA", folder.file("ca.pem"),
                    "-CAkey", folder.file("ca.key"), "-CAcreateserial", "-extfile", folder.file("names"),
                    "-out", folder.file("\(name).pem"),
                ])
        }
    }

    private static let environment = ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"]
}
