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
    func `Accept-Encoding lists the codings that the client accepts and Larder can decode`(
        client: String, server: String
    ) {
        #expect(ContentCoding.acceptEncoding(forClient: client) == server)
    }

    @Test func `without a client, Accept-Encoding lists all codings that Larder can decode`() {
        #expect(ContentCoding.acceptEncoding == "deflate, gzip, br, zstd")
    }

    @Test(
        arguments: [
            ("gzip", ["Content-Encoding": "gzip"], true), ("gzip", ["Content-Encoding": "br"], false),
            ("gzip", [:], true), ("", ["Content-Encoding": "gzip"], false),
            (nil, ["Content-Encoding": "dcb"], true),
            ("gzip, br", ["Content-Encoding": "gzip, br"], true),
            ("gzip, br", ["Content-Encoding": "gzip, dcb"], false),
            ("gzip", ["Content-Encoding": "x-gzip"], true), ("gzip;q=0", ["Content-Encoding": "gzip"], false),
            // no-transform forbids Larder to remove the coding.
            ("gzip", ["Content-Encoding": "gzip", "Cache-Control": "no-transform"], false),
        ] as [(String?, [String: String], Bool)])
    func `a body may be decoded if the client accepts its codings and transformation is allowed`(
        client: String?, fields: [String: String], accepts: Bool
    ) {
        var list = HTTPFields()
        for (name, value) in fields { list.append(name, value) }
        #expect(ContentCoding.canDecode(list, forClientAccepting: client) == accepts)
    }
}
