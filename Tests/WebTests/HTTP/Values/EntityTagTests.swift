import Testing

@testable import Web

struct EntityTagTests {
    @Test(
        arguments: [
            ("\"1\"", "\"1\"", true, true), ("W/\"1\"", "W/\"1\"", false, true), ("W/\"1\"", "\"1\"", false, true),
            ("W/\"1\"", "W/\"2\"", false, false), ("abc", "\"abc\"", true, true), ("\"\"", "\"\"", true, true),
        ] as [(String, String, Bool, Bool)]) func `tags are compared strongly and weakly`(
            left: String, right: String, strongly: Bool, weakly: Bool
        ) throws
    {
        let (left, right) = (try #require(EntityTag(left)), try #require(EntityTag(right)))
        #expect(left.matchesStrongly(right) == strongly)
        #expect(left.matchesWeakly(right) == weakly)
        #expect(right.matchesStrongly(left) == strongly)
    }

    @Test(arguments: ["", " ", "\"", "\"a", "a\"", "W/", "\"a\" b", "\"a\u{1}\"", "a b"])
    func `what is no tag is refused`(text: String) {
        #expect(EntityTag(text) == nil)
    }

    @Test func `a tag is sent back as it came`() {
        #expect(EntityTag(" W/\"a b,c\" ")?.text == "W/\"a b,c\"")
        #expect(EntityTag("abc-1")?.text == "abc-1")
    }

    @Test func `a condition lists tags or anything`() throws {
        let tag = try #require(EntityTag("\"b,c\""))
        #expect(EntityTagCondition("*") == .any)
        #expect(EntityTagCondition("*").includesStrongly(tag))
        #expect(EntityTagCondition("\"a\", W/\"b,c\" ,").includesWeakly(tag))
        #expect(!EntityTagCondition("\"a\", W/\"b,c\"").includesStrongly(tag))
        #expect(!EntityTagCondition("").includesWeakly(tag))
        #expect(EntityTagCondition("\"broken, \"a\"") == .tags([try #require(EntityTag("\"broken, \""))]))
    }
}
