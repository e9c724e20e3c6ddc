import Testing

@testable import Web

struct JSONWriterTests {
    private func write(_ style: JSONWriter.Style, _ body: (inout JSONWriter) -> Void) -> String {
        var writer = JSONWriter(style)
        body(&writer)
        return writer.text
    }

    private func report(_ writer: inout JSONWriter) {
        writer.object {
            $0.member("url", "http://a/?b=\"c\"")
            $0.member("counts", [1, -2])
            $0.member("none", [Int]())
            $0.member("pages") { writer in
                writer.array {
                    $0.object { $0.member("ok", true) }
                    $0.object { _ in }
                    $0.value(1.5)
                    $0.null()
                }
            }
            $0.member("missing", String?.none)
            $0.memberIfPresent("absent", Int?.none)
            $0.memberIfPresent("present", 3)
        }
    }

    @Test func `compact output has no whitespace`() {
        #expect(
            write(.compact, report)
                == #"{"url":"http://a/?b=\"c\"","counts":[1,-2],"none":[],"pages":[{"ok":true},{},1.5,null],"#
                + #""missing":null,"present":3}"#)
    }

    @Test func `pretty output indents by two spaces`() {
        let expected = """
            {
              "url": "http://a/?b=\\"c\\"",
              "counts": [
                1,
                -2
              ],
              "none": [],
              "pages": [
                {
                  "ok": true
                },
                {},
                1.5,
                null
              ],
              "missing": null,
              "present": 3
            }
            """
        #expect(write(.pretty, report) == expected)
    }

    @Test(
        arguments: [
            ("", "\"\""), ("a/b</script>", "\"a/b</script>\""),
            ("\u{0}\u{1}\u{8}\t\n\u{B}\u{C}\r\u{1F}", #""\u0000\u0001\b\t\n\u000b\f\r\u001f""#),
            ("\"\\", #""\"\\""#), ("\u{2028}\u{2029}é😀\u{7F}", "\"\u{2028}\u{2029}é😀\u{7F}\""),
        ] as [(String, String)]) func `strings are escaped only where JSON requires it`(
            text: String, expected: String
        )
        throws
    {
        let written = write(.compact) { $0.string(text) }
        #expect(written == expected)
        #expect(try JSONValue.parse(Array(written.utf8).span).string == text)
    }

    @Test(
        arguments: [
            (0, "0.0"), (-0.0, "-0.0"), (0.1, "0.1"), (1e300, "1e+300"), (.infinity, "null"),
            (-.infinity, "null"),
            (.nan, "null"),
            (.leastNonzeroMagnitude, "5e-324"),
        ] as [(Double, String)]) func `doubles have the shortest text that parses to the same number`(
            value: Double, expected: String
        ) throws
    {
        let written = write(.compact) { $0.double(value) }
        #expect(written == expected)
        if value.isFinite { #expect(try JSONValue.parse(Array(written.utf8).span).double == value) }
    }

    @Test func `a parsed tree is written back unchanged`() throws {
        let text = #"{"b":1.50,"a":[true,null,"x"],"a":{}}"#
        let value = try JSONValue.parse(Array(text.utf8).span)
        #expect(write(.compact) { $0.value(value) } == text)
    }

    private struct Move: JSONObject {
        let from: String
        let to: Int?
        var members: JSONMembers { ["from": from, "to": to] }
    }

    @Test func `an object is written with its members in order, including members of a second object`() {
        let move = Move(from: "a", to: nil)
        let members: JSONMembers = ["moves": [move], "none": [Move](), "inner": move.members + ["count": 2]]
        #expect(
            members.text(.compact)
                == #"{"moves":[{"from":"a","to":null}],"none":[],"inner":{"from":"a","to":null,"count":2}}"#)
        #expect(JSONMembers().text() == "{}")
        #expect(move.members.text() == "{\n  \"from\": \"a\",\n  \"to\": null\n}")
    }

    @Test func `empty optional members are omitted`() {
        let nothing: String? = nil
        let members: JSONMembers = [
            "a": IfAny(nothing), "b": IfAny([Int]()), "c": IfAny("x"), "d": IfAny([1]), "e": nothing,
        ]
        #expect(members.text(.compact) == #"{"c":"x","d":[1],"e":null}"#)
    }
}
