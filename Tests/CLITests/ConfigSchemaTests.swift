import Glibc
import TestOrigin
import Testing
import Web

@testable import larder

/// Tests the JSON schemas that editors use.
@Suite struct ConfigSchemaTests {
    private static let path = SourceText.root + "/manifests/config.schema.json"

    /// The file is written by this test if `LARDER_WRITE_DOCUMENTS` is set.
    @Test func `manifests/config.schema.json is what larder config --schema prints`() {
        if getenv("LARDER_WRITE_DOCUMENTS") != nil {
            let file = fopen(Self.path, "w")
            fputs(ConfigSchema.text + "\n", file)
            fclose(file)
        }
        let isCurrent = SourceText.read(Self.path) == ConfigSchema.text + "\n"
        #expect(isCurrent, "run LARDER_WRITE_DOCUMENTS=1 scripts/test --filter ConfigSchemaTests")
    }

    @Test func `the schemas have URLs below the home of the project`() throws {
        for name in ["config.schema.json", "larder.schema.json"] {
            let text = SourceText.read(SourceText.root + "/manifests/" + name)
            let identifier = try #require(try JSONValue.parse(text.utf8.span)["$id"]?.string)
            #expect(identifier.hasPrefix(Product.home + "/schemas/") && identifier.hasSuffix(".schema.json"))
        }
    }

    /// The example files, and whether each one is a configuration.
    private static let files: [(String, Bool)] = [
        ("{}", true),
        ("{\"per-host\": 8, \"prefetch\": {\"exclude\": [\"*.pdf\"]}, \"serve\": {\"port\": 9000}}", true),
        ("{\"$schema\": \"https://a.test/config.schema.json\", \"per-host\": \"8\"}", true),
        (
            "{\"check\": {\"target\": \"manifest.json\", \"dir\": \"dist\", \"report\": [\"junit=junit.xml\"]}}",
            true
        ),
        ("{\"prefetch\": {\"exclude\": \"*.pdf\", \"insecure\": true}}", true),
        ("{\"check\": {\"held\": true}}", true),
        ("{\"prefetch\": {\"insecure\": \"yes\"}}", false),
        ("{\"per-host\": true}", false),
        ("{\"per-host\": [1, 2]}", false),
        ("{\"per-hosts\": 8, \"rate\": \"1M\"}", false),
        ("{\"rate\": \"1M\", \"serve\": {\"exclude\": \"*.pdf\"}}", false),
        ("{\"demo\": {\"once\": true}}", false),
        ("{\"$schema\": 1, \"rate\": \"1M\"}", false),
        ("[]", false),
    ]

    /// Whether Larder accepts a configuration file with this text.
    private static func isRead(_ text: String) -> Bool {
        guard let file = try? ConfigFile(Array(text.utf8), path: "a.json") else { return false }
        return (try? Settings(files: [file]).check()) != nil
    }

    private static func python(_ words: String...) throws -> ChildProcess.Ending {
        let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin"
        return try ChildProcess("/usr/bin/env", ["python3", "-c"] + words, environment: ["PATH": path]).wait()
    }

    private static let hasValidator =
        (try? python("import jsonschema; jsonschema.Draft202012Validator").status) == 0

    @Test(
        .enabled(if: hasValidator, "python3 has no jsonschema (apt install python3-jsonschema)"),
        arguments: files)
    func `the schema and the reader agree`(text: String, isGood: Bool) throws {
        #expect(Self.isRead(text) == isGood)
        let script = """
            import json, jsonschema, sys
            schema = json.load(open(sys.argv[1]))
            jsonschema.Draft202012Validator.check_schema(schema)
            print(jsonschema.Draft202012Validator(schema).is_valid(json.loads(sys.argv[2])))
            """
        // Linux limits an argument to 128 KiB.
        let folder = try TemporaryFolder()
        let ending = try Self.python(script, folder.write(ConfigSchema.text, to: "schema.json"), text)
        #expect(ending.output == (isGood ? "True\n" : "False\n"), "\(ending)")
    }

    @Test func `config --schema prints the schema`() throws {
        let home = try TemporaryFolder()
        let ending = try Command.run("config", "--schema", home: home)
        #expect(ending.status == 0 && ending.output == ConfigSchema.text + "\n", "\(ending)")
    }
}
