import Glibc
import TestOrigin
import Testing

@testable import Store
@testable import larder

/// The units, the compose file and the manifest in `examples` run commands that Larder accepts.
@Suite struct ExampleFilesTests {
    private static let folder = SourceText.root + "/examples"

    /// Returns the settings of a unit, by section and name.
    private static func unit(_ name: String) throws -> [String: [String: [String]]] {
        var sections: [String: [String: [String]]] = [:]
        var section = ""
        for line in SourceText.read("\(folder)/\(name)").split(separator: "\n") where !line.hasPrefix("#") {
            if line.hasPrefix("[") {
                try #require(line.hasSuffix("]"))
                section = String(line.dropFirst().dropLast())
                continue
            }
            let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            try #require(parts.count == 2 && !section.isEmpty, "\(line)")
            sections[section, default: [:]][String(parts[0]), default: []].append(String(parts[1]))
        }
        return sections
    }

    /// Expects that the words are a valid command line.
    private static func expectValid(_ words: [String]) throws {
        let entry = try #require(CommandEntry.command(named: words.first ?? ""), "\(words)")
        _ = try Arguments(Array(words.dropFirst()), for: entry)
    }

    /// Expects that the text is a valid address of a PostgreSQL store, without a password.
    private static func expectAddress(_ text: String) throws {
        let address = try #require(PostgreSQLStoreAddress(text), "\(text)")
        #expect(address.fault == nil, "\(text)")
        #expect(!text.contains("password="))
        // The folder for this machine's own files is one that the user may write to.
        #expect(StoreFolder(text).path.hasPrefix("/store"))
    }

    @Test(arguments: ["larder-serve@.service", "larder-worker@.service"])
    func `the command of a unit is valid, and all units have the same user`(name: String) throws {
        let unit = try Self.unit(name)
        #expect(Set(unit.keys) == ["Unit", "Service", "Install"])
        let service = try #require(unit["Service"])
        let words = try #require(service["ExecStart"]?.first).split(separator: " ").map(String.init)
        #expect(words.first == "/usr/bin/larder")
        try Self.expectValid(Array(words.dropFirst()))
        #expect(service["DynamicUser"] == ["yes"] && service["ProtectSystem"] == ["strict"])
        // Units that share a StateDirectory must have the same user.
        #expect(service["User"] == ["larder"])
        let state = try #require(service["StateDirectory"]?.first)
        let text = SourceText.read("\(Self.folder)/\(name)")
        let variables = Set(Option.all.compactMap(\.variable))
        for line in text.split(separator: "\n") where line.hasPrefix("#") && line.contains("LARDER_") {
            let setting = try #require(line.split(separator: " ").first { $0.hasPrefix("LARDER_") })
            let parts = setting.split(separator: "=", maxSplits: 1).map(String.init)
            #expect(variables.contains(parts[0]), "\(line)")
            if parts[0] == "LARDER_STORE" {
                #expect(StoreFolder(parts[1]).path.hasPrefix("/var/lib/\(state.replacing("/%i", with: ""))"))
            }
        }
    }

    /// Each of these starts a worker again when it has ended, so that one without `--stay` would start and end all the time.
    @Test(arguments: ["larder-worker@.service", "compose.yaml", "kubernetes.yaml"])
    func `a worker that is always restarted waits for work`(name: String) throws {
        let text = SourceText.read("\(Self.folder)/\(name)")
        let lines = text.split(separator: "\n").filter { line in
            ["ExecStart=/usr/bin/larder work", "command: [\"work\"", "args: [\"work\""].contains {
                line.contains($0)
            }
        }
        #expect(lines.count == 1 && lines.allSatisfy { $0.contains("--stay") }, "\(lines)")
    }

