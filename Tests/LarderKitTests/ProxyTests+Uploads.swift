import Glibc
import TestOrigin
import Testing

@testable import LarderKit

/// Request bodies that are too long for memory are streamed to the server.
extension ProxyTests {
    @Test func `a long request body is streamed to the server, with a length and in chunks`() throws {
        let ending = try uploading(
            """
            body = os.urandom(1 << 20)
            for size, chunked in ((80 << 20, False), (80 << 20, True), (1 << 20, True)):
                said = hashlib.sha256()
                with asking(b"PUT", size, chunked) as client:
                    for start in range(0, size, len(body)):
                        said.update(body)
                        client.sendall((b"%x\\r\\n" % len(body) + body + b"\\r\\n") if chunked else body)
                    if chunked: client.sendall(b"0\\r\\n\\r\\n")
                    print(answer(client, said.hexdigest()))
            """)
        #expect(ending.output == "200 same\n200 same\n200 same\n", "\(ending.errors)")
    }

    @Test func `a response that arrives before the end of a long request body reaches the client`() throws {
        let ending = try uploading(
            """
            with asking(b"POST", 1 << 40, False, b"/refused") as client:
                client.settimeout(120)
                try:
                    while True: client.sendall(b"x" * 65536)
                except OSError: pass
                print(client.recv(65536).split()[1].decode())
            """)
        #expect(ending.output == "413\n", "\(ending.errors)")
    }

    /// RFC 9112 9.2: the bytes after a body are another request, which the proxy has not checked.
    @Test func `bytes after a long request body are not sent to the server`() throws {
        let ending = try uploading(
            """
            with asking(b"PUT", 65 << 20, False) as client:
                client.sendall(b"x" * (65 << 20) + b"GET /secret HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n")
                answer(client, "")
            print(sorted(set(seen)))
            """)
        #expect(ending.output == "['PUT /']\n", "\(ending.errors)")
    }

    @Test func `offline, a long request body is rejected with an error for the client`() throws {
        try withProxy { (_, _) in }
        let ending = try uploading(
            """
            with asking(b"PUT", 1 << 40, False) as client: print(client.recv(65536).split()[1].decode())
            """, policy: .offline)
        #expect(ending.output == "504\n", "\(ending.errors)")
    }

    @Test func `a long POST invalidates stored responses`() throws {
        let ending = try uploading(
            """
            def get():
                with socket.create_connection(("127.0.0.1", proxy), 120) as client:
                    client.sendall(b"GET http://%s/ HTTP/1.1\\r\\nHost: a\\r\\nConnection: close\\r\\n\\r\\n" % host)
                    while client.recv(65536): pass
            get(), get()
            with asking(b"PUT", 65 << 20, False) as client:
                client.sendall(b"x" * (65 << 20))
                answer(client, "")
            end = time.time() + 60
            while seen.count("GET /") < 2 and time.time() < end: get()
            print(seen)
            """)
        #expect(ending.output == "['GET /', 'PUT /', 'GET /']\n", "\(ending.errors)")
    }

    /// Runs a script that starts a server and sends requests to it through the proxy. Returns its output.
    private func uploading(_ script: String, policy: CachePolicy = .protocol) throws -> ChildProcess.Ending {
        let common = """
            import hashlib, os, socket, sys, threading, time
            seen = []
            def serve(client):
                stream = client.makefile("rb")
                line = stream.readline()
                if not line: return
                method, target, _ = line.split()
                seen.append((method + b" " + target).decode())
                fields = {}
                while (line := stream.readline()) != b"\\r\\n":
                    name, _, value = line.partition(b":")
                    fields[name.lower()] = value.strip()
                digest = hashlib.sha256()
                if target == b"/refused":
                    client.sendall(b"HTTP/1.1 413 Too Long\\r\\nContent-Length: 0\\r\\nConnection: close\\r\\n\\r\\n")
                    client.shutdown(socket.SHUT_WR)
                    for _ in range(64): stream.read(65536)
                    client.close()
                    return
                if fields.get(b"transfer-encoding") == b"chunked":
                    while size := int(stream.readline(), 16):
                        digest.update(stream.read(size))
                        stream.readline()
                    stream.readline()
                left = int(fields.get(b"content-length", b"0"))
                while left:
                    piece = stream.read(min(left, 1 << 20))
                    if not piece: return
                    digest.update(piece)
                    left -= len(piece)
                client.sendall(b"HTTP/1.1 200 OK\\r\\nCache-Control: max-age=3600\\r\\nContent-Length: 64\\r\\n\\r\\n"
                    + digest.hexdigest().encode())
                if fields.get(b"connection") == b"close":
                    rest = stream.read(65536)
                    if rest: seen.append("more")
                    client.close()
                else: serve(client)
            listener = socket.create_server(("127.0.0.1", 0))
            def accept():
                while True: threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
            threading.Thread(target=accept, daemon=True).start()
            host = b"127.0.0.1:%d" % listener.getsockname()[1]
            proxy = int(sys.argv[1])
            def asking(method, size, chunked, path=b"/"):
                client = socket.create_connection(("127.0.0.1", proxy), 120)
                length = b"Transfer-Encoding: chunked" if chunked else b"Content-Length: %d" % size
                client.sendall(b"%s http://%s%s HTTP/1.1\\r\\nHost: %s\\r\\n%s\\r\\n\\r\\n" % (method, host, path, host, length))
                return client
            def answer(client, said):
                client.settimeout(120)
                stream = client.makefile("rb")
                status = stream.readline().split()[1].decode()
                while stream.readline() != b"\\r\\n": pass
                return status + (" same" if stream.read(64).decode() == said else " other")

            """
        var ending: ChildProcess.Ending?
        try withProxy(policy) { (_, service) throws in
            let port = "\(try #require(service.proxyPort))"
            let python = try ChildProcess("/usr/bin/env", ["python3", "-c", common + script, port])
            ending = python.wait()
        }
        return try #require(ending)
    }
}
