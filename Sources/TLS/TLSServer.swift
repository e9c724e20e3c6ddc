internal import CTLS
internal import Glibc
internal import System
internal import Web

/// The server side of TLS: one OpenSSL context for all clients. It presents either a certificate from a file, or
/// certificates that an authority issues for the host names that clients send. Any thread may begin sessions.
package final class TLSServer: @unchecked Sendable {
    // Safe to share: OpenSSL synchronizes the parts of the context that sessions change, and nothing configures the
    // context after `init`.
    private let context: OpaquePointer
    /// The issuer of the certificates; nil if all clients get the same certificate.
    private let authority: CertificateAuthority?
    /// Whether to issue a certificate for a host name.
    private let issuesCertificate: @Sendable (String) -> Bool

    /// - Parameter issuesCertificate: whether to issue a certificate for the host name that a client sends. If not,
    ///   the client gets that of the host that was passed to `session(on:for:)`.
    package convenience init(
        _ authority: CertificateAuthority,
        issuesCertificate: @escaping @Sendable (String) -> Bool = { _ in true }
    ) throws(TLSError) {
        try self.init(authority: authority, issuesCertificate: issuesCertificate)
        SSL_CTX_set_cert_cb(
            context, { TLSServer.selectCertificate($0, $1) }, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Presents the certificate chain in a file to all clients.
    ///
    /// - Parameters:
    ///   - certificate: the path of a PEM file with the server's certificate, followed by intermediate
    ///     certificates.
    ///   - key: the path of a PEM file with the private key, which may be the same file.
    package convenience init(certificate: String, key: String) throws(TLSError) {
        try self.init(authority: nil, issuesCertificate: { _ in true })
        let advice = "name a PEM file that begins with the server's own certificate"
        for file in [certificate, key] where access(file, R_OK) != 0 {
            throw TLSError("read \(file)", String(cString: strerror(errno)), advice: advice)
        }
        guard SSL_CTX_use_certificate_chain_file(context, certificate) == 1 else {
            throw TLSError("read a certificate in \(certificate)", advice: advice)
        }
        // A server cannot ask for a password, so an encrypted key is an error.
        SSL_CTX_set_default_passwd_cb(context) { _, _, _, _ in -1 }
        guard SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) == 1,
            SSL_CTX_check_private_key(context) == 1
        else {
            throw TLSError(
                "use the key in \(key)",
                advice: "name the PEM file of the key of the certificate, without a password")
        }
    }

    private init(
        authority: CertificateAuthority?, issuesCertificate: @escaping @Sendable (String) -> Bool
    ) throws(TLSError) {
        guard let context = SSL_CTX_new(TLS_server_method()) else { throw TLSError("start TLS") }
        (self.context, self.authority, self.issuesCertificate) = (context, authority, issuesCertificate)
        ERR_clear_error()
        let name = Array("larder".utf8)
        guard larder_tls_limit(context) == 1,
            SSL_CTX_set_session_id_context(context, name, UInt32(name.count)) == 1
        else { throw TLSError("set TLS up") }
        SSL_CTX_set_alpn_select_cb(context, { TLSServer.selectProtocol($0, $1, $2, $3, $4, $5) }, nil)
    }

    deinit { SSL_CTX_free(context) }

    /// Begins a session on a non-blocking socket, which the caller continues to own.
    ///
    /// - Parameter host: the host whose certificate is presented if the client sends no host name; a name or
    ///   an address in the format of URLs.
    package func session(on descriptor: Int32, for host: String) throws(TLSError) -> TLSSession {
        try TLSSession(context, descriptor, host, self)
    }

    /// OpenSSL's callback that selects the certificate for the host name in a ClientHello.
    private static func selectCertificate(_ session: OpaquePointer?, _ pointer: UnsafeMutableRawPointer?)
        -> Int32
    {
        guard let session, let pointer, let owner = larder_tls_owner(session) else { return 0 }
        let server = Unmanaged<TLSServer>.fromOpaque(pointer).takeUnretainedValue()
        guard let authority = server.authority else { return 0 }
        let tlsSession = Unmanaged<TLSSession>.fromOpaque(owner).takeUnretainedValue()
        do throws(TLSError) {
            let requestedHost = TLSSession.serverName(session).flatMap {
                server.issuesCertificate($0) ? $0 : nil
            }
            let host = requestedHost ?? tlsSession.host
            let hostCertificate = try authority.hostCertificate(
                for: host, now: SystemClock.secondsSinceEpoch())
            // The issuer's certificate is included because some clients need it to find the authority that
            // they trust.
            return larder_tls_show(
                session, hostCertificate.certificate.pointer, hostCertificate.key.pointer,
                authority.credential.certificate.pointer)
        } catch {
            return 0
        }
    }

    /// OpenSSL's callback for ALPN (RFC 7301). Accepts HTTP/1.1 only. A client that does not offer it gets an
    /// alert.
    private static func selectProtocol(
        _: OpaquePointer?, _ chosen: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
        _ chosenCount: UnsafeMutablePointer<UInt8>?, _ offered: UnsafePointer<UInt8>?, _ count: UInt32,
        _: UnsafeMutableRawPointer?
    ) -> Int32 {
        guard let chosen, let chosenCount, let offered else { return SSL_TLSEXT_ERR_NOACK }
        let list = UnsafeBufferPointer(start: offered, count: Int(count))
        var offset = 0
        while offset < list.count, case let end = offset + 1 + Int(list[offset]), end <= list.count {
            if list[(offset + 1)..<end].elementsEqual("http/1.1".utf8) {
                (chosen.pointee, chosenCount.pointee) = (offered + offset + 1, list[offset])
                return SSL_TLSEXT_ERR_OK
            }
            offset = end
        }
        return SSL_TLSEXT_ERR_ALERT_FATAL
    }
}

/// The TLS session of one client. It belongs to one thread at a time, and its functions never block.
///
/// The caller reads from the socket and passes the bytes to `receive`; OpenSSL writes to the socket itself. The
/// handshake comes first, then `read` and `write`, and finally `end`.
package final class TLSSession {
    /// The host whose certificate is presented if the client sends no host name.
    let host: String
    private let session: OpaquePointer
    /// The memory BIO from which OpenSSL reads the client's bytes. The session owns it.
    private let inbox: OpaquePointer
    /// Keeps the server alive, since the context's callbacks use it.
    private let server: TLSServer
    private var hasEnded = false
    /// Whether the client has sent bytes.
    package private(set) var hasReceivedBytes = false

    fileprivate init(
        _ context: OpaquePointer, _ descriptor: Int32, _ host: String, _ server: TLSServer
    ) throws(TLSError) {
        guard let session = SSL_new(context) else { throw TLSError("begin a TLS session") }
        self.session = session
        self.server = server
        self.host = host
        guard let inbox = larder_tls_new_inbox(), let outbox = BIO_new_socket(descriptor, BIO_NOCLOSE) else {
            SSL_free(session)
            throw TLSError("begin a TLS session")
        }
        self.inbox = inbox
        SSL_set_bio(session, inbox, outbox)
        SSL_set_accept_state(session)
        larder_tls_set_owner(session, Unmanaged.passUnretained(self).toOpaque())
    }

    deinit { SSL_free(session) }

    /// The first byte that every TLS client sends: the type of a handshake record.
    package static let firstByte: UInt8 = 0x16

    /// The state of a handshake after a step.
    package enum HandshakeProgress: Equatable {
        case done
        /// The handshake continues when the client has sent more.
        case needsInput
        /// The handshake continues when the socket is writable.
        case needsOutput
        case failed(String)
    }

    /// Adds bytes that were read from the socket.
    package func receive(_ bytes: UnsafeBufferPointer<UInt8>) {
        hasReceivedBytes = true
        // A memory BIO grows as needed.
        BIO_write(inbox, bytes.baseAddress, Int32(bytes.count))
    }

    package var isHandshakeComplete: Bool { SSL_is_init_finished(session) == 1 }

    package func continueHandshake() -> HandshakeProgress {
        ERR_clear_error()
        let result = SSL_do_handshake(session)
        return result == 1 ? .done : handshakeProgress(after: result)
    }

    /// The host name that the client sent (SNI), in lower case; nil if there is none or it is invalid.
    package var serverName: String? { Self.serverName(session) }

    static func serverName(_ session: OpaquePointer) -> String? {
        guard let name = SSL_get_servername(session, TLSEXT_NAMETYPE_host_name).map({ String(cString: $0) }),
            let url = WebURL("https://\(name)/"), !url.hasCredentials, url.port == nil, url.path == "/",
            url.query == nil, url.fragment == nil, !name.utf8.contains(UInt8(ascii: "*"))
        else { return nil }
        return url.host
    }

    package enum ReadResult: Equatable {
        case bytes(Int)
        /// The client must send more before any data is available.
        case needsInput
        /// The client has ended the session, or the session has failed.
        case ended
    }

    /// Decrypts received bytes into a buffer.
    package func read(into buffer: UnsafeMutableBufferPointer<UInt8>) -> ReadResult {
        ERR_clear_error()
        let count = SSL_read(session, buffer.baseAddress, Int32(clamping: buffer.count))
        if count > 0 { return .bytes(Int(count)) }
        return SSL_get_error(session, count) == SSL_ERROR_WANT_READ ? .needsInput : .ended
    }

    /// Encrypts and writes bytes, like `send`: returns how many were accepted, or -1 with the reason in
    /// `errno`.
    package func write(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard !bytes.isEmpty else { return 0 }
        ERR_clear_error()
        errno = 0
        let count = SSL_write(session, bytes.baseAddress, Int32(clamping: bytes.count))
        if count > 0 { return Int(count) }
        switch SSL_get_error(session, count) {
        case SSL_ERROR_WANT_WRITE, SSL_ERROR_WANT_READ: errno = EAGAIN
        default: if errno == 0 || errno == EAGAIN || errno == EINTR { errno = EPIPE }
        }
        return -1
    }

    /// Sends a close_notify alert, by which the client distinguishes the end of the data from a broken connection.
    package func end() {
        guard !hasEnded, isHandshakeComplete else { return }
        hasEnded = true
        ERR_clear_error()
        SSL_shutdown(session)
    }

    private func handshakeProgress(after result: Int32) -> HandshakeProgress {
        switch SSL_get_error(session, result) {
        case SSL_ERROR_WANT_READ: .needsInput
        case SSL_ERROR_WANT_WRITE: .needsOutput
        default: .failed(TLSError.lastReason())
        }
    }
}
