internal import CTLS
internal import Glibc
internal import Synchronization
internal import System
internal import Web

/// An error of TLS. Its message says what failed and why.
package struct TLSError: Error, Sendable, Equatable, CustomStringConvertible {
    package let description: String

    init(_ doing: String, _ reason: String? = nil, advice: String? = nil) {
        let why = reason ?? Self.lastReason()
        description = "cannot \(doing): \(why)" + (advice.map { "; \($0)" } ?? "")
    }

    /// Returns the reason for the first error in OpenSSL's queue for this thread, and clears the queue.
    static func lastReason() -> String {
        let code = ERR_get_error()
        ERR_clear_error()
        return ERR_reason_error_string(code).map { String(cString: $0) } ?? "OpenSSL gives no reason"
    }
}

/// A certificate authority that the user's clients and the browser that renders pages trust, so that Larder can answer
/// for every host.
/// Its key and certificate are in the store's folder. Any thread may use it.
///
///     let authority = try CertificateAuthority.openOrCreate(in: folder.path)
///     print(authority.certificate)
///
/// A program with the key can impersonate any host to clients that trust the certificate. Therefore only the store's owner can
/// read the file.
package final class CertificateAuthority: Sendable {
    /// The certificate in PEM, for clients to trust.
    package let certificate: String
    /// The SHA-256 hash of the certificate in the format that browsers show.
    package let fingerprint: String
    /// The SHA-256 hash of the public key in Base64, for Chromium's option
    /// `--ignore-certificate-errors-spki-list`.
    package let keyDigest: String

    let credential: Credential
    /// One key for all hosts, since generating a key costs as much as signing.
    private let hostKey: PrivateKey
    /// The issued certificates, by the first name of the host (`names(for:)`).
    private let cachedCertificates = Mutex<[String: HostCertificate]>([:])

    /// The name of the file in the store's folder that contains the key and the certificate.
    package static let fileName = "authority.pem"

    /// Returns the folder's authority, and creates it if there is none. Several processes may call this at once.
    package static func openOrCreate(in folder: String) throws(TLSError) -> CertificateAuthority {
        let path = folder + "/" + fileName
        if let authority = try existing(in: folder) { return authority }
        let pem = try Credential.newAuthority().pem()
        do throws(SystemError) {
            // Only the owner can read a temporary file (`mkstemp`).
            let draft = try WholeFile.makeTemporary(in: folder, named: "authority", Array(pem.utf8))
            defer { unlink(draft) }
            // If two processes create one at the same time, both use the one that was linked first.
            guard link(draft, path) == 0 || errno == EEXIST else {
                throw SystemError(errno, doing: "write", path)
            }
        } catch {
            throw TLSError("store a certificate authority in \(folder)", error.description)
        }
        guard let authority = try existing(in: folder) else {
            throw TLSError("read \(path)", "it has been removed")
        }
        return authority
    }

    /// Returns the folder's authority; nil if there is none.
    package static func existing(in folder: String) throws(TLSError) -> CertificateAuthority? {
        let path = folder + "/" + fileName
        guard access(path, F_OK) == 0 else { return nil }
        let bytes: [UInt8]
        do throws(SystemError) { bytes = try WholeFile.read(path, atMost: 64 * 1024) } catch {
            throw TLSError("read the certificate authority", error.description)
        }
        return try CertificateAuthority(try Credential(pem: bytes, path))
    }

    private init(_ credential: Credential) throws(TLSError) {
        self.credential = credential
        certificate = try credential.certificate.pem()
        fingerprint = try credential.certificate.fingerprint()
        keyDigest = try credential.certificate.keyDigest()
        hostKey = try PrivateKey()
    }

    // MARK: - Host certificates

    /// The certificate and key with which the server answers for a host. After `renewalTime`, in seconds since 1970, a new
    /// certificate is issued.
    struct HostCertificate: Sendable {
        let certificate: Certificate
        let key: PrivateKey
        let renewalTime: Int64
    }

    /// The number of days for which certificates are valid. They are replaced after half of that time.
    private static let lifetimeDays: Int64 = 30
    /// The number of days before today from which certificates are valid, for clients whose clocks are slow.
    private static let backdatedDays: Int64 = 2
    /// The maximum number of cached certificates. The cache is emptied when it is full.
    private static let maxCachedCertificates = 4000
    private static let secondsPerDay: Int64 = 86_400

    /// Returns the cached certificate for a host, or issues one.
    ///
    /// - Parameters:
    ///   - host: a host name or an address in the format of URLs, in lower case.
    ///   - now: the time in seconds since 1970.
    func hostCertificate(for host: String, now: Int64) throws(TLSError) -> HostCertificate {
        let names = Self.names(for: host)
        let known = cachedCertificates.withLock { $0[names[0]] }
        if let known, known.renewalTime > now { return known }
        // X.520 limits a common name to 64 characters. Clients compare only the alternative names.
        let certificate = try Certificate.makeSigned(
            by: credential, key: hostKey, subject: names[0].utf8.count <= 64 ? names[0] : "larder",
            from: now - Self.backdatedDays * Self.secondsPerDay, days: Self.lifetimeDays + Self.backdatedDays,
            extensions: [
                (NID_basic_constraints, "critical,CA:FALSE"), (NID_key_usage, "critical,digitalSignature"),
                (NID_ext_key_usage, "serverAuth"), (NID_authority_key_identifier, "keyid:always"),
                (NID_subject_alt_name, names.map(Self.alternativeNameEntry).joined(separator: ",")),
            ])
        let hostCertificate = HostCertificate(
            certificate: certificate, key: hostKey,
            renewalTime: now + Self.lifetimeDays / 2 * Self.secondsPerDay)
        cachedCertificates.withLock { cachedCertificates in
            if cachedCertificates.count >= Self.maxCachedCertificates { cachedCertificates.removeAll() }
            cachedCertificates[names[0]] = hostCertificate
        }
        return hostCertificate
    }

    /// Returns the names in a host's certificate. Hosts with the same parent domain share a wildcard
    /// certificate, so that a site with unlimited host names needs few.
    ///
    /// Both `a.example.com` and `b.example.com` get `example.com` and `*.example.com`, and so does `example.com` itself.
    /// An address, and a name that is a public suffix, gets only itself.
    static func names(for host: String) -> [String] {
        guard let domain = PublicSuffixes.system.registrableDomain(of: host) else { return [host] }
        let parent = host.utf8.count > domain.utf8.count ? String(host.drop { $0 != "." }.dropFirst()) : host
        return [parent, "*." + parent]
    }

    /// Returns a name in the syntax of the extension subjectAltName, such as `DNS:example.com`.
    private static func alternativeNameEntry(_ name: String) -> String {
        if name.hasPrefix("[") { return "IP:" + name.dropFirst().dropLast() }
        return (name.utf8.allSatisfy { $0 == 0x2E || (0x30...0x39).contains($0) } ? "IP:" : "DNS:") + name
    }
}