    @Test func `a timer runs the updates that are due`() throws {
        let service = try #require(try Self.unit("larder-update@.service")["Service"])
        let words = try #require(service["ExecStart"]?.first).split(separator: " ").map(String.init)
        #expect(words.first == "/usr/bin/larder" && words.contains("--due"))
        try Self.expectValid(Array(words.dropFirst()))
        #expect(service["Type"] == ["oneshot"] && service["DynamicUser"] == ["yes"])
        #expect(service["User"] == ["larder"])
        let timer = try Self.unit("larder-update@.timer")
        #expect(Set(timer.keys) == ["Unit", "Timer", "Install"])
        #expect(timer["Timer"]?["OnCalendar"] == ["*:0/10"] && timer["Timer"]?["Persistent"] == ["true"])
    }

    /// A script that prints the commands of a file, read by programs for its format if they are installed.
    private static let reader = """
        import sys, yaml
        def walk(value):
            if isinstance(value, dict):
                for key, item in value.items():
                    if key in ("command", "args") and isinstance(item, list):
                        print("\\t".join(["command"] + item))
                    walk(item)
            elif isinstance(value, list):
                for item in value: walk(item)
            elif isinstance(value, str) and value.startswith("postgres"):
                if "://" in value: print("store\\t" + value)
        for document in yaml.safe_load_all(open(sys.argv[1])): walk(document)
        print("end")
        """

    private static func python(_ words: String...) throws -> (status: Int32, output: String) {
        let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin"
        let ending = try ChildProcess("/usr/bin/env", ["python3", "-c"] + words, environment: ["PATH": path])
            .wait()
        return (ending.status, ending.output)
    }

    private static let hasYAML = (try? python("import yaml").status) == 0

    @Test(
        .enabled(if: hasYAML, "python3 has no yaml (apt install python3-yaml)"),
        arguments: ["compose.yaml", "kubernetes.yaml"])
    func `the commands that containers run are valid`(name: String) throws {
        let read = try Self.python(Self.reader, "\(Self.folder)/\(name)")
        #expect(read.status == 0 && read.output.hasSuffix("end\n"), "\(read)")
        var (commands, stores) = (0, 0)
        for line in read.output.split(separator: "\n") {
            let words = line.split(separator: "\t").map(String.init)
            switch words[0] {
            case "command":
                commands += 1
                try Self.expectValid(Array(words.dropFirst()))
            case "store":
                stores += 1
                try Self.expectAddress(words[1])
            default: #expect(line == "end")
            }
        }
        #expect(commands >= 3 && stores >= 1)
    }

    /// A script that prints violations of the restricted Pod Security Standard, and settings that Compose refuses.
    private static let critic = """
        import sys, yaml
        folder = sys.argv[1]
        for document in yaml.safe_load_all(open(folder + "/kubernetes.yaml")):
            template = document["spec"].get("template") if "spec" in document else None
            if not template: continue
            name, pod = document["metadata"]["name"], template["spec"]
            context = pod["securityContext"]
            if context.get("runAsNonRoot") is not True: print(name, "runAsNonRoot")
            if context.get("seccompProfile") != {"type": "RuntimeDefault"}: print(name, "seccompProfile")
            volumes = {volume["name"] for volume in pod["volumes"]}
            for container in pod["containers"]:
                own = container["securityContext"]
                if own.get("allowPrivilegeEscalation") is not False: print(name, "allowPrivilegeEscalation")
                if own.get("capabilities") != {"drop": ["ALL"]}: print(name, "capabilities")
                mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
                if not set(mounts.values()) <= volumes: print(name, "volumes")
                if own.get("readOnlyRootFilesystem") and not {"/tmp", "/store"} <= set(mounts): print(name, "mounts")
        for name, secret in yaml.safe_load(open(folder + "/compose.yaml"))["secrets"].items():
            for key in set(secret) - {"file", "environment", "external", "name", "labels"}: print(name, key)
        """

    @Test(.enabled(if: hasYAML, "python3 has no yaml (apt install python3-yaml)"))
    func `pods are restricted, and Compose knows all settings of secrets`() throws {
        let read = try Self.python(Self.critic, Self.folder)
        #expect(read.status == 0 && read.output == "", "\(read)")
    }
}
