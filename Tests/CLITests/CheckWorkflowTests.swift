import Glibc
import TestOrigin
import Testing
import Web

/// Runs the commands of the CI workflow files with a test site in place of the example's.
@Suite struct CheckWorkflowTests {
    private static let folder =
        #filePath.split(separator: "/").dropLast(3).reduce(into: "") { $0 += "/" + $1 } + "/manifests/ci/"

    private static func lines(of path: String) -> [String] {
        guard let file = fopen(path, "r") else { return [] }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 65536)
        let text = String(decoding: bytes[..<fread(&bytes, 1, bytes.count, file)], as: UTF8.self)
        return text.split(separator: "\n").map(String.init)
    }

    /// Returns the commands of a file, each with the options on the lines below it.
    private static func commands(of file: String) -> [String] {
        var commands: [String] = []
        var isOpen = false
        for line in lines(of: folder + file) {
            let words = line.split(separator: " ").filter { $0 != "\\" }
            if isOpen, words.first?.hasPrefix("--") == true {
                commands[commands.count - 1] += " " + words.joined(separator: " ")
                continue
            }
            isOpen = false
            guard let place = words.firstIndex(where: { $0.hasSuffix("larder") && !$0.contains("=") }),
                words.dropFirst(place + 1).first == "check" || words.dropFirst(place + 1).first == "manifest"
            else { continue }
            commands.append(words[place...].dropFirst().joined(separator: " "))
            isOpen = true
        }
        return commands
    }

    @Test(arguments: ["gitlab-ci.yml", "woodpecker.yml"])
    func `the commands of a workflow run with the expected results`(file: String) throws {
        let home = try TemporaryFolder()
        let origin = try TestOrigin()
        origin.on("/a.js", .file("a", type: "text/javascript"))
        mkdir(home.file("dist"), 0o755)
        try home.write("a", to: "dist/a.js")
        try home.write(
            "{\"bundles\": [{\"url\": \"/a.js\", \"md5\": \"0cc175b9c0f1b6a831c399e269772661\"}]}",
            to: "site.json")
        let commands = Self.commands(of: file)
        #expect(commands.contains { $0.hasPrefix("check ") })
        for (content, status) in [("a", Int32(0)), ("b", 1)] {
            origin.on("/a.js", .file(content, type: "text/javascript"))
            for command in commands {
                let command = command.replacing("https://www.example.com/", with: origin.url("/"))
                    .replacing("/tmp/", with: home.path + "/")
                let script = "cd \"$HOME\" && larder() { \"$0\" \"$@\"; } && larder \(command)"
                let ending = try Command(
                    [], home: home, environment: ["SITE": origin.url("/"), "MANIFEST": "site.json"],
                    shell: script
                ).wait()
                #expect(ending.status == (command.hasPrefix("check ") ? status : 0), "\(command): \(ending)")
            }
        }
        #expect(home.names().contains("larder.xml"))
    }
    @Test func `the action compares a build with its server, writes a report and finds broken links`() throws
    {
        let home = try TemporaryFolder()
        let origin = try TestOrigin()
        mkdir(home.file("dist"), 0o755)
        try home.write("a", to: "dist/a.js")
        func action(_ environment: [String: String]) throws -> Command.Ending {
            try Command(
                [], home: home,
                environment: ["RUNNER_TEMP": home.path, "BASE": origin.url("/"), "REPORT": "larder.sarif"]
                    .merging(environment) { $1 },
                shell: "cd \"$HOME\" && mkdir -p bin && ln -sf \"$0\" bin/larder && PATH=\"$HOME/bin:$PATH\" "
                    + "exec '\(Self.folder)../../scripts/action' check"
            ).wait()
        }
        for (content, status) in [("a", Int32(0)), ("b", 1)] {
            origin.on("/a.js", .file(content, type: "text/javascript"))
            let ending = try action(["DIST": "dist"])
            #expect(ending.status == status, "\(ending)")
            #expect(ending.output.contains("::error") == (status == 1), "\(ending)")
            #expect(home.names().contains("larder.sarif"))
        }
        origin.on("/a.js", .file("a", type: "text/javascript"))
        origin.on("/robots.txt", .failure(404))
        origin.on("/", .page("<a href=/next>next</a>"))
        for (answer, status) in [(OriginAnswer.page("there"), Int32(0)), (.failure(404), 1)] {
            origin.on("/next", answer)
            let ending = try action(["DIST": "dist", "LINKS": "true"])
            #expect(ending.status == status, "\(ending)")
        }
        _ = mkdir(home.file("-dist"), 0o755)
        try home.write("a", to: "-dist/a.js")
        let dashed = try action(["DIST": "-dist"])
        #expect(dashed.status == 0, "\(dashed)")
        try home.write(
            "{\"bundles\": [{\"url\": \"/a.js\", \"md5\": \"0cc175b9c0f1b6a831c399e269772661\"}]}",
            to: "-site.json")
        let named = try action(["MANIFEST": "-site.json", "DIST": "-dist"])
        #expect(named.status == 0, "\(named)")
        let ending = try action(["BASE": ""])
        #expect(ending.status == 2 && ending.output.contains("::error title=Larder::set manifest or dist"))
    }

    private static let schemas = [
        ("vendor.github-workflows", ".github/workflows/ci.yml"),
        ("vendor.github-workflows", ".github/workflows/release.yml"),
        ("vendor.github-workflows", "manifests/ci/github-actions.yml"),
        ("vendor.github-actions", "action.yml"),
        ("vendor.gitlab-ci", "manifests/ci/gitlab-ci.yml"),
        ("vendor.woodpecker-ci", "manifests/ci/woodpecker.yml"),
        ("vendor.compose-spec", "examples/compose.yaml"),
    ]

    /// Runs a program on the path; nil if it cannot be started.
    private static func run(_ words: String...) -> ChildProcess.Ending? {
        let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin"
        return try? ChildProcess("/usr/bin/env", words, environment: ["PATH": path]).wait()
    }

    private static let hasValidator = run("check-jsonschema", "--version")?.status == 0

    @Test(
        .enabled(if: hasValidator, "check-jsonschema is not installed (pip install check-jsonschema)"),
        arguments: schemas)
    func `a file for a service matches the schema of the service`(schema: String, file: String) throws {
        let ending = try #require(
            Self.run("check-jsonschema", "--builtin-schema", schema, Self.folder + "../../" + file))
        #expect(ending.status == 0, "\(ending)")
    }

    @Test(arguments: [
        "examples/compose.yaml", "examples/kubernetes.yaml", "manifests/ci/woodpecker.yml",
        "manifests/ci/gitlab-ci.yml", "manifests/ci/github-actions.yml",
    ])
    func `an example names the current version`(file: String) {
        let text = Self.lines(of: Self.folder + "../../" + file).joined(separator: "\n")
        let versions = text.matches(of: #/(?:larder:|larder@v|download/v)(\d+\.\d+\.\d+)/#).map {
            String($0.1)
        }
        #expect(!versions.isEmpty && versions.allSatisfy { $0 == Product.version }, "\(versions)")
    }
}