/// A key pair on the curve P-256. It is immutable, so any thread may use it.
final class PrivateKey: @unchecked Sendable {
    let pointer: OpaquePointer

    init() throws(TLSError) {
        guard let pointer = larder_tls_new_key() else { throw TLSError("create a key") }
        self.pointer = pointer
    }

    /// Takes ownership of the OpenSSL object, and frees it in `deinit`.
    init(_ pointer: OpaquePointer) { self.pointer = pointer }

    deinit { EVP_PKEY_free(pointer) }
}

/// A signed certificate. It is immutable, so any thread may use it.
final class Certificate: @unchecked Sendable {
    let pointer: OpaquePointer

    /// Takes ownership of the OpenSSL object, and frees it in `deinit`.
    init(_ pointer: OpaquePointer) { self.pointer = pointer }

    deinit { X509_free(pointer) }

    /// Creates and signs a certificate.
    ///
    /// - Parameters:
    ///   - signer: the issuer; nil for a self-signed certificate.
    ///   - start: the beginning of its validity, in seconds since 1970.
    static func makeSigned(
        by signer: Credential?, key: PrivateKey, subject: String, from start: Int64, days: Int64,
        extensions: [(kind: Int32, value: String)]
    ) throws(TLSError) -> Certificate {
        guard let pointer = X509_new() else { throw TLSError("create a certificate") }
        let certificate = Certificate(pointer)
        var serial = [UInt8](repeating: 0, count: 16)
        var end = time_t(start + days * 86_400)
        var start = time_t(start)
        // The serial number is random, because browsers reject two certificates of one issuer with the same one. Of the first
        // byte, bit 7 is 0 because the number must be positive (RFC 5280, section 4.1.2.2), and bit 6 is 1 so that it is not
        // zero and always has 16 bytes.
        guard RAND_bytes(&serial, Int32(serial.count)) == 1,
            certificate.setSerial([serial[0] & 0x7F | 0x40] + serial[1...]),
            X509_set_version(pointer, 2) == 1,
            X509_time_adj_ex(X509_getm_notBefore(pointer), 0, 0, &start) != nil,
            X509_time_adj_ex(X509_getm_notAfter(pointer), 0, 0, &end) != nil,
            X509_set_pubkey(pointer, key.pointer) == 1, let name = X509_get_subject_name(pointer),
            X509_NAME_add_entry_by_txt(name, "O", MBSTRING_UTF8, "Larder", -1, -1, 0) == 1,
            X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, subject, -1, -1, 0) == 1,
            X509_set_issuer_name(
                pointer, signer.map { X509_get_subject_name($0.certificate.pointer) } ?? name) == 1
        else { throw TLSError("create a certificate") }
        for (kind, value) in extensions {
            let issuer = signer?.certificate.pointer ?? pointer
            guard larder_tls_add_extension(pointer, issuer, kind, value) == 1 else {
                throw TLSError("create a certificate for \(subject)")
            }
        }
        guard X509_sign(pointer, (signer?.key ?? key).pointer, EVP_sha256()) > 0 else {
            throw TLSError("sign a certificate")
        }
        return certificate
    }

    private func setSerial(_ bytes: [UInt8]) -> Bool {
        guard let number = BN_bin2bn(bytes, Int32(bytes.count), nil) else { return false }
        defer { BN_free(number) }
        return BN_to_ASN1_INTEGER(number, X509_get_serialNumber(pointer)) != nil
    }

    func pem() throws(TLSError) -> String {
        try PEM.encode("write the certificate") { PEM_write_bio_X509($0, pointer) }
    }

    /// Returns the SHA-256 hash of the whole certificate as `AB:CD:...`.
    func fingerprint() throws(TLSError) -> String {
        var bytes = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var count: UInt32 = 0
        guard X509_digest(pointer, EVP_sha256(), &bytes, &count) == 1 else {
            throw TLSError("hash a certificate")
        }
        return bytes[..<Int(count)].map { String(0x100 | Int($0), radix: 16, uppercase: true).dropFirst() }
            .joined(separator: ":")
    }

    /// Returns the SHA-256 hash of the public key (SubjectPublicKeyInfo) in Base64.
    func keyDigest() throws(TLSError) -> String {
        var encoded: UnsafeMutablePointer<UInt8>?
        let count = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(pointer), &encoded)
        guard count > 0, let encoded else { throw TLSError("read the key of a certificate") }
        defer { CRYPTO_free(encoded, #file, #line) }
        var bytes = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var digestCount: UInt32 = 0
        guard EVP_Digest(encoded, Int(count), &bytes, &digestCount, EVP_sha256(), nil) == 1 else {
            throw TLSError("hash a key")
        }
        return Base64.encode(Array(bytes[..<Int(digestCount)]))
    }
}

