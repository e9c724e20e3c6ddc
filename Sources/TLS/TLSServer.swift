internal import CTLS
internal import Glibc
internal import System
internal import Web

/// The server's side of TLS: whichever host a client asks for, it is shown a certificate for that. Any thread
/// may begin sessions.
package final class TLSServer: @unchecked Sendable {
    // OpenSSL locks what sessions share of a context; nothing of it is set once `init` is over.
    private let context: OpaquePointer
    /// Nil where one certificate is shown to all.
    private let authority: Authority?
    private let isServed: @Sendable (String) -> Bool

    /// - Parameter isServed: whether there is a certificate for the host that a client names; who names
    ///   another one is shown that of the host for which the session was begun.
    package convenience init(
        _ authority: Authority, isServed: @escaping @Sendable (String) -> Bool = { _ in true }
    ) throws(TLSError) {
        try self.init(authority: authority, isServed: isServed)
        SSL_CTX_set_cert_cb(context, { TLSServer.choose($0, $1) }, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Shows the certificate of a file, with those behind it that vouch for it, to whoever comes.
    ///
    /// - Parameter key: the file of its key, which may be the same.
    package convenience init(certificate: String, key: String) throws(TLSError) {
        try self.init(authority: nil, isServed: { _ in true })
        let advice = "name a PEM file that begins with the server's own certificate"
        for file in [certificate, key] where access(file, R_OK) != 0 {
            throw TLSError("read \(file)", String(cString: strerror(errno)), advice: advice)
        }
        guard SSL_CTX_use_certificate_chain_file(context, certificate) == 1 else {
            throw TLSError("read a certificate in \(certificate)", advice: advice)
        }
        // Nobody is there to be asked for a password.
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
        authority: Authority?, isServed: @escaping @Sendable (String) -> Bool
    ) throws(TLSError) {
        guard let context = SSL_CTX_new(TLS_server_method()) else { throw TLSError("start TLS") }
        (self.context, self.authority, self.isServed) = (context, authority, isServed)
        ERR_clear_error()
        let name = Array("larder".utf8)
        guard larder_tls_limit(context) == 1,
            SSL_CTX_set_session_id_context(context, name, UInt32(name.count)) == 1
        else { throw TLSError("set TLS up") }
        SSL_CTX_set_alpn_select_cb(context, { TLSServer.selectProtocol($0, $1, $2, $3, $4, $5) }, nil)
    }

    deinit { SSL_CTX_free(context) }

    /// A session that a client begins on a socket which does not wait. The socket stays the caller's.
    ///
    /// - Parameter host: for whom it is when the client does not say; a name or an address as URLs have it.
    package func session(on descriptor: Int32, for host: String) throws(TLSError) -> TLSSession {
        try TLSSession(context, descriptor, host, self)
    }

    /// The certificate that a client's hello asks for.
    private static func choose(_ session: OpaquePointer?, _ pointer: UnsafeMutableRawPointer?) -> Int32 {
        guard let session, let pointer, let owner = larder_tls_owner(session) else { return 0 }
        let server = Unmanaged<TLSServer>.fromOpaque(pointer).takeUnretainedValue()
        guard let authority = server.authority else { return 0 }
        let own = Unmanaged<TLSSession>.fromOpaque(owner).takeUnretainedValue()
        do throws(TLSError) {
            let named = TLSSession.serverName(session).flatMap { server.isServed($0) ? $0 : nil }
            let host = named ?? own.host
            let leaf = try authority.leaf(for: host, now: SystemClock.secondsSinceEpoch())
            // With who signed it: by that some clients know whom to trust.
            return larder_tls_show(
                session, leaf.certificate.pointer, leaf.key.pointer, authority.own.certificate.pointer)
        } catch {
            return 0
        }
    }

    /// RFC 7301: what we speak, where the client names what it speaks.
    private static func selectProtocol(
        _: OpaquePointer?, _ chosen: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
        _ chosenCount: UnsafeMutablePointer<UInt8>?, _ offered: UnsafePointer<UInt8>?, _ count: UInt32,
        _: UnsafeMutableRawPointer?
    ) -> Int32 {
        guard let chosen, let chosenCount, let offered else { return SSL_TLSEXT_ERR_NOACK }
        let list = UnsafeBufferPointer(start: offered, count: Int(count))
        var at = 0
        while at < list.count, case let end = at + 1 + Int(list[at]), end <= list.count {
            if list[(at + 1)..<end].elementsEqual("http/1.1".utf8) {
                (chosen.pointee, chosenCount.pointee) = (offered + at + 1, list[at])
                return SSL_TLSEXT_ERR_OK
            }
            at = end
        }
        return SSL_TLSEXT_ERR_ALERT_FATAL
    }
}

/// One client's session. It belongs to one thread at a time; nothing in it ever waits.
package final class TLSSession {
    /// For whom it is when the client does not say.
    let host: String
    private let session: OpaquePointer
    private let inbox: OpaquePointer
    /// Keeps the context's callbacks alive.
    private let server: TLSServer
    private var hasEnded = false
    /// The client has said something.
    package private(set) var hasHeard = false

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

    /// With which every client begins: the record that holds its hello.
    package static let firstByte: UInt8 = 0x16

    package enum Progress: Equatable {
        case done
        /// Goes on when more has come.
        case wantsMore
        /// Goes on when the socket takes more.
        case wantsRoom
        case failed(String)
    }

    /// Puts in what the socket brought.
    package func take(_ bytes: UnsafeBufferPointer<UInt8>) {
        hasHeard = true
        // A memory inbox grows as it must.
        BIO_write(inbox, bytes.baseAddress, Int32(bytes.count))
    }

    package var hasShakenHands: Bool { SSL_is_init_finished(session) == 1 }

    package func shakeHands() -> Progress {
        ERR_clear_error()
        let result = SSL_do_handshake(session)
        return result == 1 ? .done : progress(after: result)
    }

    /// The name that the client asked for, in lower case; nil where it named none.
    package var serverName: String? { Self.serverName(session) }

    static func serverName(_ session: OpaquePointer) -> String? {
        guard let name = SSL_get_servername(session, TLSEXT_NAMETYPE_host_name).map({ String(cString: $0) }),
            let url = WebURL("https://\(name)/"), !url.hasCredentials, url.port == nil, url.path == "/",
            url.query == nil, url.fragment == nil, !name.utf8.contains(UInt8(ascii: "*"))
        else { return nil }
        return url.host
    }

    package enum Reading: Equatable {
        case bytes(Int)
        /// There will be, when more has come.
        case nothing
        case ended
    }

    /// What the client said, as far as it has come.
    package func read(into buffer: UnsafeMutableBufferPointer<UInt8>) -> Reading {
        ERR_clear_error()
        let count = SSL_read(session, buffer.baseAddress, Int32(clamping: buffer.count))
        if count > 0 { return .bytes(Int(count)) }
        return SSL_get_error(session, count) == SSL_ERROR_WANT_READ ? .nothing : .ended
    }

    /// Like `send`: how much the socket took, or -1 with the reason in `errno`.
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

    /// Tells the client that no more comes, so that it knows the end from a cut.
    package func end() {
        guard !hasEnded, hasShakenHands else { return }
        hasEnded = true
        ERR_clear_error()
        SSL_shutdown(session)
    }

    private func progress(after result: Int32) -> Progress {
        switch SSL_get_error(session, result) {
        case SSL_ERROR_WANT_READ: .wantsMore
        case SSL_ERROR_WANT_WRITE: .wantsRoom
        default: .failed(TLSError.lastReason())
        }
    }
}
