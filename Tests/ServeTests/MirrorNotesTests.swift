import TestOrigin
import Testing

@testable import Mirror
@testable import Store

@Suite struct MirrorNotesTests {
    private static let page = "https://example.test/"

    /// Runs a server on a store, and returns the store's activity database after the server has stopped.
    private func activity(
        of store: StockedStore, memoryLimit: Int = 1_000_000, options: MirrorOptions = MirrorOptions(),
        _ use: (RawClient, _ port: UInt16) throws -> Void
    ) throws -> ActivityDatabase {
        try activity(in: store.folder, memoryLimit: memoryLimit, options: options, use)
    }

    private func activity(
        in folder: StoreFolder, memoryLimit: Int = 1_000_000, options: MirrorOptions = MirrorOptions(),
        _ use: (RawClient, _ port: UInt16) throws -> Void
    ) throws -> ActivityDatabase {
        let server = try MirrorServer(
            folder, port: 0, threadCount: 1, memoryLimit: memoryLimit, options: options)
        do {
            defer { server.stop() }
            try use(RawClient(port: Int(server.port)), server.port)
        }
        return try ActivityDatabase(folder)
    }

    private func stocked() throws -> StockedStore {
        try StockedStore([
            .init(href: Self.page, text: "<p>page"),
            .init(href: "https://example.test/dir/a.html", text: "a"),
            .init(href: "https://example.test/dir/b.html", text: "b"),
        ])
    }

    @Test(arguments: [0, 1_000_000])
    func `the time at which a response was served is recorded when the server stops`(
        memoryLimit: Int
    ) throws {
        let store = try stocked()
        let before = try StoreReader(store.folder).response(for: Self.page)
        let recorded = try activity(of: store, memoryLimit: memoryLimit) { client, port in
            for _ in 0..<3 { _ = try client.get("/", host: "example-test.localhost:\(port)") }
        }
        let times = try recorded.servedTimes()
        #expect(Array(times.keys) == [try #require(before).url])
        // Times since 1970, not since the start of the machine.
        #expect(times.values.allSatisfy { $0 > 1_700_000_000 })
    }

