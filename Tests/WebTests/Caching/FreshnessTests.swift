import Testing

@testable import Web

struct FreshnessTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let fields: HTTPFields
        let lifetime: Int
        let source: Freshness.Source

        init(_ fields: HTTPFields, _ lifetime: Int, _ source: Freshness.Source) {
            (self.fields, self.lifetime, self.source) = (fields, lifetime, source)
        }

        var testDescription: String { fields.list.map { "\($0.name): \($0.value)" }.joined(separator: "; ") }
    }

    @Test(arguments: [
        Case(head("Cache-Control: max-age=60"), 60, .maxAge),
        Case(head("Cache-Control: MaX-aGe=60"), 60, .maxAge),
        Case(head("Cache-Control: max-age=\"60\""), 60, .maxAge),
        Case(head("Cache-Control: max-age=0060"), 60, .maxAge),
        Case(head("Cache-Control: max-age='60'"), 0, .maxAge),
        Case(head("Cache-Control: max-age=-60"), 0, .maxAge),
        Case(head("Cache-Control: max-age=60a"), 0, .maxAge),
        Case(head("Cache-Control: max-age=2147483649"), 1 << 31, .maxAge),
        Case(head("Cache-Control: max-age=99999999999999999999"), 1 << 31, .maxAge),
        Case(head("Cache-Control: max-age=60, max-age=5"), 60, .maxAge),
        Case(head("Cache-Control: max-age=60", "Cache-Control: max-age=5"), 60, .maxAge),
        Case(head("Cache-Control: x=\"max-age=99\", max-age=1"), 1, .maxAge),
        Case(head("Cache-Control: max-age=60, s-maxage=5"), 60, .maxAge),
        Case(head("Cache-Control: s-maxage=5"), 0, .unspecified),
        Case(head("Cache-Control: max-age=60", "Expires: @-9"), 60, .maxAge),
        Case(head("Cache-Control: max-age=60", "Expires: 0"), 60, .maxAge),
        Case(head("Cache-Control: max-age=0", "Expires: @+9"), 0, .maxAge),
        Case(head("Expires: @+60", "Date: @+0"), 60, .expires),
        Case(head("Expires: @+60"), 60, .expires),
        Case(head("Expires: @+60", "Date: @-40"), 100, .expires),
        Case(head("Expires: @+0", "Date: @+0"), 0, .expires),
        Case(head("Expires: @+300", "Date: @+400"), 0, .expires),
        Case(head("Expires: @+60", "Date: soon"), 60, .expires),
        Case(head("Expires: 0", "Last-Modified: @-1000"), 0, .expires),
        Case(head("Expires: -1"), 0, .expires),
        Case(head("Expires: @+60", "Expires: @+60"), 0, .expires),
        Case(head("Last-Modified: @-1000", "Date: @+0"), 100, .heuristic),
        Case(head("Last-Modified: @-1000"), 100, .heuristic),
        Case(head("Last-Modified: @-9999999999"), 86_400, .heuristic),
        Case(head("Last-Modified: @+5"), 0, .unspecified),
        Case(head("Last-Modified: long ago"), 0, .unspecified),
        Case(head("CDN-Cache-Control: max-age=9", "Cache-Control: max-age=60"), 60, .maxAge),
        Case(head(), 0, .unspecified),
    ]) func `a private cache computes the lifetime`(_ test: Case) {
        let found = freshness(test.fields)
        #expect(found.lifetime == test.lifetime)
        #expect(found.source == test.source)
    }

    @Test(arguments: [
        Case(head("Cache-Control: max-age=60, s-maxage=5"), 5, .sharedMaxAge),
        Case(head("Cache-Control: s-maxage=90, max-age=0", "Expires: @-9"), 90, .sharedMaxAge),
        Case(head("Cache-Control: max-age=60"), 60, .maxAge),
        Case(head("CDN-Cache-Control: max-age=9", "Cache-Control: max-age=60"), 9, .targetedField),
        Case(head("CDN-Cache-Control: max-age=99999999999"), 1 << 31, .targetedField),
        Case(head("CDN-Cache-Control: max-age=-9", "Cache-Control: max-age=60"), 0, .targetedField),
        Case(head("CDN-Cache-Control: foo, max-age=9;a=b"), 9, .targetedField),
        Case(head("CDN-Cache-Control: max-age=9", "Expires: @-9"), 9, .targetedField),
        Case(head("CDN-Cache-Control: max-age=0", "Expires: @+9"), 0, .targetedField),
        Case(
            head("CDN-Cache-Control: no-cache", "Cache-Control: max-age=60", "Expires: @+60"), 0, .unspecified
        ),
        // A field that is not a dictionary, or has a value of the wrong type, is ignored.
        Case(head("CDN-Cache-Control: max-age=9, &&&", "Cache-Control: max-age=60"), 60, .maxAge),
        Case(head("CDN-Cache-Control: max-age=\"9\"", "Cache-Control: max-age=60"), 60, .maxAge),
        Case(head("CDN-Cache-Control: max-age=9.0", "Cache-Control: max-age=60"), 60, .maxAge),
        Case(head("CDN-Cache-Control: max-age", "Cache-Control: max-age=60"), 60, .maxAge),
        Case(head("CDN-Cache-Control: max-age= 9", "Cache-Control: max-age=60"), 60, .maxAge),
        Case(head("CDN-Cache-Control: MaX-aGe=9", "Cache-Control: max-age=60"), 60, .maxAge),
        Case(head("CDN-Cache-Control: no-store=1", "Cache-Control: max-age=60"), 60, .maxAge),
        Case(head("CDN-Cache-Control:", "Cache-Control: max-age=60"), 60, .maxAge),
    ]) func `a reverse proxy computes the lifetime`(_ test: Case) {
        let found = freshness(test.fields, profile: .reverseProxy)
        #expect(found.lifetime == test.lifetime)
        #expect(found.source == test.source)
    }

    @Test
    func
        `only status codes that are cacheable by default, or responses that are public, get a lifetime by guess`()
    {
        let fields = head("Last-Modified: @-1000")
        for status in [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501] {
            #expect(freshness(fields, status: status).lifetime == 100, "\(status)")
        }
        for status in [201, 202, 302, 303, 307, 400, 403, 500, 502, 503, 504, 599] {
            #expect(freshness(fields, status: status).lifetime == 0, "\(status)")
            let open = head("Last-Modified: @-1000", "Cache-Control: public")
            #expect(freshness(open, status: status).lifetime == 100, "\(status)")
        }
    }

    @Test(
        "an Expires in none of HTTP's three formats is in the past",
        arguments: [
            ("Thu, 18 Aug 2050 02:01:18 GMT", true), ("THU, 18 AUG 2050 02:01:18 gmt", true),
            ("Thursday, 18-Aug-50 02:01:18 GMT", true), ("Thu Aug  8 02:01:18 2050", true),
            ("Thu Aug 18 02:01:18 2050", true), ("Tue, 19 Jan 2038 14:14:08 GMT", true),
            ("Sun, 21 Nov 2286 04:46:39 GMT", true), ("Fri, 31 Dec 9999 23:59:59 GMT", true),
            ("Thu, 18 Aug 2050 02:01:18 UTC", false), ("Thu, 18 Aug 2050 02:01:18 AEST", false),
            ("Thu, 18 Aug 50 02:01:18 GMT", false), ("Thu 18 Aug 2050 02:01:18 GMT", false),
            ("Thu, 18  Aug  2050 02:01:18 GMT", false), ("Thu, 18-Aug-2050 02:01:18 GMT", false),
            ("Thu, 18 Aug 2050 02.01.18 GMT", false), ("Thu, 18 Aug 2050 2:01:18 GMT", false),
            ("Thu, 18 Aug 2050 02:01:18", false), ("Thu, 32 Aug 2050 02:01:18 GMT", false),
            ("Thu, 18 Aug 2050 02:01:18 GMT+1", false), ("2050-08-18T02:01:18Z", false),
            ("2540000000", false),
            ("never", false), ("", false),
        ]) func expires(text: String, isDate: Bool)
    {
        #expect(freshness(["Expires": text]).isFresh(at: noon) == isDate)
    }

    @Test func `the age includes Date, Age, the response delay and the time since`() {
        // RFC 9111, section 4.2.3, with numbers.
        let answer = head("Date: @-30", "Age: 20", "Cache-Control: max-age=100")
        let found = Freshness(
            status: 200, fields: answer, requestTime: noon, responseTime: noon.adding(seconds: 5),
            profile: .private)
        #expect(found.initialAge == 35)
        #expect(found.age(at: noon.adding(seconds: 15)) == 45)
        #expect(found.staleness(at: noon.adding(seconds: 15)) == -55)
        #expect(found.isFresh(at: noon.adding(seconds: 69)))
        #expect(!found.isFresh(at: noon.adding(seconds: 70)))
        #expect(found.age(at: noon.adding(seconds: -1000)) == 35)
    }

    @Test(
        arguments: [
            (head("Age: 20"), 20), (head("Age: 0020"), 20), (head("Age: -1"), 0), (head("Age: 20.0"), 0),
            (head("Age: abc"), 0), (head("Age: 20;a=1"), 0), (head("Age:"), 0), (head("Age: 1, 2"), 1),
            (head("Age: 7200, 0"), 7200), (head("Age: 0", "Age: 7200"), 0),
            (head("Age: 2147483649"), 1 << 31),
            (head("Age: 99999999999999999999999"), 1 << 31), (head("Date: @-40"), 40),
            (head("Date: @+40"), 0),
            (head("Date: @+40", "Age: 15"), 15), (head("Date: yesterday"), 0),
            (head("Date: Mon, 01 Jan 0001 00:00:00 GMT"), 1 << 31),
        ] as [(HTTPFields, Int)])
    func `a malformed Age is ignored, and the first of several counts`(
        fields: HTTPFields, age: Int
    ) {
        #expect(freshness(fields).initialAge == age)
    }

    @Test func `ages and lifetimes at their limits do not overflow`() {
        let found = freshness(head("Age: 99999999999", "Cache-Control: max-age=99999999999"))
        let last = HTTPDate(secondsSinceEpoch: .max)
        #expect(found.age(at: last) == 1 << 32)
        #expect(found.staleness(at: last) == 1 << 31)
    }

    @Test(
        arguments: [
            ("must-revalidate", .forbidden, .forbidden), ("no-cache", .forbidden, .forbidden),
            ("proxy-revalidate", .permitted, .forbidden), ("s-maxage=5", .permitted, .onlyWithDirective),
            ("no-cache=\"a\"", .permitted, .permitted), ("max-age=5", .permitted, .permitted),
        ] as [(String, Freshness.StaleUse, Freshness.StaleUse)])
    func `directives restrict the use of stale responses`(
        text: String, own: Freshness.StaleUse, shared: Freshness.StaleUse
    ) {
        #expect(freshness(["Cache-Control": text]).staleUse == own)
        #expect(freshness(["Cache-Control": text], profile: .reverseProxy).staleUse == shared)
    }

    @Test(
        arguments: [
            (head(), .atLeast(600), 600), (head("Cache-Control: max-age=5"), .atLeast(600), 600),
            (head("Cache-Control: max-age=900"), .atLeast(600), 900),
            (head("Cache-Control: no-cache"), .atLeast(600), 600),
            (head("Expires: 0"), .atLeast(600), 600),
            (head("Cache-Control: max-age=900"), .exactly(600), 600),
            (head("Cache-Control: max-age=900, no-cache"), .exactly(0), 0), (head(), .atLeast(-5), 0),
            (head(), .exactly(.max), 1 << 31),
        ] as [(HTTPFields, ForcedLifetime, Int)])
    func `a rule overrides the lifetime`(fields: HTTPFields, forced: ForcedLifetime, lifetime: Int) {
        let found = freshness(fields, forced: forced)
        #expect(found.lifetime == lifetime)
        #expect(!found.needsValidation)
    }
}
