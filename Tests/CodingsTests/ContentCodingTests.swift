import Codings
import Testing
import Web

@Suite struct ContentCodingTests {
    @Test(arguments: [
        ("gzip, deflate, br, zstd", "deflate, gzip, br, zstd"), ("gzip", "gzip"), ("GZIP;q=0.5", "gzip"),
        ("", "identity"),
        ("identity", "identity"), ("gzip;q=0, br", "br"), ("gzip; q=0.000", "identity"),
        ("gzip;q=0.001", "gzip"),
        ("compress", "identity"),
    ])
    func `a server is asked for the codings that the client accepts and that can be decoded`(
        client: String, server: String
    ) {
        #expect(ContentCoding.shared(with: client) == server)
    }

    @Test func `without a client, a server is asked for all codings`() {
        #expect(ContentCoding.accepted == "deflate, gzip, br, zstd")
    }

    @Test(
        arguments: [
            ("gzip", ["Content-Encoding": "gzip"], true), ("gzip", ["Content-Encoding": "br"], false),
            ("gzip", [:], true), ("", ["Content-Encoding": "gzip"], false),
            (nil, ["Content-Encoding": "dcb"], true),
            ("gzip, br", ["Content-Encoding": "gzip, br"], true),
            ("gzip, br", ["Content-Encoding": "gzip, dcb"], false),
            ("gzip", ["Content-Encoding": "x-gzip"], true), ("gzip;q=0", ["Content-Encoding": "gzip"], false),
            // A body that may not be transformed is passed on as it is, or not at all.
            ("gzip", ["Content-Encoding": "gzip", "Cache-Control": "no-transform"], false),
        ] as [(String?, [String: String], Bool)])
    func `a client gets a coded body if it accepts the coding and the body may be decoded`(
        client: String?, fields: [String: String], accepts: Bool
    ) {
        var list = HTTPFields()
        for (name, value) in fields { list.append(name, value) }
        #expect(ContentCoding.accepts(client, list) == accepts)
    }
}
