import Bundles
import Glibc
import TestOrigin
import Testing
import Web

/// Tests that manifests/larder.schema.json accepts the same manifests as the parser, by means of python3's jsonschema.
@Suite struct ManifestSchemaTests {
    private static let root = #filePath.split(separator: "/").dropLast(3).reduce(into: "") { $0 += "/" + $1 }
    private static let hasValidator = run("import jsonschema; jsonschema.Draft202012Validator", []) == 0

    private static func run(_ script: String, _ arguments: [String]) -> Int32 {
        let words = ["python3", "-c", script] + arguments
        let quoted = words.map { "'" + $0.replacing("'", with: "'\\''") + "'" }
        return system(quoted.joined(separator: " ") + " 2>/dev/null")
    }

    private static func bytes(_ path: String) -> [UInt8] {
        guard let file = fopen(path, "r") else { return [] }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65536)
        while case let count = fread(&piece, 1, piece.count, file), count > 0 { bytes += piece[..<count] }
        return bytes
    }

    private static let examples = ["demo.json", "site.json"]

    @Test(arguments: examples)
    func `an example of the schema is read and written`(name: String) throws {
        let manifest = try Manifest(Self.bytes("\(Self.root)/manifests/\(name)"), file: name)
        #expect(manifest.format == .larder && !manifest.bundles.isEmpty && manifest.notes.isEmpty)
        #expect(try Sample.manifest(manifest.json).bundles.count == manifest.bundles.count)
    }

    @Test func `the schema has exactly the cache policies that exist`() throws {
        let schema = try JSONValue.parse(Self.bytes(Self.root + "/manifests/larder.schema.json").span)
        let names = schema["properties"]?["policy"]?["enum"]?.array?.compactMap(\.string)
        #expect(names == CachePolicy.allCases.map(\.rawValue))
    }

    @Test func `the schema has exactly the keys that are read`() throws {
        let schema = try JSONValue.parse(Self.bytes(Self.root + "/manifests/larder.schema.json").span)
        let parts: [(JSONValue?, String)] = [
            (schema, "{\"start\": [\"/\"], KEY: {}}"),
            (schema["$defs"]?["bundle"], "{\"bundles\": [{\"url\": \"/\", KEY: {}}]}"),
        ]
        for (part, good) in parts {
            let keys = try #require(part?["properties"]?.members).map(\.key)
            for key in keys + ["unheard-of"] {
                let text = good.replacing("KEY", with: "\"\(key)\"")
                let error = #expect(throws: ManifestError.self) { try Sample.manifest(text, .larder) }
                #expect(
                    error?.detail.contains("unknown key") == (key == "unheard-of"),
                    "\(key): \(error?.detail ?? "")")
            }
            // The error for the last key lists all known keys.
            let error = #expect(throws: ManifestError.self) {
                try Sample.manifest(good.replacing("KEY", with: "\"unheard-of\""), .larder)
            }
            let listed = error?.detail.split(separator: "expected one of ").last?.split(separator: ", ").map(
                String.init)
            #expect(listed.map(Set.init) == Set(keys))
        }
    }

    @Test(.enabled(if: hasValidator, "python3 has no jsonschema"))
    func `the schema accepts and rejects the same manifests as the parser`() throws {
        let folder = try TemporaryFolder()
        var writer = JSONWriter()
        writer.array { list in
            func add(_ text: String, _ isGood: Bool) {
                list.array { pair in
                    pair.value(text)
                    pair.value(isGood)
                }
            }
            for mistake in ManifestTests.mistakes where mistake.isInSchema { add(mistake.text, false) }
            for name in Self.examples {
                add(String(decoding: Self.bytes("\(Self.root)/manifests/\(name)"), as: UTF8.self), true)
            }
            for policy in NofollowPolicy.allCases.map(\.rawValue) + ["ignore", "links"] {
                add("{\"start\": [\"/\"], \"nofollow\": \"\(policy)\"}", true)
            }
            for sample in FormatSample.all { add(sample.text, sample.format == .larder) }
            if let manifest = try? Sample.manifest(FormatSample.all[0].text) { add(manifest.json, true) }
        }
        let cases = try folder.write(writer.bytes, to: "cases.json")
        let script = """
            import json, jsonschema, sys
            schema = json.load(open(sys.argv[1]))
            jsonschema.Draft202012Validator.check_schema(schema)
            validator = jsonschema.Draft202012Validator(schema)
            wrong = []
            for text, good in json.load(open(sys.argv[2])):
                try: valid = validator.is_valid(json.loads(text))
                except ValueError: valid = False
                if valid != good: wrong.append(text)
            open(sys.argv[2], "w").write("\\n".join(wrong))
            sys.exit(1 if wrong else 0)
            """
        let status = Self.run(script, [Self.root + "/manifests/larder.schema.json", cases])
        #expect(status == 0, "\(String(decoding: Self.bytes(cases), as: UTF8.self).prefix(2000))")
    }
}
