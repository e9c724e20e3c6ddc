internal import COpenSSL
internal import Web

/// An X.509 certificate (RFC 5280) of those who sign updates, as Expo Updates uses it.
///
/// As a trusted certificate it either signs updates itself, or is the authority at the end of a chain of certificates that
/// is sent with each update. A certificate that signs updates must be meant for it: its key usage contains digital
/// signatures, and its extended key usage contains code signing.
package struct CodeSigningCertificate: Sendable, Hashable {
    /// The certificate in DER.
    package let bytes: [UInt8]

    /// The maximum size of a file with one certificate. A longer one is an error.
    package static let maxTextBytes = 16 * 1024
    /// The maximum number of certificates in a chain. More are an error.
    private static let maxChain = 8
    private static let beginMark = "-----BEGIN CERTIFICATE-----"
    private static let endMark = "-----END CERTIFICATE-----"

    /// Creates a certificate from DER. Throws unless the bytes are exactly one certificate.
    package init(der bytes: [UInt8]) throws(CodeSigningError) {
        _ = try Handle(bytes)
        self.bytes = bytes
    }

    /// Reads the text of a PEM file with one certificate.
    package init(pem text: String) throws(CodeSigningError) {
        let list = try Self.list(pem: text)
        guard let first = list.first, list.count == 1 else {
            throw .unreadable("expected one certificate, found \(list.count)")
        }
        self = first
    }

    /// Whether a text has a certificate in PEM.
    package static func occurs(in text: String) -> Bool {
        firstRange(of: beginMark, in: Array(text.utf8)[...]) != nil
    }

    /// Reads the certificates of a chain. Text between them is ignored, as in files of OpenSSL.
    ///
    /// The text is decoded here and not by OpenSSL's `PEM_read_bio_X509`, which asks on the terminal for a passphrase if the
    /// text says that it is encrypted.
    package static func list(pem text: String) throws(CodeSigningError) -> [CodeSigningCertificate] {
        guard text.utf8.count <= maxTextBytes * maxChain else {
            throw .unreadable("the certificates are larger than \(maxTextBytes * maxChain) bytes")
        }
        var list: [CodeSigningCertificate] = []
        var rest = Array(text.utf8)[...]
        while let begin = firstRange(of: beginMark, in: rest) {
            guard let end = firstRange(of: endMark, in: rest[begin.upperBound...]) else {
                throw .unreadable("a certificate is cut off: \"\(endMark)\" is missing")
            }
            guard list.count < maxChain else {
                throw .unreadable("there are more than \(maxChain) certificates")
            }
            let body = rest[begin.upperBound..<end.lowerBound].filter { $0 > 0x20 }
            guard let bytes = Base64.decode(String(decoding: body, as: UTF8.self)) else {
                throw .unreadable("a certificate is not base64")
            }
            list.append(try CodeSigningCertificate(der: bytes))
            rest = rest[end.upperBound...]
        }
        return list
    }

    private static func firstRange(of mark: String, in bytes: ArraySlice<UInt8>) -> Range<Int>? {
        bytes.firstRange(of: Array(mark.utf8))
    }

    /// The SHA-256 of the certificate in hexadecimal digits, as `openssl x509 -fingerprint -sha256` shows it, without colons.
    package var fingerprint: String { DigestStream.digest(.sha256, of: bytes.span).hex }

    // MARK: - Names

    /// The certificate as it is stored with a site: a word and the DER in base64.
    package var storedText: String { Self.storedPrefix + Base64.encode(bytes) }

    /// The certificate as the signer of a manifest: a word and the fingerprint.
    package var signerText: String { Self.signerPrefix + fingerprint }

    package static let storedPrefix = "certificate:"
    package static let signerPrefix = "x509:"

    /// Reads a certificate as it is stored. Throws for another text.
    package init(storedText text: String) throws(CodeSigningError) {
        guard text.hasPrefix(Self.storedPrefix),
            let bytes = Base64.decode(String(text.dropFirst(Self.storedPrefix.count)))
        else { throw .unreadable("expected \"\(Self.storedPrefix)\" and base64") }
        try self.init(der: bytes)
    }

    // MARK: - Verification

    /// Verifies an RSASSA-PKCS1-v1_5 signature with SHA-256. This certificate, which is trusted, must have signed the message
    /// itself or be at the end of the chain.
    ///
    /// - Parameters:
    ///   - chain: the certificates that were sent with the message: first the one that signed, then those above it.
    ///   - time: when all certificates must be valid, in seconds since 1970; nil if their validity does not matter.
    package func verify(
        _ signature: [UInt8], of message: [UInt8], chain: [CodeSigningCertificate], at time: Int64?
    ) throws(CodeSigningError) {
        let trusted = try Handle(bytes)
        // A server that signs with the trusted certificate itself may send a chain all the same.
        if chain.isEmpty || trusted.mayOnlySign {
            try trusted.requireTrusted([], by: trusted, at: time)
            try trusted.verify(signature, of: message)
            return
        }
        var handles: [Handle] = []
        for certificate in chain { handles.append(try Handle(certificate.bytes)) }
        try handles[0].requireTrusted(Array(handles.dropFirst()), by: trusted, at: time)
        try handles[0].verify(signature, of: message)
    }
}

