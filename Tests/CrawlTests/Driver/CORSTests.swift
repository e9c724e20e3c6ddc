import Fetch
import Store
import TestOrigin
import Testing
import Web

@testable import Crawl

/// The `Origin` header of requests for assets of other origins, and the storage of their CORS headers.
@Suite struct CORSTests {
    private let bench: CrawlBench
    private let cdn: TestOrigin
    private let page: String

    init() throws {
        bench = try CrawlBench()
        cdn = try TestOrigin()
        page = bench.origin.base
        cdn.otherwise { request in
            OriginAnswer.file(
                "", type: request.path.hasSuffix("js") ? "text/javascript" : "application/octet-stream"
            )
            .validated(entityTag: "\"1\"").adding("Vary", "Origin")
            .adding("Access-Control-Allow-Origin", request["Origin"] ?? "nobody")
        }
    }

    /// The `Origin` header of the last request to a target; nil without one.
    private func originHeader(_ target: String) throws -> String? {
        try #require(cdn.requests(to: target).last, "\(target) was not requested")["Origin"]
    }

    private func storedResponse(_ url: String) throws -> StoredResponse {
        try #require(try StoreReader(bench.folder).response(for: url), "\(url)")
    }

    private func head(_ markup: String) { bench.origin.on("/", .page(markup)) }

