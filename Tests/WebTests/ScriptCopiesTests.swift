import Testing

@testable import Web

@Suite struct ScriptCopiesTests {
    private static let script =
        """
        define("menu", function (page) { page.addEventListener('click', open); function open() { page.classList.add('open'); } });
        define("list", function (page) { for (const row of page.querySelectorAll('tr')) row.hidden = row.cells.length > 1; });
        define("help", function (page) { page.append(document.createTextNode('Press the button to open the menu')); });
        """

    private func contains(_ value: String, _ script: String) -> Bool {
        ScriptCopies.contains(Array(value.utf8), Array(script.utf8))
    }

    @Test func `a script is recognised in a JSON text`() {
        var writer = JSONWriter(.compact)
        writer.value(["a": "1", "source": Self.script] as JSONMembers)
        #expect(contains(writer.text, Self.script))
    }

    @Test func `a text with half of the passages contains the script, and one with fewer does not`() {
        let lines = Self.script.split(separator: "\n")
        #expect(contains(lines.prefix(2).joined(), Self.script))
        #expect(!contains(String(lines[0]), Self.script))
    }

    @Test func `the work of a user is not taken for the script of the editor`() {
        #expect(
            !contains(
                String(repeating: "function draw(x, y) { line(x, y, x + 10, y + 10); } ", count: 100),
                Self.script))
    }

    @Test func `a short script is not recognised`() {
        #expect(!contains("localStorage.theme = 'dark'", "localStorage.theme = 'dark'"))
    }

    @Test func `settings keep their keys`() throws {
        let copies = ScriptCopies(origin: "https://wiki.test", keys: ["store", "a \"b\""])
        let json = try JSONValue.parse(Array(copies.members.text(.compact).utf8).span)
        #expect(ScriptCopies(json) == copies)
        #expect(try ScriptCopies(JSONValue.parse(Array(#"{"origin":"https://wiki.test"}"#.utf8).span)) == nil)
    }
}
