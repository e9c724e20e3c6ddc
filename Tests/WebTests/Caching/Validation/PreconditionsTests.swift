import Testing

@testable import Web

struct PreconditionsTests {
    private static let current = Validator(head("ETag: \"1\"", "Last-Modified: @-100"))

    @Test(
        "conditions are evaluated in the order of RFC 9110, section 13.2.2",
        arguments: [
            // request, by GET, by PUT
            (head(), .proceed, .proceed), (head("If-Match: \"1\""), .proceed, .proceed),
            (head("If-Match: \"2\", \"1\""), .proceed, .proceed), (head("If-Match: *"), .proceed, .proceed),
            (head("If-Match: \"2\""), .failed, .failed), (head("If-Match: W/\"1\""), .failed, .failed),
            (head("If-Match:"), .failed, .failed), (head("If-None-Match: \"1\""), .notModified, .failed),
            (head("If-None-Match: W/\"1\""), .notModified, .failed),
            (head("If-None-Match: \"2\", \"1\", \"3\""), .notModified, .failed),
            (head("If-None-Match: \"2\"", "If-None-Match: \"1\""), .notModified, .failed),
            (head("If-None-Match: *"), .notModified, .failed), (head("If-None-Match: \"2\""), .proceed, .proceed),
            (head("If-None-Match: 1"), .notModified, .failed),
            (head("If-Modified-Since: @-100"), .notModified, .proceed),
            (head("If-Modified-Since: @-101"), .proceed, .proceed),
            (head("If-Modified-Since: @-99"), .proceed, .proceed),
            (head("If-Modified-Since: soon"), .proceed, .proceed),
            (head("If-None-Match: \"2\"", "If-Modified-Since: @-100"), .proceed, .proceed),
            (head("If-None-Match: \"1\"", "If-Modified-Since: @-999"), .notModified, .failed),
            (head("If-Unmodified-Since: @-100"), .proceed, .proceed),
            (head("If-Unmodified-Since: @-101"), .failed, .failed),
            (head("If-Unmodified-Since: soon"), .proceed, .proceed),
            (head("If-Match: \"1\"", "If-Unmodified-Since: @-101"), .proceed, .proceed),
            (head("If-Match: \"2\"", "If-None-Match: \"1\""), .failed, .failed),
            (head("If-Match: \"1\"", "If-None-Match: \"1\""), .notModified, .failed),
            (head("If-Unmodified-Since: @-100", "If-Modified-Since: @-100"), .notModified, .proceed),
        ] as [(HTTPFields, Preconditions.Result, Preconditions.Result)])
    func order(request: HTTPFields, byGet: Preconditions.Result, byPut: Preconditions.Result) {
        let conditions = Preconditions(request)
        #expect(conditions.evaluate(Self.current) == byGet)
        #expect(conditions.evaluate(Self.current, method: .head) == byGet)
        #expect(conditions.evaluate(Self.current, method: .unsafe) == byPut)
        #expect(conditions.isEmpty == request.isEmpty)
    }

    @Test func `a response without validators meets only what asks for any version`() {
        let nothing = Validator([:])
        #expect(Preconditions(head("If-Match: \"1\"")).evaluate(nothing) == .failed)
        #expect(Preconditions(head("If-Match: *")).evaluate(nothing) == .proceed)
        #expect(Preconditions(head("If-None-Match: \"1\"")).evaluate(nothing) == .proceed)
        #expect(Preconditions(head("If-None-Match: *")).evaluate(nothing) == .notModified)
        #expect(Preconditions(head("If-Modified-Since: @-100")).evaluate(nothing) == .proceed)
        #expect(Preconditions(head("If-Unmodified-Since: @-100")).evaluate(nothing) == .proceed)
    }

    @Test func `a cache on the way leaves the origin's conditions to the origin`() {
        let conditions = Preconditions(head("If-Match: \"2\"", "If-None-Match: \"1\""))
        #expect(conditions.evaluate(Self.current, as: .cache) == .notModified)
        #expect(Preconditions(head("If-Unmodified-Since: @-999")).evaluate(Self.current, as: .cache) == .proceed)
    }

    @Test(
        arguments: [
            (head(), true), (head("If-Range: \"1\""), true), (head("If-Range: \"2\""), false),
            (head("If-Range: W/\"1\""), false), (head("If-Range: @-100"), true), (head("If-Range: @-99"), false),
            (head("If-Range: @-101"), false), (head("If-Range: ???"), false), (head("If-Range:"), false),
        ]) func `a range is cut only from the version that the client has`(request: HTTPFields, isAllowed: Bool)
    {
        #expect(Preconditions(request).allowsRange(of: Self.current, date: noon) == isAllowed)
    }

    @Test func `a date is as good as a strong tag only when it is older than the answer`() {
        let conditions = Preconditions(head("If-Range: @-100"))
        #expect(!conditions.allowsRange(of: Self.current, date: noon.advanced(bySeconds: -100)))
        #expect(conditions.allowsRange(of: Self.current, date: noon.advanced(bySeconds: -99)))
        #expect(!conditions.allowsRange(of: Self.current, date: nil))
        let weak = Validator(head("ETag: W/\"1\""))
        #expect(!Preconditions(head("If-Range: W/\"1\"")).allowsRange(of: weak, date: noon))
    }
}
