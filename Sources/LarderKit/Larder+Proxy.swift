internal import Fetch
internal import Glibc
internal import Serve
internal import Store
internal import System
internal import TLS
package import Web

/// A proxy in front of the network: programs ask it for whatever they want, and the larder keeps what passes,
/// or answers in place of the network.
public struct ProxyOptions: Sendable {
    /// 0 lets the kernel choose.
    public var port: UInt16 = 8081
    /// The site that takes in all that passes; nil puts it to those that start on the same hosts.
    public var site: String?
    /// Keeps whatever comes, also what says that it is not to be kept, and what POST requests are answered.
    public var keepsEverything = false
    /// `user:password` of whoever may use it; nil lets everybody who can reach it.
    public var login: String?
    /// Ports that clients may be connected to beside the usual ones.
    public var ports: [Int] = []
    /// Hosts whose clients are led to them untouched: `example.com`, or `*.example.com` for all below.
    public var untouched: [String] = []

    public init() {}
}

/// Who vouches before the clients of a larder's proxy that it may speak for every host.
public struct ProxyAuthority: Sendable {
    /// In PEM; what clients are to trust.
    public let certificate: String
    /// SHA-256 of the certificate, as browsers show it.
    public let fingerprint: String
    /// SHA-256 of its public key in Base64, as Chromium takes it (`--ignore-certificate-errors-spki-list`).
    public let keyDigest: String
    /// The file that holds certificate and key, and that nobody else may read.
    public let file: String
}

extension ProxyAuthority: JSONObject {
    package var members: JSONMembers {
        ["certificate": certificate, "fingerprint": fingerprint, "keyDigest": keyDigest, "file": file]
    }

    public var json: String { members.text() }
}

/// What passed through a proxy so far.
public struct ProxyTraffic: Sendable {
    /// Answered by what was held, what a server had just confirmed included.
    public let answered: Int
    /// Loaded from servers, and how many of these are held from now on.
    public let loaded: Int
    public let kept: Int
    /// Loaded and not kept, as that failed, and why.
    public let lost: Int
    public let lostWhy: String?
    /// Led to their hosts untouched.
    public let tunnels: Int
    /// Neither held nor to be had.
    public let missed: [String]
    public let missedCount: Int
    public let byteCount: Int
}

extension Larder {
    /// Answers the programs of this machine as their proxy, until the service is stopped.
    ///
    /// ```swift
    /// let service = try larder.proxy(serving: ServeOptions(policy: .protocol))
    /// print("http_proxy=http://localhost:\(service.proxyPort ?? 0)")
    /// ```
    ///
    /// - Throws: `LarderError` of kind `.input` for options that name nothing, `.machine` when the port is
    ///   not to be had.
    public func proxy(
        _ proxy: ProxyOptions = ProxyOptions(), serving options: ServeOptions, threads: Int? = nil,
        memoryLimit: Int = 64 * 1024 * 1024
    ) throws(LarderError) -> MirrorService {
        var options = options
        options.proxy = proxy
        return try start(port: nil, threads: threads, memoryLimit: memoryLimit, options: options)
    }

    /// The larder's authority, made with its folder where there is none yet.
    public func authority() throws(LarderError) -> ProxyAuthority {
        let authority = try openAuthority()
        return ProxyAuthority(
            certificate: authority.certificate, fingerprint: authority.fingerprint,
            keyDigest: authority.keyDigest,
            file: folder.path + "/" + Authority.fileName)
    }

    private func openAuthority() throws(LarderError) -> Authority {
        do throws(StoreError) { _ = try StoreWriter(folder) } catch { throw LarderError(error) }
        do throws(TLSError) { return try Authority.open(in: folder.path) } catch {
            throw LarderError(.machine, error.description)
        }
    }

    /// What a server shows to clients that speak TLS.
    func security(_ wanted: ServeSecurity, at address: ListenAddress) throws(LarderError) -> TLSServer {
        let authority: Authority
        switch wanted {
        case .own: authority = try openAuthority()
        case .files(let certificate, let key):
            do throws(TLSError) { return try TLSServer(certificate: certificate, key: key) } catch {
                throw LarderError(.input, error.description)
            }
        }
        do throws(TLSError) {
            // No client is shown that it is somebody else whom it has reached.
            return try TLSServer(authority) { MirrorServer.answers(to: $0, at: address) }
        } catch {
            throw LarderError(.machine, error.description)
        }
    }

    /// What the server's proxy is told.
    func proxyOptions(
        _ proxy: ProxyOptions, _ options: ServeOptions, _ log: PassLog
    ) throws(LarderError) -> (port: UInt16, options: Serve.ProxyOptions) {
        let authority = try openAuthority()
        let security: TLSServer
        do throws(TLSError) { security = try TLSServer(authority) } catch {
            throw LarderError(.machine, error.description)
        }
        var told = Serve.ProxyOptions(security: security, certificate: authority.certificate, log: log)
        told.login = proxy.login
        told.ports = proxy.ports.contains(0) ? nil : told.ports?.union(proxy.ports)
        told.untouched = proxy.untouched.map { $0.lowercased() }
        told.mayReachPrivate = options.network.mayReachPrivate
        if options.policy != .offline {
            let fetching: FetchOptions
            do throws(NetworkMistake) {
                fetching = try options.network.fetchOptions(for: [], spoolFolder: folder.incoming)
            } catch {
                throw LarderError(error)
            }
            told.connect = { url, nearestZone in
                (try? RawConnection(to: url, fetching, nearestZone: nearestZone)).map(RawChannel.init)
            }
        }
        return (proxy.port, told)
    }
}

extension MirrorService {
    /// What passed through the proxy so far; nil where there is none.
    public var traffic: ProxyTraffic? {
        log.map { log in
            let counts = log.counts
            return ProxyTraffic(
                answered: counts[.larder] + counts[.validated], loaded: counts[.network], kept: counts.kept,
                lost: counts.lost,
                lostWhy: counts.lostWhy,
                tunnels: counts[.tunnel], missed: counts.missed, missedCount: counts[.missed],
                byteCount: counts.byteCount)
        }
    }
}

private final class RawChannel: ByteChannel {
    private let connection: RawConnection

    init(_ connection: RawConnection) { self.connection = connection }

    var descriptor: Int32 { connection.descriptor }
    func send(_ bytes: UnsafeRawBufferPointer) -> Int { connection.send(bytes) }
    func receive(into buffer: UnsafeMutableRawBufferPointer) -> Int { connection.receive(into: buffer) }
}
