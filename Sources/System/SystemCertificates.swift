internal import Glibc

/// The path of the file with the certificate authorities that the system trusts.
///
/// The path differs between distributions, and libcurl has that of the distribution on which it was built. The
/// self-contained archive runs on others, so Larder finds the file itself.
package enum SystemCertificates {
    /// The paths of the file on common distributions.
    private static let knownPaths = [
        "/etc/ssl/certs/ca-certificates.crt",  // Debian, Ubuntu, Arch, Gentoo
        "/etc/pki/tls/certs/ca-bundle.crt",  // Fedora up to 42, Red Hat
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // Fedora
        "/etc/ssl/ca-bundle.pem",  // openSUSE
        "/etc/ssl/cert.pem",  // Alpine
    ]

    /// The path in `SSL_CERT_FILE`, else the first of `knownPaths` that is readable; nil if none is.
    package static func path() -> String? {
        path(named: getenv("SSL_CERT_FILE").map { String(cString: $0) }) { access($0, R_OK) == 0 }
    }

    /// - Parameter named: The value of `SSL_CERT_FILE`. An empty one counts as not set, as in OpenSSL's programs.
    static func path(named: String?, isReadable: (String) -> Bool) -> String? {
        if let named, !named.isEmpty { return named }
        return knownPaths.first(where: isReadable)
    }
}
