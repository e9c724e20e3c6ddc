internal import Fetch
internal import Glibc
internal import HTTPServer
internal import Mirror
internal import Portal
internal import Store
internal import System
internal import TLS
package import Web

/// Options of a forward proxy that stores the responses that pass through it, or answers from the store.
public struct ProxyOptions: Sendable {
    /// The port to listen on; 0 lets the kernel choose one.
    public var port: UInt16 = 8081
    /// The name of the site that gets all responses; nil adds each to the sites that start on its host.
    public var site: String?
    /// Whether to store every response, even if its headers forbid that, and responses to POST requests.
    public var storesEverything = false
    /// The login that clients must send, as `user:password`; nil lets every client use the proxy that can reach it.
    public var login: String?
    /// Ports to which clients may open tunnels (`CONNECT`), in addition to the usual ones; 0 allows every port.
    public var connectPorts: [Int] = []
    /// Hosts whose TLS connections pass through unchanged and unread: `example.com`, or `*.example.com` for its
    /// subdomains.
    public var passthroughHosts: [String] = []

    /// Creates options for port 8081.
    public init() {}
}

/// The certificate authority that a store's proxy uses to answer for https hosts.
public struct ProxyAuthority: Sendable {
    /// The certificate that clients must trust, in PEM.
    public let certificate: String
    /// The SHA-256 of the certificate, as browsers show it.
    public let fingerprint: String
    /// The SHA-256 of its public key in Base64, for Chromium's option `--ignore-certificate-errors-spki-list`.
    public let keyDigest: String
    /// The file with the certificate and its key, which no other user may read.
    public let file: String
}

extension ProxyAuthority: JSONObject {
    package var members: JSONMembers {
        ["certificate": certificate, "fingerprint": fingerprint, "keyDigest": keyDigest, "file": file]
    }

    public var json: String { members.text() }
}

/// Counts of the requests that a proxy has answered so far.
public struct ProxyTraffic: Sendable {
    /// Requests that were answered from the store, including stored responses that a server had just confirmed.
    public let answeredFromStore: Int
    /// Requests whose stored response a server had just confirmed; they are part of `answeredFromStore`.
    package let confirmed: Int
    /// Requests that were answered by servers.
    public let loadedFromOrigins: Int
    /// Responses of servers that were stored.
    public let stored: Int
    /// Responses of servers that could not be stored.
    public let notStored: Int
    /// The URL of the last response that could not be stored, with the reason; nil if all were stored.
    public let reasonNotStored: String?
    /// Connections that passed through unchanged.
    public let tunnels: Int
    /// URLs that were neither stored nor loaded. Limited in length; `missedCount` counts all of them.
    public let missedURLs: [String]
    /// The number of requests that could not be answered.
    public let missedCount: Int
    /// The number of body bytes that clients received.
    public let byteCount: Int
}

extension Larder {
    /// Starts a forward proxy for programs, which runs until the service is stopped.
    ///
    /// ```swift
    /// var options = ServeOptions()
    /// options.policy = .protocol
    /// let service = try larder.proxy(serving: options)
    /// print("http_proxy=http://localhost:\(service.proxyPort ?? 0)")
    /// ```
    ///
    /// - Parameters:
    ///   - proxy: the options of the proxy.
    ///   - options: the options that servers and proxies have in common, such as the policy.
    ///   - threads: the number of threads; nil for one per core.
    ///   - memoryLimit: the number of bytes of responses that are cached in memory.
    /// - Throws: `LarderError` of kind `.input` if an option is invalid, `.machine` if there is no store or the port
    ///   cannot be opened.
    public func proxy(
        _ proxy: ProxyOptions = ProxyOptions(), serving options: ServeOptions, threads: Int? = nil,
        memoryLimit: Int = 64 * 1024 * 1024
    ) throws(LarderError) -> MirrorService {
        var options = options
        options.proxy = proxy
        return try start(port: nil, threads: threads, memoryLimit: memoryLimit, options: options)
    }

