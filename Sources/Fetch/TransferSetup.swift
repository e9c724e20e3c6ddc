internal import CCurl
internal import Glibc
internal import System

/// What all transfers of a loop are made with. It outlives them, for their handles point into it.
final class TransferSetup {
    let options: FetchOptions
    let share: Share
    /// Of those that are nobody's: what a server recognizes a session of TLS by may stand for a certificate.
    let anonymousShare: Share
    let cookies: CookieJar?
    let rate: RateGate?
    let receiver: (any BodyReceiver)?
    /// Nil where nobody wants to know how many connections there are.
    let book: ConnectionBook?
    private var pauseCount = 0
    /// Where hosts are, as libcurl takes it.
    private var addresses = FieldList()

    init(
        _ options: FetchOptions, _ receiver: (any BodyReceiver)?, _ book: ConnectionBook
    ) throws(FetchFailure) {
        if let path = options.authorities, access(path, R_OK) != 0 {
            throw FetchFailure(SystemError(errno, doing: "read", path))
        }
        self.options = options
        hasSession = options.hasSession
        self.receiver = receiver
        self.book = options.shortWay == .all ? book : nil
        rate = options.bytesPerSecond.map { RateGate(bytesPerSecond: $0) }
        let share = try Share(cookies: options.cookies != nil)
        self.share = share
        anonymousShare = try Share(cookies: false)
        if let cookies = options.cookies {
            self.cookies = try CookieJar(cookies, share: share)
        } else {
            cookies = nil
        }
        for address in options.hostAddresses { try addresses.append(address.text) }
    }

    func nextPauseNumber() -> Int {
        pauseCount += 1
        return pauseCount
    }

    /// Whether a request may carry a secret of the user: then what a page's script adds to a request may be
    /// one too, for the page may have been sent to this user alone.
    let hasSession: Bool

    /// Whether libcurl may add credentials by itself.
    var hasSecrets: Bool { options.cookies?.areNobodys == false || !options.credentials.isEmpty }

    var addressList: UnsafeMutablePointer<curl_slist>? { addresses.list }
}

/// How many connections libcurl has to whom. It belongs to the thread of its loop.
final class ConnectionBook {
    private var origins: [curl_socket_t: String] = [:]
    private var counts: [String: Int] = [:]

    func count(of origin: String) -> Int { counts[origin] ?? 0 }

    func opened(_ socket: curl_socket_t, to origin: String) {
        closed(socket)
        origins[socket] = origin
        counts[origin, default: 0] += 1
    }

    func closed(_ socket: curl_socket_t) {
        guard let origin = origins.removeValue(forKey: socket), let count = counts[origin] else { return }
        counts[origin] = count > 1 ? count - 1 : nil
    }
}

/// What all handles of a loop have in common: the sessions of TLS, and the cookies where they are wanted.
/// Only the loop's thread touches it, so libcurl needs no locks for it. It must outlive the handles, so each
/// transfer holds it.
final class Share {
    let pointer: UnsafeMutableRawPointer

    init(cookies: Bool) throws(FetchFailure) {
        guard let pointer = curl_share_init() else { throw FetchFailure(.machine, "out of memory") }
        self.pointer = pointer
        let shared = [CURL_LOCK_DATA_SSL_SESSION] + (cookies ? [CURL_LOCK_DATA_COOKIE] : [])
        for data in shared {
            let code = larder_curl_share_set_long(pointer, CURLSHOPT_SHARE, Int(data.rawValue))
            guard code == CURLSHE_OK else {
                throw FetchFailure(.machine, String(cString: curl_share_strerror(code)))
            }
        }
    }

    deinit { curl_share_cleanup(pointer) }
}
