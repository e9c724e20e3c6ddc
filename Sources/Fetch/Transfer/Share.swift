internal import CCurl

/// What all handles of a loop have in common: the sessions of TLS, and the cookies where they are wanted. Only the
/// loop's thread touches it, so libcurl needs no locks for it. It must outlive the handles, so each transfer holds it.
final class Share {
    let pointer: UnsafeMutableRawPointer

    init(cookies: Bool) throws(FetchFailure) {
        guard let pointer = curl_share_init() else { throw FetchFailure(.machine, "no memory is left") }
        self.pointer = pointer
        let shared = [CURL_LOCK_DATA_SSL_SESSION] + (cookies ? [CURL_LOCK_DATA_COOKIE] : [])
        for data in shared {
            let code = larder_curl_share_set_long(pointer, CURLSHOPT_SHARE, Int(data.rawValue))
            guard code == CURLSHE_OK else { throw FetchFailure(.machine, String(cString: curl_share_strerror(code))) }
        }
    }

    deinit { curl_share_cleanup(pointer) }
}
