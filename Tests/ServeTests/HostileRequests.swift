/// What clients send to have two readers see different requests: what is added here is tried on a server, on a
/// proxy's port, and in its tunnels.
enum HostileRequests {
    /// Two lengths, a length for one reader and chunks for the other, ends that only some readers see. Another
    /// request may stand behind each.
    static let hiding = [
        "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\nContent-Length: 44\r\n\r\n",
        "POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\na\r\n0\r\n\r\n",
        "POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n",
        "POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
        "POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: \u{b}chunked\r\n\r\n0\r\n\r\n",
        "POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        "POST /a HTTP/1.1\r\nHost: h\r\nX: y\rContent-Length: 3\r\n\r\n",
        "POST /a HTTP/1.0\r\nHost: h\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST /a HTTP/1.1\r\nHost: h\r\nHost: g\r\n\r\n",
        "POST /a HTTP/1.1\r\nHost: h\r\n folded\r\n\r\n",
        "POST /a HTTP/1.1\nHost: h\n\n", "POST /a HTTP/1.1\r\nHost: h\nContent-Length: 44\r\n\r\n",
        "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\n",
        "POST /a HTTP/1.1\r\nHost: h\r\nX: y\nTransfer-Encoding: chunked\r\n\r\n",
    ]

    /// What comes behind the head of a body in chunks.
    static let ambiguousChunks = [
        "\r\n", "x\r\n", "-1\r\n", "+1\r\n", "0x1\r\n", " 1\r\n",
        "1\na\r\n", "1\r\ra", "1\r\nab\r\n", "1\r\na\n0\r\n\r\n",
        "1\r\na\r\r",
        "1 \r\na", "1;a\nb\r\n", "1;\u{0}\r\n", "00000000000000001\r\n",
        "0\r\n X: folded\r\n\r\n", "0\r\nX y: z\r\n\r\n", "0\r\nX\r\n\r\n",
        "0\r\n: y\r\n\r\n",
        "0\r\nX: a\nb\r\n\r\n", "0\r\n\r\r", "0\r\nX: \u{0}\r\n\r\n",
    ]

    /// Heads that are refused, and by which status.
    static let refusedHeads: [(text: String, status: Int)] = [
        ("nonsense\r\n\r\n", 400),
        ("GET / HTTP/1.1\nHost: a\n\n", 400), ("GET / HTTP/1.1\nHost: a\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: a\r\n\n", 400),
        ("\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 400), ("\n", 400),
        ("GET /\r\n\r\n", 400),
        ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505),
        ("GET / HTTP/0.9\r\nHost: a\r\n\r\n", 505),
        ("GET / HTTP/1\r\nHost: a\r\n\r\n", 400),
        ("GET / HTTQ/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET  HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("G\u{0}T / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n", 501),
        ("CONNECT /a HTTP/1.1\r\nHost: a\r\n\r\n", 501),
        ("GET * HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nX: a\r\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nX: a\u{7f}\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\n: a\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nnonsense\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nExpect: miracles\r\n\r\n", 417),
        ("GET / HTTP/1.1\r\nHost: a\r\n\(String(repeating: "a:\r\n", count: 200))\r\n", 431),
        ("GET / HTTP/1.1\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\u{0}\r\n\r\n", 400),
        ("GET http://u@a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET http://a:b/ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET http://a?b HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET http:// HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET http:///x HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET relative HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\n", 413),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x1\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n", 400),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
            400
        ),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, gzip\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501),
        ("POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        ("GET /\(String(repeating: "a", count: 40_000)) HTTP/1.1\r\nHost: a\r\n\r\n", 414),
        ("GET /\(String(repeating: "a", count: 40_000))", 414),
        ("GET / HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "a", count: 70_000))", 431),
        ("GET / HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "a", count: 70_000))\r\n\r\n", 431),
    ]
}
