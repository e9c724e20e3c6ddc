import Testing

@testable import Web

struct CachingFuzzTests {
    private static let names = [
        "Cache-Control", "CDN-Cache-Control", "Expires", "Date", "Age", "Last-Modified", "ETag", "Vary",
        "Pragma",
        "Content-Range", "Content-Length", "Connection", "Location", "Content-Location", "Authorization",
        "If-None-Match",
        "If-Match", "If-Modified-Since", "If-Range", "Range", "Accept-Language",
    ]
    private static let pieces = [
        "max-age=", "s-maxage=", "stale-if-error=", "stale-while-revalidate=", "min-fresh=", "max-stale",
        "no-cache",
        "private",
        "no-store", "must-revalidate", "only-if-cached", "immutable", "public", "=\"", "\"", ",", ", ", ";",
        "*", "W/",
        "\\",
        "0", "1", "60", "-1", "2147483648", "99999999999999999999999", "bytes ", "bytes=", "0-", "-5", "3-2",
        "/10",
        "/*",
        "Thu, 18 Aug 2050 02:01:18 GMT", "Mon, 01 Jan 0001 00:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT",
        "é", "\u{0}",
        "\n", "\t", "a", "x/y", "//h/", "http://[", "?_=1",
    ]

    private static func fields(_ random: inout TestRandom) -> HTTPFields {
        var fields = HTTPFields()
        for _ in 0..<Int.random(in: 0...6, using: &random) {
            let value = (0..<Int.random(in: 0...5, using: &random)).map { _ in pick(pieces, &random) }
                .joined()
            fields.append(pick(names, &random), value)
        }
        return fields
    }

    private static func pick<Element>(_ all: [Element], _ random: inout TestRandom) -> Element {
        all[Int.random(in: all.indices, using: &random)]
    }

    /// Times at both ends of the range of dates, and times that are close together.
    private static let moments = [
        noon, noon.adding(seconds: 1), noon.adding(seconds: 60), HTTPDate(secondsSinceEpoch: .min),
        HTTPDate(secondsSinceEpoch: .max),
    ]

    @Test(arguments: 0..<8) func `random requests and responses never break the rules of the cache`(
        seed: UInt64
    ) {
        var random = TestRandom(seed: seed)
        for _ in 0..<400 {
            var profile = Self.pick([CacheProfile.private, .reverseProxy], &random)
            profile.storesParts = Bool.random(using: &random)
            let stored = Self.fields(&random)
            var entry = CacheEntry(
                status: Self.pick([200, 206, 301, 404, 503, 599], &random),
                fields: stored.storable(in: profile),
                requestTime: Self.pick(Self.moments, &random), responseTime: Self.pick(Self.moments, &random),
                profile: profile)
            entry.isInvalidated = UInt8.random(in: 0...9, using: &random) == 0
            entry.isPart = entry.status == 206
            let request = CacheRequest(
                method: Self.pick(["GET", "HEAD", "POST", "DELETE"], &random),
                url: webURL("https://example.com/a?v=1"),
                fields: Self.fields(&random))
            let now = Self.pick(Self.moments, &random)
            check(entry, request, profile, now, &random)
        }
    }

    private func check(
        _ entry: CacheEntry, _ request: CacheRequest, _ profile: CacheProfile, _ now: HTTPDate,
        _ random: inout TestRandom
    ) {
        let freshness = entry.freshness
        #expect((0...1 << 31).contains(freshness.lifetime) && (0...1 << 32).contains(freshness.age(at: now)))
        let answer = OriginResponse(
            status: Self.pick([200, 206, 304, 404, 500, 503], &random), fields: Self.fields(&random),
            requestTime: now,
            responseTime: now)
        for policy in CachePolicy.allCases {
            for held in [entry, nil] {
                let action = policy.action(for: request, entry: held, now: now)
                checkNetwork(policy, action, request, held)
                let outcome = Bool.random(using: &random) ? CacheOutcome.answered(answer) : .unreachable
                let conclusion = policy.conclusion(
                    of: outcome, for: request, entry: held, wasConditional: true, profile: profile, now: now)
                check(conclusion, outcome, request, held, profile)
            }
        }
        if let key = VaryKey(response: entry.fields, request: request.fields, secrets: .unkeyed) {
            #expect(key.matches(request.fields, .unkeyed) && VaryKey(stored: key.text) == key)
        }
        let ranges = request.fields["Range"].flatMap { ByteRanges($0) }?.resolved(in: 10) ?? []
        #expect(ranges.allSatisfy { !$0.isEmpty && (0..<10).contains($0.lowerBound) && $0.upperBound <= 10 })
        #expect(ranges.reduce(0) { $0 + $1.count } <= 10)
        let (status, _) = entry.servedHead(to: request, at: now, as: .origin)
        #expect([entry.status, 304, 412].contains(status))
    }

    /// Checks that the policy `offline`, and a request that forbids it, cause no request to the origin.
    private func checkNetwork(
        _ policy: CachePolicy, _ action: CacheAction, _ request: CacheRequest, _ entry: CacheEntry?
    ) {
        let isServed: Bool
        switch action {
        case .serve:
            isServed = true
        case .serveAndRefresh(_, let fields), .validate(let fields), .load(let fields):
            isServed = false
            #expect(policy != .offline && !request.directives.onlyIfCached)
            #expect(
                fields.block.utf8.count { $0 == 0x0A } == fields.list.count, "a field breaks out of its line")
        case .miss:
            isServed = false
        }
        if isServed { #expect(entry.map { !$0.isPart } == true) }
    }

    private func check(
        _ conclusion: CacheConclusion, _ outcome: CacheOutcome, _ request: CacheRequest, _ entry: CacheEntry?,
        _ profile: CacheProfile
    ) {
        switch conclusion.change {
        case .none: break
        case .store(let new, _), .update(let new), .extend(let new):
            #expect(outcome != .unreachable)
            #expect(new.fields.storable(in: profile) == new.fields, "a field was stored that may not be")
        }
        switch conclusion.reply {
        case .received: #expect(outcome != .unreachable)
        case .stored, .loadAgain: #expect(entry != nil)
        case .gatewayTimeout: #expect(outcome == .unreachable)
        }
        if !request.method.isUnsafe { #expect(conclusion.invalidated.isEmpty) }
    }
}
