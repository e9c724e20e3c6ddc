import System
import TestOrigin
import Testing

@testable import LarderKit

@Suite struct BrowserExtensionTests {
    private let home: TemporaryFolder

    init() throws { home = try TemporaryFolder() }

    @Test(arguments: [
        ("usr/bin/larder", ["usr/share/larder/extension/manifest.json"], true),
        (
            "code/.build/release/x86/larder", ["code/Package.swift", "code/extension/manifest.json"], true
        ),
        ("code/.build/release/larder", ["code/extension/manifest.json"], false),
        ("usr/bin/larder", ["usr/share/larder/extension/options.js"], false), ("larder", [], false),
    ])
    func `the browser extension is found beside an installed or built program`(
        program: String, files: [String], isFound: Bool
    ) throws {
        for file in files + [program] {
            let folder = file.split(separator: "/").dropLast().joined(separator: "/")
            if !folder.isEmpty { try Folder.make(home.file(folder)) }
            try home.write("content of \(file)", to: file)
        }
        let found = BrowserExtension(besideProgram: home.file(program))
        #expect((found != nil) == isFound)
        guard let found else { return }
        let bytes = try found.zipFile()
        #expect(bytes.starts(with: "PK".utf8))
        #expect(bytes.firstRange(of: Array("extension/manifest.json".utf8)) != nil)
        #expect(try found.zipFile() == bytes)
    }
}
