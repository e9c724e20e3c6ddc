internal import Glibc

/// The file with the certificates of the authorities that the system trusts.
///
/// A libcurl that was built on another distribution, as in the self-contained archive, looks for it in the wrong place.
package enum SystemCertificates {
    /// The places of the file on common distributions.
    package static let places = [
        "/etc/ssl/certs/ca-certificates.crt",  // Debian, Ubuntu, Arch, Gentoo
        "/etc/pki/tls/certs/ca-bundle.crt",  // Fedora up to 42, Red Hat
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // Fedora
        "/etc/ssl/ca-bundle.pem",  // openSUSE
        "/etc/ssl/cert.pem",  // Alpine
    ]

    /// The path in `SSL_CERT_FILE`, else the first of the places that is readable; nil if there is none.
    package static func path() -> String? {
        path(named: getenv("SSL_CERT_FILE").map { String(cString: $0) }) { access($0, R_OK) == 0 }
    }

    /// - Parameter named: The value of `SSL_CERT_FILE`. An empty one counts as not set, as in OpenSSL's programs.
    static func path(named: String?, isReadable: (String) -> Bool) -> String? {
        if let named, !named.isEmpty { return named }
        return places.first(where: isReadable)
    }
}
