import Testing

/// RFC 9111, section 4.4: invalidation of stored responses by unsafe requests.
@Suite struct ChangeCases {
    private static let first = CacheCase.Step.load("Cache-Control: max-age=600")

    @Test(arguments: ["POST", "PUT", "DELETE", "PATCH", "MKCOL", "FOO"])
    func `a successful unsafe request invalidates the stored response of its URL`(method: String) throws {
        try CacheProxy().run([Self.first, .asks(1).by(method), .asks(2)])
        try CacheProxy().run([Self.first, .asks(1, status: 303).by(method), .asks(2)])
        for status in [400, 404, 500, 503] {
            try CacheProxy().run([Self.first, .asks(1, status: status).by(method), .held(2)])
        }
    }

    @Test(arguments: ["OPTIONS", "TRACE", "PROPFIND"]) func `a safe method invalidates nothing`(
        method: String
    )
        throws
    {
        try CacheProxy().run([Self.first, .asks(1).by(method), .held(2)])
    }

    @Test(arguments: ["Location", "Content-Location"], ["POST", "PUT", "DELETE", "FOO"])
    func `a successful unsafe request invalidates URLs of its origin named by Location or Content-Location`(
        field: String, method: String
    ) throws {
        try CacheProxy().run([
            Self.first, .asks(1, "\(field): /a", status: 201).by(method).at("/b"), .asks(2),
        ])
        try CacheProxy().run([Self.first, .asks(1, "\(field): a", status: 201).by(method).at("/b"), .asks(2)])
        try CacheProxy().run([
            Self.first, .asks(1, "\(field): /a", status: 500).by(method).at("/b"), .held(2),
        ])
        try CacheProxy().run([
            Self.first, .asks(1, "\(field): http://other.test/a", status: 201).by(method).at("/b"), .held(2),
        ])
    }

    @Test(arguments: [
        CacheCase("another path is not invalidated", first, .asks(1).by("POST").at("/b"), .held(2)),
        CacheCase(
            "another query is not invalidated", first.at("/a?x"), .asks(1).by("POST").at("/a?y"),
            .held(2).at("/a?x")),
        CacheCase(
            "an invalidated response is validated", .load("Cache-Control: max-age=600", "ETag: \"1\""),
            .asks(1).by("POST"),
            .confirmed(2, "Cache-Control: max-age=600").sending("If-None-Match: \"1\""), .held(3)),
        CacheCase(
            "an invalidated response is not served if the origin is silent", first, .asks(1).by("POST"),
            .refused(2, 504, requestsOrigin: true)),
        CacheCase(
            "a response loaded afterwards is fresh", first, .asks(1).by("PUT"),
            .asks(2, "Cache-Control: max-age=600"),
            .held(3, of: 2)),
        CacheCase(
            "an unsafe request without a response invalidates nothing", first,
            .refused(1, 504, requestsOrigin: true).by("POST"),
            .held(2)),
    ])
    func invalidation(_ example: CacheCase) throws { try CacheProxy().run(example.steps) }
}