/// Why a certificate or signature is not accepted, as a clause.
package enum CodeSigningError: Error, Sendable, Equatable, CustomStringConvertible {
    /// A text or bytes that are no certificate.
    case unreadable(String)
    /// A certificate that may not sign, or that no trusted certificate has signed.
    case untrusted(String)
    /// The signature does not belong to the message and the certificate.
    case mismatch

    package var description: String {
        switch self {
        case .unreadable(let detail), .untrusted(let detail): detail
        case .mismatch: "the signature does not match"
        }
    }
}

/// OpenSSL's certificate, which is freed with it. It is used by one thread.
private final class Handle {
    private let pointer: OpaquePointer

    init(_ bytes: [UInt8]) throws(CodeSigningError) {
        let pointer = bytes.withUnsafeBufferPointer { bytes -> OpaquePointer? in
            var next = bytes.baseAddress
            let certificate = d2i_X509(nil, &next, bytes.count)
            guard let certificate, let start = bytes.baseAddress, next == start + bytes.count else {
                X509_free(certificate)
                return nil
            }
            return certificate
        }
        ERR_clear_error()
        guard let pointer else { throw .unreadable("a certificate is damaged") }
        self.pointer = pointer
    }

    deinit { X509_free(pointer) }

    private var isForCodeSigning: Bool {
        let flags = X509_get_extension_flags(pointer)
        return flags & UInt32(EXFLAG_KUSAGE) != 0 && flags & UInt32(EXFLAG_XKUSAGE) != 0
            && X509_get_key_usage(pointer) & UInt32(KU_DIGITAL_SIGNATURE) != 0
            && X509_get_extended_key_usage(pointer) & UInt32(XKU_CODE_SIGN) != 0
    }

    /// Whether this certificate signs code, and cannot sign other certificates.
    var mayOnlySign: Bool { isForCodeSigning && X509_check_ca(pointer) == 0 }

    /// Whether the certificate is only for one project of Expo Application Services.
    private var isLimitedToProject: Bool {
        guard let id = OBJ_txt2obj(Self.projectExtension, 1) else { return false }
        defer { ASN1_OBJECT_free(id) }
        return X509_get_ext_by_OBJ(pointer, id, -1) >= 0
    }

    private static let projectExtension =
        "1.2.840.113556.1.8000.2554.43437.254.128.102.157.7894389.20439.2.1"

    /// The subject in one line, such as `/CN=example`.
    private var subject: String {
        var text = [CChar](repeating: 0, count: 256)
        guard X509_NAME_oneline(X509_get_subject_name(pointer), &text, Int32(text.count)) != nil else {
            return "?"
        }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Throws unless this certificate signs code, and the trusted one has signed it through those between them.
    func requireTrusted(
        _ between: [Handle], by trusted: Handle, at time: Int64?
    ) throws(CodeSigningError) {
        defer { ERR_clear_error() }
        guard isForCodeSigning else {
            throw .untrusted(
                "the certificate of \(subject) is not for signing code: it needs the key usage \"digital signature\" and the "
                    + "extended key usage \"code signing\"")
        }
        guard !isLimitedToProject else {
            throw .untrusted(
                "the certificate of \(subject) is only for one project of Expo Application Services, which Larder does not "
                    + "support")
        }
        guard let store = X509_STORE_new(), let others = larder_new_certificates(),
            let context = X509_STORE_CTX_new()
        else { throw .untrusted("no memory is left to verify a certificate") }
        defer {
            X509_STORE_CTX_free(context)
            larder_free_certificates(others)
            X509_STORE_free(store)
        }
        var isReady = X509_STORE_add_cert(store, trusted.pointer) == 1
        for certificate in between {
            isReady = isReady && larder_add_certificate(others, certificate.pointer) == 1
        }
        guard isReady, X509_STORE_CTX_init(context, store, pointer, others) == 1,
            let parameters = X509_STORE_CTX_get0_param(context)
        else { throw .untrusted("a certificate cannot be verified") }
        // The user trusts this certificate, whether an authority has signed it or not.
        X509_VERIFY_PARAM_set_flags(parameters, UInt(X509_V_FLAG_PARTIAL_CHAIN))
        if let time {
            X509_VERIFY_PARAM_set_time(parameters, time_t(time))
        } else {
            X509_VERIFY_PARAM_set_flags(parameters, UInt(X509_V_FLAG_NO_CHECK_TIME))
        }
        // OpenSSL's level 2: keys of at least 2048 bits, and no signatures with SHA-1.
        X509_VERIFY_PARAM_set_auth_level(parameters, 2)
        guard X509_verify_cert(context) != 1 else { return }
        let error = X509_STORE_CTX_get_error(context)
        let reason = X509_verify_cert_error_string(Int(error)).map { String(cString: $0) } ?? "error \(error)"
        let isOutOfTime = error == X509_V_ERR_CERT_HAS_EXPIRED || error == X509_V_ERR_CERT_NOT_YET_VALID
        throw .untrusted(
            "the certificate of \(subject) is not accepted: \(reason)"
                + (isOutOfTime
                    ? " by this machine's clock"
                        + (time.map { " (\(HTTPDate(secondsSinceEpoch: $0).iso8601))" } ?? "") : ""))
    }

    /// Throws unless the key of this certificate has signed the message.
    func verify(_ signature: [UInt8], of message: [UInt8]) throws(CodeSigningError) {
        guard let key = X509_get_pubkey(pointer) else {
            ERR_clear_error()
            throw .untrusted("the certificate of \(subject) has a key of an unknown kind")
        }
        guard PEMPublicKey(key).verifiesRSAPKCS1(signature, of: message) else { throw .mismatch }
    }
}
