import Glibc
import TestOrigin
import Testing

@testable import TLS

@Suite struct CertificateAuthorityTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test(arguments: [
        ("example.com", ["example.com", "*.example.com"]),
        ("www.example.com", ["example.com", "*.example.com"]),
        ("a.b.example.co.uk", ["b.example.co.uk", "*.b.example.co.uk"]),
        ("localhost", ["localhost"]), ("co.uk", ["co.uk"]), ("127.0.0.1", ["127.0.0.1"]),
        ("[::1]", ["[::1]"]),
    ])
    func `hosts with one parent domain share a certificate, and hosts below a public suffix do not`(
        host: String, names: [String]
    ) {
        #expect(CertificateAuthority.names(for: host) == names)
    }

    @Test(arguments: [
        "www.example.com", "127.0.0.1", "[::1]", "localhost", String(repeating: "a", count: 60) + ".jam.test",
    ])
    func `openssl verify in strict mode accepts a host certificate`(host: String) throws {
        let authority = try CertificateAuthority.openOrCreate(in: folder.path)
        let hostCertificate = try authority.hostCertificate(for: host, now: Int64(time(nil)))
        let own = try folder.write(authority.certificate, to: "ca.pem")
        let shown = try folder.write(try hostCertificate.certificate.pem(), to: "hostCertificate.pem")
        let bare = host.filter { $0 != "[" && $0 != "]" }
        let isAddress = host.hasPrefix("[") || host == "127.0.0.1"
        let openssl = try ChildProcess(
            "/usr/bin/openssl",
            [
                "verify", "-x509_strict", "-purpose", "sslserver",
                isAddress ? "-verify_ip" : "-verify_hostname", bare,
                "-CAfile", own, shown,
            ])
        let ending = openssl.wait()
        #expect(ending.status == 0, "\(ending.errors)")
    }

    @Test func `opening an authority again returns the same one, readable only by its owner`() throws {
        let first = try CertificateAuthority.openOrCreate(in: folder.path)
        #expect(try CertificateAuthority.openOrCreate(in: folder.path).fingerprint == first.fingerprint)
        var status = stat()
        #expect(stat(folder.file("authority.pem"), &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
    }

    @Test func `a host certificate is reused until half of its lifetime has passed`() throws {
        let authority = try CertificateAuthority.openOrCreate(in: folder.path)
        let now = Int64(time(nil))
        let first = try authority.hostCertificate(for: "a.example.com", now: now)
        #expect(
            try authority.hostCertificate(for: "b.example.com", now: now).certificate === first.certificate)
        #expect(
            try authority.hostCertificate(for: "a.example.com", now: now + 20 * 86_400).certificate
                !== first.certificate
        )
    }

    @Test func `the certificate of an authority is given whole, also if it is longer than 8 KiB`() throws {
        let path = folder.file(CertificateAuthority.fileName)
        func openssl(_ words: String...) throws -> String {
            let ending = try ChildProcess("/usr/bin/openssl", words).wait()
            try #require(ending.status == 0, "\(ending.errors)")
            return ending.output
        }
        // With the same path for both, openssl appends the certificate to the key.
        _ = try openssl(
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
            "-subj", "/CN=large", "-days", "30", "-addext",
            "nsComment=" + String(repeating: "a", count: 12_000),
            "-keyout", path, "-out", path)
        let authority = try #require(try CertificateAuthority.existing(in: folder.path))
        #expect(authority.certificate.utf8.count > 12_000)
        #expect(try authority.certificate == openssl("x509", "-in", path))
    }

    @Test(arguments: ["", "-----BEGIN PRIVATE KEY-----\nbm8=\n-----END PRIVATE KEY-----\n", "jam"])
    func `the error for a damaged authority file says what to do`(text: String) throws {
        try folder.write(text, to: "authority.pem")
        let error = #expect(throws: TLSError.self) { try CertificateAuthority.openOrCreate(in: folder.path) }
        #expect(error?.description.contains("authority.pem") == true)
        #expect(error?.description.contains("remove it") == true)
    }
}