    @Test(arguments: [0, 1_000_000])
    func `pages that people open are recorded with their snapshot, and requests of programs are not`(
        memoryLimit: Int
    ) throws {
        let opening = [
            ("Sec-Fetch-Site", "none"), ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "document"),
        ]
        let frame = opening.dropLast() + [("Sec-Fetch-Dest", "iframe")]
        /// The paths of the pages that were read, with their snapshots, after a request by a program and one with the fields.
        func readings(
            _ target: String, _ fields: [(String, String)], inFirst: Bool = false
        ) throws -> [String] {
            let store = try stocked()
            try store.publish([.init(href: Self.page, text: "<p>new page")])
            let recorded = try activity(of: store, memoryLimit: memoryLimit) { client, port in
                let host = (inFirst ? "past-1-" : "") + "example-test.localhost:\(port)"
                // The second response comes from memory if there is room.
                _ = try client.get(target, host: host)
                _ = try client.get(target, host: host, fields: fields)
            }
            let reader = try StoreReader(store.folder)
            return try recorded.lastReadings(atMost: 9).map { reading in
                let response = try ["/", "/dir/a.html"].compactMap {
                    try reader.response(for: "https://example.test\($0)", ofSnapshot: 1)
                }.first { $0.url == reading.url }
                return "\(response?.href ?? "?") \(reading.snapshot.map { "\($0)" } ?? "live")"
            }
        }
        #expect(try readings("/", opening) == ["\(Self.page) live"])
        #expect(try readings("/", opening, inFirst: true) == ["\(Self.page) 1"])
        #expect(try readings("/dir/a.html", opening, inFirst: true) == ["\(Self.page)dir/a.html 1"])
        for fields in [
            [], [("Accept", "*/*")], [("Accept", "text/html")], Array(frame),
            opening + [("Sec-Purpose", "prefetch;prerender")],
        ] as [[(String, String)]] {
            #expect(try readings("/", fields) == [], "\(fields)")
        }
        // Without the fields of Fetch Metadata, an answer from memory is not recorded.
        guard memoryLimit == 0 else { return }
        let plain = [("Accept", "text/html"), ("Upgrade-Insecure-Requests", "1")]
        #expect(try readings("/", plain, inFirst: true) == ["\(Self.page) 1"])
    }

    @Test(arguments: [0, 1_000_000])
    func `a server for a browser that checks pages records misses, but no uses`(memoryLimit: Int) throws {
        var options = MirrorOptions()
        options.recordsUses = false
        let recorded = try activity(of: stocked(), memoryLimit: memoryLimit, options: options) {
            client, port in
            for target in ["/", "/", "/nowhere"] {
                _ = try client.get(target, host: "example-test.localhost:\(port)")
            }
        }
        #expect(try recorded.servedTimes().isEmpty)
        #expect(try recorded.misses().map(\.href) == ["https://example.test/nowhere"])
    }

    @Test func `a miss is recorded with its referrer, count and destination`() throws {
        let recorded = try activity(of: try stocked()) { client, port in
            let host = "example-test.localhost:\(port)"
            for _ in 0..<2 {
                _ = try client.get(
                    "/x.png?a=b", host: host,
                    fields: [
                        ("Referer", "http://example-test.localhost:\(port)/dir/a.html"),
                        ("Accept", "image/*"),
                    ])
            }
            _ = try client.get("/y", host: host, fields: [("Accept", "text/html")])
            _ = try client.get(
                "/z", host: "port-81.other-test.localhost:\(port)", fields: [("Sec-Fetch-Dest", "style")])
        }
        let misses = try recorded.misses()
        #expect(
            misses.map(\.href) == [
                "http://other.test:81/z", "https://example.test/x.png?a=b", "https://example.test/y",
            ])
        #expect(misses.map(\.count) == [1, 2, 1])
        #expect(misses.map(\.isPage) == [false, false, true])
        #expect(misses.map(\.from) == [.fromThisMachine, [], .fromThisMachine])
        #expect(misses.map(\.referrer) == [nil, "https://example.test/dir/a.html", nil])
        #expect(misses.allSatisfy { $0.last >= $0.first && $0.first > 1_700_000_000 })
        #expect(try recorded.missesToFetch(forHosts: ["example.test"]).map(\.href).count == 2)
    }

    @Test(
        "A script gets the stored answer with an error status, unless a later response is stored; windows do not"
    )
    func errorAnswers() throws {
        func entry(_ path: String, _ status: Int, fetched: Int64, isError: Bool) -> StockedStore.Entry {
            var entry = StockedStore.Entry(
                href: "https://example.test\(path)", type: "application/json", status: status)
            (entry.fetched, entry.text) = (fetched, status == 404 && !isError ? nil : "{\"s\":\(status)}")
            if isError { entry.request = .errorAnswer }
            return entry
        }
        let store = try StockedStore([
            .init(href: Self.page, text: "<p>page"), entry("/me", 401, fetched: 1, isError: true),
            entry("/lost", 404, fetched: 1, isError: true), entry("/lost", 404, fetched: 5, isError: false),
            entry("/gone", 401, fetched: 1, isError: true), entry("/gone", 404, fetched: 5, isError: false),
            entry("/back", 500, fetched: 5, isError: true), entry("/back", 200, fetched: 1, isError: false),
        ])
        let recorded = try activity(of: store) { client, port in
            func get(_ path: String, _ destination: String) throws -> String {
                let answer = try client.get(
                    path, host: "example-test.localhost:\(port)",
                    fields: [
                        ("Sec-Fetch-Dest", destination),
                        ("Sec-Fetch-Mode", destination == "document" ? "navigate" : "cors"),
                        ("Sec-Fetch-Site", "same-origin"),
                        ("Referer", "http://example-test.localhost:\(port)/"),
                    ])
                return "\(answer.status) \(answer.text.prefix { $0 != "\n" })"
            }
            for _ in 0..<2 {
                let answers = try ["/me", "/lost", "/back"].map { try get($0, "empty") }
                #expect(answers == ["401 {\"s\":401}", "404 {\"s\":404}", "200 {\"s\":200}"])
                let gone = try get("/gone", "empty")
                #expect(gone.hasPrefix("404 The origin"))
            }
            let window = try get("/me", "document")
            #expect(window.hasPrefix("504"))
        }
        #expect(try recorded.misses().map(\.href) == ["https://example.test/me"])
    }

    @Test("A script that asks for another form of a page gets it, and windows and other scripts get the page")
    func otherForm() throws {
        var form = StockedStore.Entry(href: Self.page, text: "{}", type: "application/json")
        form.request = try #require(RequestKey(form: "accept: application/json"))
        let store = try StockedStore([.init(href: Self.page, text: "page"), form])
        _ = try activity(of: store) { client, port in
            func get(_ destination: String, accept: String) throws -> String {
                try client.get(
                    "/", host: "example-test.localhost:\(port)",
                    fields: [
                        ("Sec-Fetch-Dest", destination), ("Accept", accept),
                        ("Sec-Fetch-Mode", destination == "document" ? "navigate" : "cors"),
                        ("Sec-Fetch-Site", "same-origin"),
                        ("Referer", "http://example-test.localhost:\(port)/"),
                    ]
                ).text
            }
            for _ in 0..<2 {
                let page = try get("document", accept: "text/html,*/*")
                let form = try get("empty", accept: "application/json")
                let read = try get("empty", accept: "*/*")
                #expect(page.hasSuffix("page") && form == "{}" && read.hasSuffix("page"))
            }
        }
    }

    @Test func `a miss of a site that uses only http is recorded with http`() throws {
        let shelf = try PortalShelf([
            .init(
                href: "http://plain.test/", assets: ["http://cdn.test/a.png", "https://pics.test/b.png"]),
            .init(href: "https://example.test/"), .init(href: "http://example.test/old"),
        ])
        let recorded = try activity(in: shelf.folder) { client, port in
            func miss(_ target: String, _ host: String) throws {
                let answer = try client.get(
                    target, host: "\(host).localhost:\(port)",
                    fields: [("Referer", "http://plain-test.localhost:\(port)/")])
                #expect(answer.status == 504)
            }
            try miss("/far", "plain-test")
            try miss("/a.png", "cdn-test")
            try miss("/made-by-a-script.png", "cdn-test")
            try miss("/b.png", "pics-test")
            try miss("/new", "example-test")
        }
        #expect(
            try recorded.misses().map(\.href) == [
                "http://cdn.test/a.png", "http://cdn.test/made-by-a-script.png", "http://plain.test/far",
                "https://example.test/new", "https://pics.test/b.png",
            ])
    }

    @Test func `a miss page lists the pages that link to the URL and stored URLs near it`() throws {
        let store = try stocked()
        _ = try activity(of: store) { client, port in
            let answer = try client.get(
                "/dir/c.html", host: "example-test.localhost:\(port)",
                fields: [("Accept", "text/html"), ("Referer", "http://example-test.localhost:\(port)/")])
            #expect(answer.status == 504)
            for url in ["/dir/a.html", "/dir/b.html", "/"] {
                #expect(
                    answer.text.contains("<a href=\"http://example-test.localhost:\(port)\(url)\">"), "\(url)"
                )
            }
            #expect(answer.text.contains("the next update of the site fetches the URL"))
        }
    }
}
