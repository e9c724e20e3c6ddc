import Testing

/// RFC 9111, section 4.4: what a change makes doubtful.
@Suite struct ChangeCases {
    private static let first = CacheCase.Step.load("Cache-Control: max-age=600")

    @Test(arguments: ["POST", "PUT", "DELETE", "PATCH", "MKCOL", "FOO"])
    func `a change makes what is held doubtful`(method: String) throws {
        try CacheProxy().run([Self.first, .asks(1).by(method), .asks(2)])
        try CacheProxy().run([Self.first, .asks(1, status: 303).by(method), .asks(2)])
        for status in [400, 404, 500, 503] {
            try CacheProxy().run([Self.first, .asks(1, status: status).by(method), .held(2)])
        }
    }

    @Test(arguments: ["OPTIONS", "TRACE", "PROPFIND"]) func `what changes nothing does not`(method: String)
        throws
    {
        try CacheProxy().run([Self.first, .asks(1).by(method), .held(2)])
    }

    @Test(arguments: ["Location", "Content-Location"], ["POST", "PUT", "DELETE", "FOO"])
    func `so it does for what it names`(field: String, method: String) throws {
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
        CacheCase("another path is not", first, .asks(1).by("POST").at("/b"), .held(2)),
        CacheCase(
            "another query is not", first.at("/a?x"), .asks(1).by("POST").at("/a?y"), .held(2).at("/a?x")),
        CacheCase(
            "what is doubtful is asked about", .load("Cache-Control: max-age=600", "ETag: \"1\""),
            .asks(1).by("POST"),
            .confirmed(2, "Cache-Control: max-age=600").sending("If-None-Match: \"1\""), .held(3)),
        CacheCase(
            "and is not shown when nobody answers", first, .asks(1).by("POST"), .refused(2, 504, asks: true)),
        CacheCase(
            "what comes afterwards holds", first, .asks(1).by("PUT"), .asks(2, "Cache-Control: max-age=600"),
            .held(3, of: 2)),
        CacheCase(
            "a change that nobody answers changes nothing", first, .refused(1, 504, asks: true).by("POST"),
            .held(2)),
    ])
    func reach(_ scene: CacheCase) throws { try CacheProxy().run(scene.steps) }
}
