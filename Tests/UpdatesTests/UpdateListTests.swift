import Digest
import Testing
import Web

@testable import Updates

@Suite struct UpdateListTests {
    private static let digest = String(repeating: "ab", count: 32)
    private static let other = String(repeating: "cd", count: 32)

    private static func text(_ files: String, head: String = "\"larderUpdate\":1,\"windowLog\":27") -> String
    {
        """
        {\(head),"created":"2026-01-31T12:00:00Z","manifest":{"size":3,"sha256":"\(digest)"},"files":[\(files)]}
        """
    }

    private static func file(_ url: String, _ rest: String = "") -> String {
        "{\"url\":\"\(url)\",\"size\":5,\"sha256\":\"\(digest)\"\(rest)}"
    }

    private static let frame = ",\"frame\":{\"file\":\"files/000001.zst\",\"size\":9,\"sha256\":\"\(other)\"}"
    private static let base = ",\"from\":{\"url\":\"old.js\",\"size\":5,\"sha256\":\"\(other)\"}"

    private static func problem(_ text: String) -> String? {
        do throws(UpdateList.Malformation) {
            _ = try UpdateList(Array(text.utf8))
            return nil
        } catch {
            return error.detail
        }
    }

    @Test func `a list gives the same text when it is read again`() throws {
        let blob = UpdateList.Blob([1, 2, 3])
        var changed = UpdateList.File(
            url: "app.js", fields: ["Content-Type": "text/javascript", "Vary": "Accept"])
        changed.body = blob
        changed.base = UpdateList.Base(url: "old.js", blob: UpdateList.Blob([1]))
        changed.frame = UpdateList.Blob([4])
        var renamed = UpdateList.File(url: "img/a b.png", fields: HTTPFields())
        (renamed.body, renamed.base) = (UpdateList.Blob([5]), UpdateList.Base(url: "a.png", blob: .init([5])))
        var copied = UpdateList.File(url: "copy.js", fields: HTTPFields())
        copied.body = blob
        var moved = UpdateList.File(url: "/old", fields: ["Location": "/new"])
        moved.status = 301
        let list = UpdateList(
            created: HTTPDate(secondsSinceEpoch: 1_800_000_000), manifest: blob,
            files: [changed, renamed, copied, moved])
        let again = try UpdateList(Array(list.text.utf8))
        #expect(again == list && again.text == list.text)
    }

    @Test func `a list without files is read`() {
        #expect(Self.problem(Self.text("")) == nil)
        #expect(Self.problem(Self.text(Self.file("app.js", Self.frame))) == nil)
        #expect(Self.problem(Self.text(Self.file("app.js", Self.base + Self.frame))) == nil)
    }

    @Test(arguments: [
        ("", "is not JSON"),
        ("[]", "is not an object"),
        (text("", head: "\"larderUpdate\":2,\"windowLog\":27"), "has the version 2"),
        (text("", head: "\"larderUpdate\":1,\"windowLog\":31"), "windows of 2^31 bytes"),
        (text("", head: "\"larderUpdate\":1,\"windowLog\":27,\"extra\":1"), "is not an object"),
        (text("", head: "\"larderUpdate\":1,\"larderUpdate\":1,\"windowLog\":27"), "is not an object"),
        (text("", head: "\"larderUpdate\":1"), "windowLog"),
        (text(file("app.js")), "says nothing about the bytes"),
        (text(file("app.js", base)), "says nothing about the bytes"),
        (text(file("app.js", frame) + "," + file("app.js")), "lists app.js twice"),
        (text(file("../app.js", frame)), "leaves the folder"),
        (text(file("js/%2e%2e/app.js", frame)), "leaves the folder"),
        (text(file("js\\\\..\\\\app.js", frame)), "leaves the folder"),
        (text(file("", frame)), "is empty"),
        (text(file("a\\u0000b", frame)), "control characters"),
        (text(file("app.js", frame.replacing("000001", with: "000002"))), "is not files/000001.zst"),
        (text(file("app.js", frame.replacing("\"size\":9", with: "\"size\":-1"))), "whole number"),
        (
            text(file("app.js", frame.replacing("\"size\":9", with: "\"size\":4294967297"))),
            "bytes are allowed"
        ),
        (text(file("app.js", frame.replacing(other, with: "CD" + other.dropFirst(2)))), "is malformed"),
        (text(file("app.js", frame.replacing(other, with: "cd"))), "is malformed"),
        (text(file("app.js", base.replacing("\"size\":5", with: "\"size\":134217729") + frame)), "more than"),
        (text(file("app.js", frame + ",\"status\":500")), "is not stored"),
        (text(file("app.js", frame + ",\"status\":404")), "have no body"),
        (text(file("app.js", frame + ",\"headers\":[\"no colon\"]")), "headers are malformed"),
        (text(file("app.js", frame + ",\"headers\":[\"A: b\\r\\nC: d\"]")), "headers are malformed"),
        (text(file("app.js", frame + ",\"headers\":{}")), "is not an array"),
    ])
    func `a malformed list is refused with the reason`(text: String, reason: String) throws {
        let problem = try #require(Self.problem(text))
        #expect(problem.contains(reason), "\(problem)")
    }
}
