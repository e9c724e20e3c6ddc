internal import CCurl
internal import Glibc
internal import System
package import Web

/// A connection to a host that sends and receives only the caller's bytes, over TLS for an https URL. Only
/// one thread may use it at a time. Only `init` blocks.
///
/// libcurl makes the connection (`CURLOPT_CONNECT_ONLY`), so that proxies, host addresses, certificates and the
/// network guard work as for other requests.
package final class RawConnection {
    /// The socket, to be polled.
    package let descriptor: Int32
    private let handle: UnsafeMutableRawPointer
    private let socketOpener: SocketOpener
    /// The bytes that `send` could not send yet. TLS needs the same bytes at the same address again.
    private let unsentBytes = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 * 1024, alignment: 16)
    private var unsentCount = 0

    /// Connects to the URL's host with these options, and waits until TLS is established. Throws if the
    /// network guard refuses the address, or the connection fails.
    package init(
        to url: WebURL, _ options: FetchOptions, nearestZone: NetworkZone
    ) throws(FetchFailure) {
        guard let handle = curl_easy_init() else { throw FetchFailure(.machine, "out of memory") }
        let socketOpener = SocketOpener(nearestZone == .thisMachine ? nil : NetworkGuard(nearestZone))
        do throws(FetchFailure) {
            descriptor = try Self.connect(handle, url, options, socketOpener)
        } catch {
            curl_easy_cleanup(handle)
            throw error
        }
        self.handle = handle
        self.socketOpener = socketOpener
    }

    deinit {
        curl_easy_cleanup(handle)
        unsentBytes.deallocate()
    }

    private static func connect(
        _ handle: UnsafeMutableRawPointer, _ url: WebURL, _ options: FetchOptions,
        _ socketOpener: SocketOpener
    ) throws(FetchFailure) -> Int32 {
        var addresses: UnsafeMutablePointer<curl_slist>?
        defer { curl_slist_free_all(addresses) }
        for address in options.hostAddresses {
            addresses = curl_slist_append(addresses, address.text) ?? addresses
        }
        let proxy = options.proxies.proxy(for: url)
        var codes = [
            larder_curl_set_text(handle, CURLOPT_URL, url.href),
            larder_curl_set_long(handle, CURLOPT_CONNECT_ONLY, 1),
            larder_curl_set_long(handle, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1),
            larder_curl_set_long(handle, CURLOPT_NOSIGNAL, 1),
            larder_curl_set_text(handle, CURLOPT_PROXY, proxy?.text ?? ""),
            larder_curl_set_long(handle, CURLOPT_HTTPPROXYTUNNEL, proxy == nil ? 0 : 1),
            larder_curl_set_long(
                handle, CURLOPT_CONNECTTIMEOUT_MS, max(1, Int(options.connectTimeout / .milliseconds(1)))),
            larder_curl_set_pointer(
                handle, CURLOPT_OPENSOCKETDATA, Unmanaged.passUnretained(socketOpener).toOpaque()),
            larder_curl_on_open_socket(handle) { context, _, address in
                guard let context, let address else { return CURL_SOCKET_BAD }
                return Unmanaged<SocketOpener>.fromOpaque(context).takeUnretainedValue().openSocket(address)
            },
        ]
        if addresses != nil { codes.append(larder_curl_set_list(handle, CURLOPT_RESOLVE, addresses)) }
        if let certificates = options.authorities ?? SystemCertificates.path() {
            codes.append(larder_curl_set_text(handle, CURLOPT_CAINFO, certificates))
            codes.append(larder_curl_set_text(handle, CURLOPT_PROXY_CAINFO, certificates))
        }
        if options.isInsecure {
            codes.append(larder_curl_set_long(handle, CURLOPT_SSL_VERIFYPEER, 0))
            codes.append(larder_curl_set_long(handle, CURLOPT_SSL_VERIFYHOST, 0))
        }
        for code in codes { try code.check() }
        let code = curl_easy_perform(handle)
        guard code == CURLE_OK else {
            let refused = socketOpener.refusal.map { FetchFailure(.refused, $0) }
            throw refused ?? FetchFailure(.unreachable, String(cString: curl_easy_strerror(code)))
        }
        var socket: curl_socket_t = CURL_SOCKET_BAD
        try larder_curl_get_socket(handle, CURLINFO_ACTIVESOCKET, &socket).check()
        return socket
    }

    /// Like `send(2)`: returns the number of bytes that were taken, or -1 with the reason in `errno`. After
    /// `EAGAIN` the same bytes have to be passed again first.
    package func send(_ bytes: UnsafeRawBufferPointer) -> Int {
        if unsentCount == 0 {
            unsentCount = min(bytes.count, unsentBytes.count)
            unsentBytes.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<unsentCount]))
        }
        var count = 0
        let code = curl_easy_send(handle, unsentBytes.baseAddress, unsentCount, &count)
        if code != CURLE_AGAIN { unsentCount = 0 }
        return Self.result(code, count)
    }

    /// Like `recv(2)`: returns the number of bytes, 0 at the end, or -1 with the reason in `errno`.
    package func receive(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        var count = 0
        return Self.result(curl_easy_recv(handle, buffer.baseAddress, buffer.count, &count), count)
    }

    private static func result(_ code: CURLcode, _ count: Int) -> Int {
        if code == CURLE_OK { return count }
        errno = code == CURLE_AGAIN ? EAGAIN : EPIPE
        return -1
    }

    /// Opens the socket of the connection, if the network guard allows its address. libcurl has a pointer to it.
    private final class SocketOpener {
        let networkGuard: NetworkGuard?
        /// Why the guard refused the last address; nil if it was allowed.
        private(set) var refusal: String?

        init(_ networkGuard: NetworkGuard?) { self.networkGuard = networkGuard }

        func openSocket(_ address: UnsafeMutablePointer<curl_sockaddr>) -> curl_socket_t {
            if let networkGuard {
                guard let target = IPAddress(larder_curl_address(address)) else { return CURL_SOCKET_BAD }
                refusal = networkGuard.refusal(of: target)
                if refusal != nil { return CURL_SOCKET_BAD }
            }
            let type = address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue)
            return socket(address.pointee.family, type, address.pointee.protocol)
        }
    }
}