    /// The store's certificate authority. Creates it, and the store's folder, if there is none.
    ///
    /// - Throws: `LarderError` of kind `.machine` if it cannot be created or read.
    public func authority() throws(LarderError) -> ProxyAuthority {
        let authority = try openAuthority()
        return ProxyAuthority(
            certificate: authority.certificate, fingerprint: authority.fingerprint,
            keyDigest: authority.keyDigest,
            file: folder.path + "/" + CertificateAuthority.fileName)
    }

    private func openAuthority() throws(LarderError) -> CertificateAuthority {
        // Creates the store if there is none.
        do throws(StoreError) { _ = try StoreWriter(folder) } catch { throw LarderError(error) }
        do throws(TLSError) { return try CertificateAuthority.openOrCreate(in: folder.path) } catch {
            throw LarderError(.machine, error.description)
        }
    }

    /// Loads or creates the certificates of a server.
    func security(_ wanted: ServeSecurity, at address: ListenAddress) throws(LarderError) -> TLSServer {
        let authority: CertificateAuthority
        switch wanted {
        case .own: authority = try openAuthority()
        case .files(let certificate, let key):
            do throws(TLSError) { return try TLSServer(certificate: certificate, key: key) } catch {
                throw LarderError(.input, error.description)
            }
        }
        do throws(TLSError) {
            // Signs certificates only for names and addresses under which this server is reached.
            return try TLSServer(authority) { MirrorServer.answers(to: $0, at: address) }
        } catch {
            throw LarderError(.machine, error.description)
        }
    }

    /// Converts the options of a proxy to the settings that the modules Mirror and HTTPServer use.
    func proxyOptions(
        _ proxy: ProxyOptions, _ options: ServeOptions, _ log: ProxyLog
    ) throws(LarderError) -> (port: UInt16, options: ProxySettings) {
        let authority = try openAuthority()
        let security: TLSServer
        do throws(TLSError) { security = try TLSServer(authority) } catch {
            throw LarderError(.machine, error.description)
        }
        var settings = ProxySettings(security: security, certificate: authority.certificate, log: log)
        settings.login = proxy.login
        settings.ports = proxy.connectPorts.contains(0) ? nil : settings.ports?.union(proxy.connectPorts)
        settings.untouched = proxy.passthroughHosts.map { $0.lowercased() }
        settings.mayReachPrivate = options.network.mayReachPrivate
        if options.policy.allowsNetwork {
            let fetching: FetchOptions
            do throws(NetworkOptionError) {
                fetching = try options.network.fetchOptions(for: [], spoolFolder: folder.incoming)
            } catch {
                throw LarderError(error)
            }
            settings.connect = { url, nearestZone in
                (try? RawConnection(to: url, fetching, nearestZone: nearestZone)).map(RawChannel.init)
            }
        }
        return (proxy.port, settings)
    }
}

extension MirrorService {
    /// Counts of the requests that the proxy has answered so far; nil if there is no proxy.
    public var traffic: ProxyTraffic? {
        log.map { log in
            let totals = log.totals
            return ProxyTraffic(
                answeredFromStore: totals[.store] + totals[.validated], confirmed: totals[.validated],
                loadedFromOrigins: totals[.network],
                stored: totals.storedCount,
                notStored: totals.notStoredCount,
                reasonNotStored: totals.lastStoreFailure,
                tunnels: totals[.tunnel], missedURLs: totals.missedURLs, missedCount: totals[.missed],
                byteCount: totals.byteCount)
        }
    }
}

/// A connection to an origin for a tunnel through the proxy, whose bytes are relayed unread.
final class RawChannel: ByteChannel {
    private let connection: RawConnection

    init(_ connection: RawConnection) { self.connection = connection }

    var descriptor: Int32 { connection.descriptor }
    func send(_ bytes: UnsafeRawBufferPointer) -> Int { connection.send(bytes) }
    func receive(into buffer: UnsafeMutableRawBufferPointer) -> Int { connection.receive(into: buffer) }
}
