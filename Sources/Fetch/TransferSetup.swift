internal import CCurl
internal import Glibc
internal import System

/// The options and libcurl objects that all transfers of a loop share. Their handles point into it, so it outlives them.
final class TransferSetup {
    let options: FetchOptions
    /// The path of the PEM file with trusted certificates; nil for the default of libcurl.
    let certificates: String?
    let share: CurlShare
    /// For anonymous requests, which share no TLS sessions with the others: a server may take a resumed session for the
    /// client certificate that started it.
    let anonymousShare: CurlShare
    let cookies: CookieJar?
    /// The rate limit of all transfers together; nil without a limit.
    let rate: RateGate?
    /// Receives the bodies of all responses in place of memory and files; nil to keep them.
    let receiver: (any BodyReceiver)?
    /// Whether requests may contain a secret of the user (`FetchOptions.hasSession`). Header fields that a page's script
    /// adds to a request may then be secret too, because the page may have been made for this user alone. A stored
    /// property, because each request reads it.
    let hasSession: Bool
    /// The number of pauses of transfers so far.
    private var pauseCount = 0
    /// `FetchOptions.hostAddresses` in libcurl's form.
    private var addresses = FieldList()

    init(_ options: FetchOptions, _ receiver: (any BodyReceiver)?) throws(FetchFailure) {
        certificates = options.authorities ?? SystemCertificates.path()
        if let path = certificates, access(path, R_OK) != 0 {
            throw FetchFailure(SystemError(errno, doing: "read", path))
        }
        self.options = options
        hasSession = options.hasSession
        self.receiver = receiver
        rate = options.bytesPerSecond.map { RateGate(bytesPerSecond: $0) }
        let share = try CurlShare(cookies: options.cookies != nil)
        self.share = share
        anonymousShare = try CurlShare(cookies: false)
        if let cookies = options.cookies {
            self.cookies = try CookieJar(cookies, share: share)
        } else {
            cookies = nil
        }
        for address in options.hostAddresses { try addresses.appendLine(address.text) }
    }

    /// Returns a number for the pause of a transfer (`Transfer.pauseNumber`). Transfers continue in the order of their
    /// numbers.
    func nextPauseNumber() -> Int {
        pauseCount += 1
        return pauseCount
    }

    /// Whether libcurl may add the user's cookies or credentials to requests by itself. Only its verbose output then shows
    /// whether a request had any.
    var libcurlAddsSecrets: Bool { options.hasUserCookies || !options.credentials.isEmpty }

    var addressList: UnsafeMutablePointer<curl_slist>? { addresses.list }
}

/// The libcurl share handle of a loop's transfers: TLS sessions and, if wanted, cookies. Only the loop's thread uses it,
/// so libcurl needs no locks for it. It has to outlive the transfers' handles.
final class CurlShare {
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
