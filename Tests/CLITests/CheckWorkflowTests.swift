import Glibc
import TestOrigin
import Testing

/// Types the commands of the workflow files for CI, with a site of its own in place of the example's.
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

    /// Each with the options that the lines below it have.
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

    @Test(arguments: ["github-actions.yml", "gitlab-ci.yml"])
    func `the commands of a workflow do what they say`(file: String) throws {
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
}
