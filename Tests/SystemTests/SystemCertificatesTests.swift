import Testing

@testable import System

@Suite struct SystemCertificatesTests {
    @Test(
        arguments: [
            (
                nil, ["/etc/ssl/certs/ca-certificates.crt", "/etc/ssl/cert.pem"],
                "/etc/ssl/certs/ca-certificates.crt"
            ),
            (
                nil, ["/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem"],
                "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem"
            ),
            ("", ["/etc/ssl/cert.pem"], "/etc/ssl/cert.pem"),
            ("/own.pem", ["/etc/ssl/cert.pem"], "/own.pem"),
            ("/missing.pem", [], "/missing.pem"),
            (nil, [], nil),
        ] as [(String?, [String], String?)])
    func `the path is that of SSL_CERT_FILE, else the first readable one`(
        named: String?, readable: [String], expected: String?
    ) {
        #expect(SystemCertificates.path(named: named) { readable.contains($0) } == expected)
    }
}
