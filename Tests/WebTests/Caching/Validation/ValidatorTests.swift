import Testing

@testable import Web

struct ValidatorTests {
    @Test(
        arguments: [
            (head("ETag: \"1\"", "Last-Modified: @-9"), head("If-None-Match: \"1\"", "If-Modified-Since: @-9")),
            (head("ETag: W/\"1\""), head("If-None-Match: W/\"1\"")), (head("ETag: bare"), head("If-None-Match: bare")),
            (
                head("Last-Modified: Thursday, 01-Jan-70 00:00:00 GMT"),
                head("If-Modified-Since: Thursday, 01-Jan-70 00:00:00 GMT")
            ),
            (head("ETag: \"broken"), head()), (head("ETag:", "Last-Modified:"), head()), (head("X: 1"), head()),
        ] as [(HTTPFields, HTTPFields)])
    func `a stored response is asked about by what it came with`(stored: HTTPFields, conditions: HTTPFields) {
        #expect(Validator(stored).conditions == conditions)
        #expect(Validator(stored).isEmpty == conditions.isEmpty)
    }

    @Test(
        arguments: [
            (head("ETag: \"1\""), head("ETag: W/\"1\""), true), (head("ETag: \"1\""), head("ETag: \"2\""), false),
            (head("Last-Modified: @-9"), head("Last-Modified: @-9"), true),
            (head("Last-Modified: @-9"), head("Last-Modified: @-10"), false),
            (head("Last-Modified: @-9"), head("Last-Modified: @-8"), false),
            (
                head("Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT"), head("Last-Modified: Sun Nov  6 08:49:37 1994"),
                true
            ),
            (head("ETag: \"1\"", "Last-Modified: @-9"), head("Last-Modified: @-9"), true),
            (head("ETag: \"1\"", "Last-Modified: @-9"), head("ETag: \"2\"", "Last-Modified: @-9"), false),
            (head("ETag: \"1\""), head("Last-Modified: @-9"), false), (head(), head(), false),
            (head("Last-Modified: x"), head("Last-Modified: x"), true),
        ] as [(HTTPFields, HTTPFields, Bool)])
    func `a version is the same by its tag, else by a date that is equal, never by one that is earlier`(
        left: HTTPFields, right: HTTPFields, isSame: Bool
    ) {
        #expect(Validator(left).isSameVersion(as: Validator(right)) == isSame)
        #expect(Validator(right).isSameVersion(as: Validator(left)) == isSame)
    }
}
