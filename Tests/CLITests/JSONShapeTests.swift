import Glibc
import TestOrigin
import Testing
import Web

/// Runs each command in docs/json.md, and compares its output with the documented structure.
@Suite struct JSONShapeTests {
    private struct Sample {
        let command: String
        let text: String
    }

    private let home: TemporaryFolder
    private let origin: TestOrigin
    private static let text = SourceText.read(SourceText.root + "/docs/json.md")

    init() throws {
        home = try TemporaryFolder()
        origin = try TestOrigin()
        origin.on(
            "/",
            .page(
                "<title>Home</title><a href=/two>two</a><a href=/old>old</a><a href=https://elsewhere.test/>x</a>"
                    + "<script src=/a.js></script><script src=/b.js></script><img src=/gone.png>"))
        origin.on("/two", .page("<a href=/>home</a>"))
        origin.on("/old", .page("old"))
        origin.on("/a.js", .file("a", type: "text/javascript"))
        origin.on("/b.js", .file("b", type: "text/javascript"))
        try home.write(
            """
            {"bundles": [{"url": "/a.js", "md5": "92eb5ffee6ae2fec3ad71c777531578f"},
                         {"url": "/b.js", "md5": "92eb5ffee6ae2fec3ad71c777531578f"}]}
            """, to: "site.json")
        for (folder, text) in [("dist-1.0", "one"), ("dist-1.1", "two")] {
            mkdir(home.file(folder), 0o755)
            try home.write(text, to: folder + "/app.js")
        }
        mkdir(home.file("dist"), 0o755)
        try home.write("<a href=guide/setup.html>Setup</a>", to: "dist/index.html")
    }

    private static let samples: [Sample] = {
        var samples: [Sample] = []
        var command: String?
        var lines: [Substring]?
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```json") {
                lines = []
            } else if line == "```", let open = lines {
                if let command {
                    samples.append(Sample(command: command, text: open.joined(separator: "\n")))
                }
                lines = nil
            } else if lines != nil {
                lines?.append(line)
            } else if line.hasPrefix("`larder "), line.hasSuffix("`") {
                command = String(line.dropFirst("`larder ".count).dropLast())
            }
        }
        return samples
    }()

    /// The optional members, from the lines that begin with `Optional:`.
    private static let optional: Set<String> = {
        var names: Set<String> = []
        for line in text.split(separator: "\n") where line.hasPrefix("Optional:") {
            let parts = line.split(separator: "`", omittingEmptySubsequences: false)
            for (place, part) in parts.enumerated() where !place.isMultiple(of: 2) {
                names.insert(String(part))
            }
        }
        return names
    }()

    /// Runs a command of the document, with the test origin in place of the example's.
    private func run(_ command: String) throws -> Command.Ending {
        let words = command.replacing("https://example.com/", with: origin.url("/")).split(separator: " ")
        return try Command(
            words.map(String.init), home: home,
            environment: ["LARDER_STORE": home.file("s"), "LARDER_PROGRESS": "none"],
            shell: "cd \"$HOME\"; exec \"$0\" \"$@\""
        ).wait()
    }

    /// Records a miss: a request that the store cannot answer.
    private func recordMiss() throws {
        let serve = try Command(
            ["serve", "--port", "0"], home: home, environment: ["LARDER_STORE": home.file("s")])
        let port = try #require(Int(serve.read(until: "\n").split(separator: ":")[2].prefix { $0.isNumber }))
        let client = try RawClient(port: port)
        _ = try client.get("/never", host: "port-\(origin.port).127-0-0-1.localhost:\(port)")
        serve.signal(SIGTERM)
        #expect(serve.wait().status == 0)
    }

    @Test func `every report has the shape in docs/json.md`() throws {
        #expect(Self.samples.count > 18)
        for sample in Self.samples {
            let name = sample.command.split(separator: " ")[0]
            if name == "update" {
                origin.on("/two", .page("changed <a href=/three>three</a>"))
                origin.on("/three", .page("three"))
                origin.on("/old", .failure(404))
            }
            if name == "misses" { try recordMiss() }
            if name == "undo" { _ = try run("remove https://example.com/") }
            if name == "login" {
                mkdir(home.file("s/logins"), 0o700)
                try home.write("a.test\tFALSE\t/\tFALSE\t0\tname\tvalue\n", to: "s/logins/a.test.cookies")
            }
            let ending = try run(sample.command)
            let isOfEvents = sample.command.contains("--progress")
            let documented = try
                (isOfEvents ? sample.text.split(separator: "\n").map(String.init) : [sample.text]).map {
                    try JSONValue.parse($0.utf8.span)
                }
            if isOfEvents {
                let events = try ending.errors.split(separator: "\n").filter { $0.hasPrefix("{") }.map {
                    try JSONValue.parse($0.utf8.span)
                }
                for shape in documented {
                    let alike = events.filter { $0["event"] == shape["event"] }
                    #expect(!alike.isEmpty, "\(sample.command): \(ending)")
                    for event in alike { compare(event, shape, sample.command) }
                }
            } else {
                compare(try JSONValue.parse(ending.output.utf8.span), documented[0], sample.command)
            }
        }
    }

    /// Expects that a value has the structure of another one, member by member.
    private func compare(_ found: JSONValue, _ shape: JSONValue, _ place: String) {
        switch (found.content, shape.content) {
        case (.null, _), (_, .null): break
        case (.bool, .bool), (.number, .number), (.string, .string): break
        case (.array(let items), .array(let shapes)):
            guard let first = shapes.first else {
                #expect(items.isEmpty || place.hasSuffix(".traps"), "\(place)")
                return
            }
            for item in items { compare(item, first, place + "[]") }
        case (.object(let members), .object(let shapes)):
            for member in members {
                guard let shape = shapes.first(where: { $0.key == member.key }) else {
                    Issue.record("\(place) has \(member.key), of which docs/json.md says nothing")
                    continue
                }
                compare(member.value, shape.value, "\(place).\(member.key)")
            }
            for shape in shapes where !Self.optional.contains(shape.key) {
                #expect(members.contains { $0.key == shape.key }, "\(place) has no \(shape.key)")
            }
        default:
            Issue.record("\(place) is of another kind than docs/json.md says")
        }
    }

    @Test func `docs/json.md has every command with --json`() throws {
        let bash = try Command.run("completions", "bash", home: home).output
        let commands = bash.split(separator: "\n").compactMap { line -> String? in
            guard line.contains(") options='"), line.contains("--json") else { return nil }
            return line.split(separator: ")")[0].trimmingSpaces
        }
        #expect(commands.count > 15)
        let headings = Self.text.split(separator: "\n").filter { $0.hasPrefix("## ") }.joined(separator: " ")
        for command in commands {
            let isNamed = headings.contains("larder \(command)") || headings.contains(", \(command)")
            #expect(isNamed, "\(command)")
        }
    }
}

extension Substring {
    fileprivate var trimmingSpaces: String { String(drop { $0 == " " }) }
}
