import Glibc
import TestOrigin
import Testing

@testable import LarderKit

/// Tests of tunnels with a TLS client of another program, and of the processor time of idle tunnels.
extension ProxyTests {
    /// The client is Python with OpenSSL, so that Larder's own TLS code does not judge itself.
    @Test func `a TLS session in a tunnel is resumed by a ticket and negotiates ALPN`() throws {
        let script = """
            import socket, ssl, sys
            port, authority = int(sys.argv[1]), sys.argv[2]
            def ask(context, session=None):
                plain = socket.create_connection(("127.0.0.1", port), 120)
                plain.sendall(b"CONNECT jam.test:443 HTTP/1.1\\r\\nHost: jam.test:443\\r\\n\\r\\n")
                assert plain.recv(100).startswith(b"HTTP/1.1 200")
                secure = context.wrap_socket(plain, server_hostname="jam.test", session=session)
                secure.sendall(b"GET /a HTTP/1.1\\r\\nHost: jam.test\\r\\nConnection: close\\r\\n\\r\\n")
                assert secure.recv(100).startswith(b"HTTP/1.1 504")
                while secure.recv(65536): pass
                return secure
            for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
                context = ssl.create_default_context(cafile=authority)
                context.minimum_version = context.maximum_version = version
                context.set_alpn_protocols(["h2", "http/1.1"])
                first = ask(context)
                second = ask(context, first.session)
                print(first.version(), first.session_reused, second.session_reused, second.selected_alpn_protocol())
            """
        let authority = try folder.write(larder.authority().certificate, to: "ca.pem")
        try withProxy(.offline) { (_, service) throws in
            let port = "\(try #require(service.proxyPort))"
            let python = try ChildProcess("/usr/bin/env", ["python3", "-c", script, port, authority])
            let ending = python.wait()
            #expect(
                ending.output == "TLSv1.2 False True http/1.1\nTLSv1.3 False True http/1.1\n",
                "\(ending.errors)")
        }
    }

    /// Covers a tunnel without traffic, and one that one side has closed.
    @Test(arguments: [false, true])
    func `an idle tunnel uses no processor time`(isHalfClosed: Bool) async {
        // In a process of its own, because other tests have tunnels too.
        await #expect(processExitsWith: .success) { [isHalfClosed] in
            try ProxyTests().waitInTunnel(isHalfClosed: isHalfClosed)
        }
    }

    /// Waits for a response that the server withholds, and measures the CPU time of the relay.
    private func waitInTunnel(isHalfClosed: Bool) throws {
        origin.on("/a", .page("a"))
        origin.hold("/a")
        try withProxy(.protocol, untouched: ["127.0.0.1"]) { (client, _) throws in
            try openTunnel(client)
            try client.send("GET /a HTTP/1.1\r\nHost: \(host)\r\n\r\n")
            try #require(origin.waitForRequests(1, to: "/a"))
            if isHalfClosed { client.closeWriting() }
            let before = Self.relayTime()
            // A relay that polled without waiting would use all the processor time it gets.
            #expect(throws: TestError.self) { _ = try client.read(1, within: .milliseconds(100)) }
            try #require(Self.relayTime() - before < 30_000_000)
            origin.release("/a")
            try #require(try client.response().text == "a")
        }
    }

    /// The CPU time of the threads of all relays in this process, in nanoseconds.
    private static func relayTime() -> Int {
        guard let tasks = opendir("/proc/self/task") else { return 0 }
        defer { closedir(tasks) }
        var time = 0
        while let task = readdir(tasks) {
            let name = withUnsafePointer(to: &task.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard text("/proc/self/task/\(name)/comm") == "larder-relay\n" else { continue }
            time +=
                text("/proc/self/task/\(name)/schedstat").split(separator: " ").first.flatMap { Int($0) } ?? 0
        }
        return time
    }

    private static func text(_ path: String) -> String {
        guard let file = fopen(path, "r") else { return "" }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 256)
        return String(decoding: bytes.prefix(fread(&bytes, 1, bytes.count, file)), as: UTF8.self)
    }
}