    @Test(arguments: [
        ("<script type=module src=CDN/a></script>", true), ("<script src=CDN/a></script>", false),
        ("<script src=CDN/a crossorigin></script>", true), ("<img src=CDN/a>", false),
        ("<img src=CDN/a crossorigin>", true),
        ("<link rel=stylesheet href=CDN/a crossorigin>", true), ("<link rel=manifest href=CDN/a>", true),
        ("<link rel=preload as=font href=CDN/a>", true), ("<style>@font-face{src:url(CDN/a)}</style>", true),
        ("<video crossorigin><source src=CDN/a></video>", true), ("<p style='mask:url(CDN/a)'>", true),
        ("<script>fetch('CDN/a')</script>", true), ("<iframe src=CDN/a></iframe>", false),
        // One of several references with CORS is enough.
        ("<img src=CDN/a><img src=CDN/a crossorigin>", true),
    ]) func `a CORS request has the Origin header of its page, and others have none`(
        markup: String, isNamed: Bool
    ) throws {
        head(markup.replacing("CDN", with: cdn.base))
        #expect(try bench.crawl().misses == [])
        #expect(try originHeader("/a") == (isNamed ? page : nil))
        let stored = try storedResponse(cdn.url("/a"))
        #expect(stored.flags.contains(.hadOriginHeader) == isNamed)
        #expect(stored.variant == (isNamed ? "origin: \(page)" : "origin"))
        #expect(
            HTTPFields(block: stored.fields.utf8.span)["Access-Control-Allow-Origin"]
                == (isNamed ? page : "nobody"))
    }

    @Test func `assets of style sheets and modules are requested with the page's origin`() throws {
        head(
            "<link rel=stylesheet href=\(cdn.base)/style.css><script type=module src=\(cdn.base)/app.js></script>"
        )
        bench.origin.on("/own.woff2", .file("", type: "font/woff2"))
        let own = bench.origin.url("/own.woff2")
        cdn.on(
            "/style.css",
            .file("@import '/more.css';@font-face{src:url(/font.woff2),url(\(own))}", type: "text/css"))
        cdn.on("/more.css", .file("a{mask:url(/mask.svg)}", type: "text/css"))
        cdn.on("/app.js", .file("import './part.js'", type: "text/javascript"))
        cdn.on("/part.js", .file("fetch('/data.json')", type: "text/javascript"))
        #expect(try bench.crawl().misses == [])
        #expect(try originHeader("/style.css") == nil)
        for target in ["/font.woff2", "/mask.svg", "/app.js", "/part.js", "/data.json"] {
            #expect(try originHeader(target) == page, "\(target)")
        }
        #expect(bench.origin.requests(to: "/own.woff2").map { $0["Origin"] } == [nil])
    }

    @Test func `assets of a frame are requested with the frame's origin`() throws {
        head("<iframe src=\(cdn.base)/frame></iframe>")
        let own = bench.origin.url("/own.woff2")
        bench.origin.on("/own.woff2", .file("", type: "font/woff2"))
        cdn.on("/frame", .page("<style>@font-face{src:url(/font.woff2),url(\(own))}</style>"))
        #expect(try bench.crawl().misses == [])
        #expect(try originHeader("/font.woff2") == nil)
        #expect(bench.origin.requests(to: "/own.woff2").map { $0["Origin"] } == [cdn.base])
    }

    @Test func `redirects keep the Origin header until browsers would send null`() throws {
        let third = try TestOrigin()
        third.otherwise { _ in .file("", type: "font/woff2") }
        bench.origin.on("/away", .redirect(to: cdn.url("/from-page")))
        bench.origin.on("/back", .file("", type: "font/woff2"))
        cdn.on("/here", .redirect(to: "/there"))
        cdn.on("/away", .redirect(to: third.url("/from-cdn")))
        cdn.on("/back", .redirect(to: bench.origin.url("/back")))
        let fonts = ["/away", "\(cdn.base)/here", "\(cdn.base)/away", "\(cdn.base)/back"].map { "url(\($0))" }
        head("<style>@font-face{src:\(fonts.joined(separator: ","))}</style>")
        #expect(try bench.crawl().misses == [])
        #expect(try originHeader("/from-page") == page)
        #expect(try originHeader("/here") == page)
        #expect(try originHeader("/there") == page)
        #expect(try originHeader("/away") == page)
        #expect(third.requests(to: "/from-cdn").map { $0["Origin"] } == [nil])
        #expect(bench.origin.requests(to: "/back").map { $0["Origin"] } == [nil])
        #expect(try storedResponse(cdn.url("/here")).flags.contains(.hadOriginHeader))
        #expect(try !storedResponse(third.url("/from-cdn")).flags.contains(.hadOriginHeader))
    }

    @Test func `a conditional request repeats the Origin header, and the stored CORS headers stay`() throws {
        bench.origin.on(
            "/",
            OriginAnswer.page("<style>@font-face{src:url(\(cdn.base)/font.woff2)}</style>").validated(
                entityTag: "\"1\""))
        _ = try bench.crawl()
        for _ in 0..<2 {
            let report = try bench.crawl()
            #expect(report.confirmed == 2)
            let request = try #require(cdn.requests(to: "/font.woff2").last)
            #expect(request["Origin"] == page)
            #expect(request["If-None-Match"] == "\"1\"")
            let stored = try storedResponse(cdn.url("/font.woff2"))
            #expect(stored.snapshot == report.snapshot)
            #expect(stored.flags.contains(.hadOriginHeader))
            #expect(stored.variant == "origin: \(page)")
        }
        let report = try bench.crawl { $0.policy = .preferCache }
        #expect(report.requests == 0)
        #expect(try storedResponse(cdn.url("/font.woff2")).flags.contains(.hadOriginHeader))
    }

    @Test
    func
        `a response stored without Origin is loaded again for a CORS request, because a 304 has no CORS headers`()
        throws
    {
        head("<img src=\(cdn.base)/a.svg>")
        _ = try bench.crawl()
        head("<p style='mask:url(\(cdn.base)/a.svg)'>")
        for round in 0..<2 {
            let report = try bench.crawl()
            let request = try #require(cdn.requests(to: "/a.svg").last)
            #expect(request["Origin"] == page)
            #expect(request["If-None-Match"] == (round == 0 ? nil : "\"1\""))
            #expect(report.confirmed == round)
            #expect(try storedResponse(cdn.url("/a.svg")).flags.contains(.hadOriginHeader))
        }
    }

    @Test func `a CORS miss is requested with the origin of its page`() throws {
        head("nothing")
        cdn.on("/app.js", .file("import './part.js'", type: "text/javascript"))
        let miss = Miss(
            href: cdn.url("/app.js"), isPage: false, from: .fromThisMachine, origin: "https://page.test",
            first: 1,
            last: 1)
        _ = try bench.crawl { $0.recordedMisses = [try #require(CrawlPlan.RecordedMiss(miss))] }
        #expect(try originHeader("/app.js") == "https://page.test")
        #expect(try originHeader("/part.js") == "https://page.test")
    }

    @Test func `a 404 to a CORS request is stored as requested with an origin`() throws {
        head("<style>@font-face{src:url(\(cdn.base)/font.woff2)}</style>")
        cdn.on("/font.woff2", .failure(404))
        _ = try bench.crawl()
        #expect(try storedResponse(cdn.url("/font.woff2")).flags == [.hadOriginHeader, .fromThisMachine])
    }

    @Test func `a response can vary by header fields of the user`() throws {
        head("x")
        bench.origin.on("/", OriginAnswer.page("hallo").adding("Vary", "Accept-Language, Cookie"))
        _ = try bench.crawl { plan in
            try plan.fetch.hostFields.add("Accept-Language", "de")
            try plan.fetch.hostFields.add("Cookie", "a=secret", host: "127.0.0.1")
        }
        #expect(try storedResponse(bench.origin.url("/")).variant == "accept-language: de\ncookie")
    }

    // MARK: - Credentials

    @Test(arguments: [("X-Api-Key", true, true), ("X-Api-Key", false, true), ("DNT", true, false)])
    func `a response to a request with a secret header is private, and the header is not stored`(
        name: String, isForHost: Bool, isPrivate: Bool
    ) throws {
        head("<img src=/a.png>")
        bench.origin.on("/", OriginAnswer.page("<img src=/a.png>").adding("Vary", name))
        bench.origin.on("/a.png", .file("x", type: "image/png"))
        _ = try bench.crawl { plan in
            if isForHost {
                try plan.fetch.hostFields.add(name, "hunter2", host: "127.0.0.1")
            } else {
                try plan.fetch.hostFields.add(name, "hunter2")
            }
        }
        let page = try storedResponse(bench.origin.url("/"))
        #expect(page.flags.contains(.isPrivate) == isPrivate)
        #expect(try storedResponse(bench.origin.url("/a.png")).flags.contains(.isPrivate) == isPrivate)
        #expect(page.variant.contains("hunter2") == !isPrivate)
        let secrets = bench.folder.secretHasher(createsKey: false)
        #expect(page.matches([name: "hunter2"], secrets) && !page.matches([:], secrets))
    }

    @Test func `a response to a request with a cookie is private, whatever its status`() throws {
        head("<a href=/moved>1</a><a href=/gone>2</a><a href=/free/>3</a><img src=\(cdn.base)/a.png>")
        bench.origin.on("/robots.txt", .file("", type: "text/plain"))
        bench.origin.on("/moved", .redirect(to: "/page"))
        bench.origin.on("/page", OriginAnswer.page("page").validated(entityTag: "\"1\""))
        bench.origin.on("/gone", .failure(410))
        let jar = try bench.scratch.write(
            "localhost\tFALSE\t/\tFALSE\t4000000000\ta\t1\n", to: "../jar-\(cdn.port)")
        let start = "http://localhost:\(bench.origin.port)"
        cdn.on("/a.png", .file("x", type: "image/png"))
        let crawl = { (policy: CachePolicy) throws -> CrawlReport in
            try self.bench.crawl { plan in
                plan.start = [try #require(WebURL(start + "/"))]
                plan.fetch.cookies = CookieOptions(load: [jar])
                plan.productToken = "larder"
                plan.policy = policy
            }
        }
        for policy in [CachePolicy.revalidate, .revalidate, .preferCache] {
            _ = try crawl(policy)
            for target in ["/", "/moved", "/page", "/gone", "/robots.txt"] {
                #expect(try storedResponse(start + target).flags.contains(.isPrivate), "\(target)")
            }
            #expect(try !storedResponse(cdn.url("/a.png")).flags.contains(.isPrivate))
        }
        #expect(bench.origin.requests(to: "/page").last?["If-None-Match"] == "\"1\"")
    }

    @Test func `a response confirmed for a logged-in user becomes private and stays private`() throws {
        bench.origin.on("/", OriginAnswer.page("page").validated(entityTag: "\"1\""))
        for (isLoggedIn, isPrivate) in [(false, false), (true, true), (false, true)] {
            _ = try bench.crawl { plan in
                guard isLoggedIn else { return }
                plan.fetch.credentials.add(.bearer(token: "t"), for: plan.start[0])
            }
            #expect(try storedResponse(bench.origin.url("/")).flags.contains(.isPrivate) == isPrivate)
        }
    }
}
