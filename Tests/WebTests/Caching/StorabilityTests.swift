import Testing

@testable import Web

struct StorabilityTests {
    private static func judge(
        _ fields: HTTPFields, status: Int = 200, request: CacheRequest = .get(),
        profile: CacheProfile = .private,
        forced: StoragePolicy? = nil
    ) -> Storability {
        Storability.judge(request, status: status, fields: fields, profile: profile, forced: forced)
    }

    @Test(
        "directives determine whether a response is stored",
        arguments: [
            // Cache-Control, result in a private cache, result in a shared cache
            ("", nil, nil), ("max-age=60", nil, nil), ("no-store", .noStore, .noStore),
            ("No-StOrE", .noStore, .noStore),
            ("max-age=60, no-store", .noStore, .noStore), ("private", nil, .isPrivate),
            ("private=\"set-cookie\"", nil, nil), ("no-cache", nil, nil),
            ("no-store, must-understand", nil, nil),
            ("x=\"no-store\"", nil, nil),
        ] as [(String, Storability.Refusal?, Storability.Refusal?)])
    func directives(text: String, own: Storability.Refusal?, shared: Storability.Refusal?) {
        let fields: HTTPFields = ["Cache-Control": text]
        #expect(Self.judge(fields) == own.map { .refused($0) } ?? .storable(.allowed))
        #expect(
            Self.judge(fields, profile: .reverseProxy) == shared.map { .refused($0) } ?? .storable(.allowed))
    }

    @Test(
        "a targeted field overrides Cache-Control",
        arguments: [
            ("no-store", "max-age=60", .refused(.noStore)), ("private", "max-age=60", .refused(.isPrivate)),
            ("max-age=60", "no-store", .storable(.allowed)),
            ("max-age=60, &&", "no-store", .refused(.noStore)),
            ("max-age=\"60\"", "no-store", .refused(.noStore)),
            ("no-store=?0", "no-store", .storable(.allowed)),
            ("private=\"a, b\"", "max-age=60", .storable(.allowed)),
            ("private=(\"a\" b)", "", .storable(.allowed)),
        ] as [(String, String, Storability)])
    func targeted(targeted: String, general: String, expected: Storability) {
        let fields: HTTPFields = ["CDN-Cache-Control": targeted, "Cache-Control": general]
        #expect(Self.judge(fields, profile: .reverseProxy) == expected)
    }

    @Test(
        "a status that is not cacheable by default needs explicit permission",
        arguments: [
            200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501, 201, 299, 302, 303, 307, 400, 403, 499,
            500, 503,
            599,
        ])
    func status(status: Int) {
        let isDefault = CacheStatus.isCacheableByDefault(status)
        #expect(Self.judge([:], status: status) == (isDefault ? .storable(.allowed) : .refused(.notStated)))
        for word in [
            "Cache-Control: max-age=9", "Cache-Control: public", "Cache-Control: private", "Expires: @+9",
        ] {
            #expect(Self.judge(head(word), status: status).isStorable)
        }
        let shared = Self.judge(head("Cache-Control: s-maxage=9"), status: status, profile: .reverseProxy)
        #expect(shared.isStorable)
        #expect(Self.judge(head("Cache-Control: s-maxage=9"), status: status).isStorable == isDefault)
    }

    @Test func `an interim or conditional status is not stored`() {
        for status in [100, 103, 199, 304, 600, 0, -1] {
            #expect(Self.judge(head("Cache-Control: public"), status: status) == .refused(.status))
        }
    }

    @Test func `must-understand with an unknown status prevents storing`() {
        let fields = head("Cache-Control: max-age=60, no-store, must-understand")
        #expect(Self.judge(fields, status: 599) == .refused(.notUnderstood))
        #expect(
            Self.judge(head("Cache-Control: max-age=60, must-understand"), status: 599)
                == .refused(.notUnderstood))
        #expect(Self.judge(fields, status: 404) == .storable(.allowed))
    }

    @Test(
        arguments: [
            ("max-age=60", false), ("", false), ("public", true), ("must-revalidate", true),
            ("s-maxage=60", true),
            ("private", false),
        ]) func `a shared cache stores a response to Authorization only if it may be shared`(
            text: String, isStored: Bool
        )
    {
        let request = CacheRequest.get(head("Authorization: Basic YTpi"))
        let fields: HTTPFields = ["Cache-Control": text]
        #expect(Self.judge(fields, request: request, profile: .reverseProxy).isStorable == isStored)
        #expect(Self.judge(fields, request: request).isStorable)
    }

    @Test(
        arguments: [
            ("GET", head(), nil), ("HEAD", head("Cache-Control: max-age=60"), .method),
            ("PUT", head(), .method),
            ("OPTIONS", head("Cache-Control: max-age=60"), .method), ("POST", head(), .method),
            ("POST", head("Cache-Control: max-age=60"), .method),
            ("POST", head("Content-Location: /page", "Cache-Control: no-cache"), .method),
            ("POST", head("Content-Location: /page", "Cache-Control: max-age=60"), nil),
            ("POST", head("Content-Location: /other", "Cache-Control: max-age=60"), .method),
            ("get", head(), .method),
        ] as [(String, HTTPFields, Storability.Refusal?)])
    func `a response is stored only for a method that permits it`(
        method: String, fields: HTTPFields, refusal: Storability.Refusal?
    ) {
        let target = webURL("https://example.com/page")
        let request = CacheRequest(method: method, url: target)
        #expect(Self.judge(fields, request: request) == refusal.map { .refused($0) } ?? .storable(.allowed))
        let recorded = CacheRequest(method: method, url: target, isRecorded: true)
        #expect(Self.judge(fields, request: recorded).isStorable)
    }

    @Test func `a rule overrides no-store, but not private`() {
        let secret = head("Cache-Control: no-store")
        #expect(Self.judge(secret, forced: .allowed) == .storable(.allowed))
        #expect(Self.judge(secret, request: .get(secret), forced: .memoryOnly) == .storable(.memoryOnly))
        #expect(Self.judge([:], forced: .notAllowed) == .refused(.rule))
        #expect(Self.judge([:], status: 403, forced: .allowed) == .storable(.allowed))
        #expect(Self.judge([:], request: .get(secret)) == .refused(.requestNoStore))
        let own = head("Cache-Control: private")
        #expect(Self.judge(own, profile: .reverseProxy, forced: .allowed) == .refused(.isPrivate))
    }

    @Test func `a partial response is stored only in a cache that stores parts`() {
        var profile = CacheProfile.private
        profile.storesParts = true
        let part = head("Content-Range: bytes 0-4/10")
        #expect(Self.judge(part, status: 206) == .refused(.part))
        #expect(Self.judge(part, status: 206, profile: profile).isStorable)
        #expect(
            Self.judge(head("Content-Type: multipart/byteranges"), status: 206, profile: profile)
                == .refused(.part))
        #expect(
            Self.judge(head("Content-Range: bytes */10"), status: 206, profile: profile) == .refused(.part))
    }

    @Test func `connection fields and fields named by no-cache or private are not stored`() {
        let fields = head(
            "Connection: a, B", "A: 1", "b: 2", "C: 3", "Keep-Alive: x", "TE: x",
            "Transfer-Encoding: chunked",
            "Proxy-Authenticate: x", "Proxy-Authentication-Info: x", "Proxy-Authorization: x",
            "Proxy-Connection: x",
            "Upgrade: x", "Trailer: x", "Set-Cookie: a=b", "Cache-Control: no-cache=\"d, E\", max-age=60",
            "Cache-Control: private=\"f\"", "D: 4", "e: 5", "F: 6")
        func names(_ profile: CacheProfile) -> [String] { fields.storable(in: profile).list.map(\.name) }
        #expect(names(.private) == ["C", "Set-Cookie", "Cache-Control", "Cache-Control", "F"])
        #expect(names(.reverseProxy) == ["C", "Set-Cookie", "Cache-Control", "Cache-Control"])
    }

    @Test(
        "an update replaces the received fields and preserves the rest",
        arguments: [
            (head("A: 1", "B: 2"), head("C: 4", "a: 3"), head("a: 3", "B: 2", "C: 4")),
            (head("A: 1", "A: 2"), head("A: 3", "A: 4"), head("A: 3", "A: 4")),
            (
                head("Content-Length: 5", "Content-Encoding: gzip"), head("Content-Length: 0"),
                head("Content-Length: 5", "Content-Encoding: gzip")
            ),
            (
                head("Content-Range: bytes 0-4/5"), head("Content-Range: bytes 0-1/5"),
                head("Content-Range: bytes 0-4/5")
            ),
            (
                head("Content-MD5: a", "Content-Foo: a"), head("Content-MD5: b", "Content-Foo: b"),
                head("Content-MD5: a", "Content-Foo: b")
            ),
            (head("Age: 50"), head("Date: @+9"), head("Date: @+9")),
            (head("Age: 50"), head("Age: 3"), head("Age: 3")),
            (head("ETag: W/\"1\""), head("ETag: \"1\"", "A: 1"), head("ETag: W/\"1\"", "A: 1")),
            (head("ETag: W/\"1\""), head("ETag: \"2\""), head("ETag: \"2\"")),
            (head("ETag: \"1\""), head("ETag: W/\"1\""), head("ETag: W/\"1\"")),
            (head("Set-Cookie: a"), head("Set-Cookie: b", "Connection: c", "C: 1"), head("Set-Cookie: b")),
        ] as [(HTTPFields, HTTPFields, HTTPFields)])
    func updated(stored: HTTPFields, newer: HTTPFields, expected: HTTPFields) {
        #expect(stored.updating(with: newer, in: .private) == expected)
    }

    @Test func `a response from the store has an Age field`() {
        let stored = entry(head("Age: 30", "Cache-Control: max-age=60", "Date: @+0"))
        let served = stored.servedFields(at: noon.adding(seconds: 3))
        #expect(served == head("Age: 33", "Cache-Control: max-age=60", "Date: @+0"))
    }
}
