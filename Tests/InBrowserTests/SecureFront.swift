import Glibc
import System
import TLS
import TestOrigin
import Web

@testable import HTTPServer
@testable import Mirror

/// A TLS server in front of an origin that speaks plain http. It accepts any host name on one port.
final class SecureFront: Sendable {
    let port: Int
    /// The path of a file with the certificate of its authority.
    let authority: String
    private let listener: Int32
    private let thread: NamedThread

    init(_ origin: TestOrigin, in folder: TemporaryFolder) throws {
        let own = try CertificateAuthority.openOrCreate(in: folder.path)
        authority = try folder.write(own.certificate, to: "front.pem")
        let server = try TLSServer(own)
        let listening = try ListeningSocket(.ipv4("127.0.0.1"), port: 0, isShared: false)
        port = Int(listening.port)
        listener = listening.descriptor
        let target = origin.port
        thread = try NamedThread.start("front") {
            while true {
                var poll = pollfd(fd: listening.descriptor, events: Int16(POLLIN), revents: 0)
                guard Glibc.poll(&poll, 1, -1) >= 0 || errno == EINTR else { return }
                let client = accept(listening.descriptor, nil, nil)
                if client < 0 {
                    guard errno == EAGAIN || errno == EINTR else { return }
                    continue
                }
                _ = fcntl(client, F_SETFL, O_NONBLOCK)
                guard let session = try? server.session(on: client, for: "localhost"),
                    let url = WebURL("http://127.0.0.1:\(target)/")
                else { return }
                let handed = DetachedConnection(descriptor: client, session: session, received: [])
                Relay.start(
                    handed, to: url, nearestZone: .thisMachine, by: { _, _ in PlainChannel(port: target) },
                    opening: .nothing
                ) { _ in
                }
            }
        }
    }

    func stop() {
        shutdown(listener, Int32(SHUT_RDWR))
        thread.join()
    }
}

/// A connection without TLS, to the origin.
private final class PlainChannel: ByteChannel {
    let descriptor: Int32

    init?(port: Int) {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let code = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard code == 0 else { return nil }
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    }

    deinit { close(descriptor) }

    func send(_ bytes: UnsafeRawBufferPointer) -> Int {
        Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
    }

    func receive(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        recv(descriptor, buffer.baseAddress, buffer.count, 0)
    }
}