/// A certificate with its private key.
struct Credential: Sendable {
    let certificate: Certificate
    let key: PrivateKey

    /// The number of years for which an authority is valid.
    private static let authorityYears: Int64 = 10

    /// Creates a self-signed authority that may sign certificates of hosts, but not of other authorities.
    static func newAuthority() throws(TLSError) -> Credential {
        let key = try PrivateKey()
        let now = SystemClock.secondsSinceEpoch()
        // A random name distinguishes this authority from those of other stores and from earlier ones of this
        // store.
        let mark = String(UInt32.random(in: 0 ... .max), radix: 16)
        let certificate = try Certificate.makeSigned(
            by: nil, key: key, subject: "Larder authority \(mark)", from: now - 86_400,
            days: 365 * authorityYears,
            extensions: [
                (NID_basic_constraints, "critical,CA:TRUE,pathlen:0"),
                (NID_key_usage, "critical,keyCertSign,cRLSign"), (NID_subject_key_identifier, "hash"),
                (NID_authority_key_identifier, "keyid:always"),
            ])
        return Credential(certificate: certificate, key: key)
    }

    private init(certificate: Certificate, key: PrivateKey) {
        self.certificate = certificate
        self.key = key
    }

    /// Parses a private key and its certificate in PEM. The path is used in error messages.
    init(pem bytes: [UInt8], _ path: String) throws(TLSError) {
        let advice = "remove it; Larder then creates a new one, which clients must trust again"
        ERR_clear_error()
        guard let input = BIO_new_mem_buf(bytes, Int32(bytes.count)) else { throw TLSError("read \(path)") }
        defer { BIO_free(input) }
        guard let key = PEM_read_bio_PrivateKey(input, nil, nil, nil) else {
            throw TLSError("read the key in \(path)", advice: advice)
        }
        self.key = PrivateKey(key)
        guard let certificate = PEM_read_bio_X509(input, nil, nil, nil) else {
            throw TLSError("read the certificate in \(path)", advice: advice)
        }
        self.certificate = Certificate(certificate)
        guard X509_check_private_key(certificate, key) == 1 else {
            throw TLSError("use \(path)", "its key does not belong to its certificate", advice: advice)
        }
    }

    func pem() throws(TLSError) -> String {
        try PEM.encode("write the key") { PEM_write_bio_PrivateKey($0, key.pointer, nil, nil, 0, nil, nil) }
            + certificate.pem()
    }
}

/// Encodes OpenSSL objects as PEM.
private enum PEM {
    static func encode(_ doing: String, _ write: (OpaquePointer) -> Int32) throws(TLSError) -> String {
        guard let output = BIO_new(BIO_s_mem()) else { throw TLSError(doing) }
        defer { BIO_free(output) }
        guard write(output) == 1 else { throw TLSError(doing) }
        var text: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 8192)
        while case let count = Int(BIO_read(output, &piece, Int32(piece.count))), count > 0 {
            text += piece[..<count]
        }
        guard !text.isEmpty else { throw TLSError(doing) }
        return String(decoding: text, as: UTF8.self)
    }
}
