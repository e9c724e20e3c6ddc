import Testing

@testable import Web

struct RequestSecretsTests {
    @Test(
        "fields that browsers, curl, wget and crawlers send by themselves are harmless",
        arguments: [
            // Chromium
            [
                "Host", "Connection", "sec-ch-ua", "sec-ch-ua-mobile", "sec-ch-ua-platform",
                "Upgrade-Insecure-Requests", "User-Agent", "Accept", "Sec-Fetch-Site", "Sec-Fetch-Mode",
                "Sec-Fetch-User", "Sec-Fetch-Dest", "Sec-Fetch-Storage-Access", "Accept-Encoding",
                "Accept-Language", "Priority", "Sec-Purpose", "Purpose", "Origin", "Referer",
                "Cache-Control", "Pragma", "Content-Type", "Content-Length", "If-None-Match",
                "If-Modified-Since", "Range", "If-Range", ":authority", ":method", ":path", ":scheme",
                "Save-Data", "Last-Event-ID", "Service-Worker", "Access-Control-Request-Headers",
                "Access-Control-Request-Method",
            ],
            // Firefox
            ["DNT", "Sec-GPC", "TE", "Alt-Used", "X-Moz", "Proxy-Connection", "Keep-Alive"],
            // curl, wget, Heritrix
            ["Expect", "Upgrade", "HTTP2-Settings", "From", "Via", "Transfer-Encoding", "Trailer"],
            // Script libraries
            ["X-Requested-With", "RSC", "Next-Router-State-Tree", "HX-Request", "Turbo-Frame", "X-Inertia"],
            ["Larder-Policy"],
        ]) func harmless(names: [String])
    {
        for name in names {
            #expect(RequestSecrets.isHarmless(name), "\(name)")
            #expect(!RequestSecrets.canOccur(in: [name: "a"]))
            #expect(!RequestSecrets.isPrivate([:], to: [name: "a"]))
        }
    }

    @Test(
        "every other header field makes a response private",
        arguments: [
            "Authorization", "Cookie", "Proxy-Authorization", "X-Api-Key", "x-api-key", "Api-Key", "apikey",
            "PRIVATE-TOKEN", "X-Auth-Token", "X-CSRF-Token", "X-Amz-Security-Token", "X-Forwarded-For",
            "X-Real-IP", "Forwarded", "Sec-WebSocket-Protocol", "Sec-Fetch", "Cookie2", "X-", "Accept-", "",
        ]) func secret(name: String)
    {
        #expect(!RequestSecrets.isHarmless(name))
        #expect(RequestSecrets.canOccur(in: ["Accept": "a", name: "a"]))
        #expect(RequestSecrets.isPrivate([:], to: ["Accept": "a", name: "a"]))
    }

    @Test(arguments: [
        ("Authorization", false), ("Cookie", false), ("X-Api-Key", true), ("Proxy-Authorization", true),
    ]) func `public makes a response shareable only if its login is in Authorization or Cookie`(
        name: String, isPrivate: Bool
    ) {
        #expect(
            RequestSecrets.isPrivate(["Cache-Control": "max-age=9, Public"], to: [name: "a"]) == isPrivate)
        #expect(RequestSecrets.isPrivate(["Cache-Control": "max-age=9"], to: [name: "a"]))
        let both: HTTPFields = [name: "a", "X-Key": "b"]
        #expect(RequestSecrets.isPrivate(["Cache-Control": "public"], to: both))
    }
}
