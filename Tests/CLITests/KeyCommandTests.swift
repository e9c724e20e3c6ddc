import Digest
import Glibc
import TestOrigin
import Testing
import Web

/// `larder key`, and manifests that `larder manifest --sign` signs. Minisign checks both where it is installed.
@Suite struct KeyCommandTests {
    private let home: TemporaryFolder

    private static let hasMinisign = access("/usr/bin/minisign", X_OK) == 0

    init() throws {
        home = try TemporaryFolder()
        mkdir(home.file("dist"), 0o755)
        try home.write("console.log(1)", to: "dist/a.js")
        try home.write("console.log(2)", to: "dist/b.js")
    }

    /// Runs `larder` in the home folder, without a terminal.
    private func larder(
        _ words: String..., passphrase: String? = nil
    ) throws -> Command.Ending {
        try Command(
            words, home: home, environment: passphrase.map { ["LARDER_KEY_PASSPHRASE": $0] } ?? [:],
            shell: "cd; exec setsid -w \"$0\" \"$@\""
        ).wait()
    }

    /// Runs a shell script in the home folder.
    private func shell(_ script: String) throws -> ChildProcess.Ending {
        try ChildProcess(
            "/bin/sh", ["-ec", "cd '\(home.path)'\n" + script], environment: ["PATH": "/usr/bin:/bin"]
        ).wait()
    }

    private func text(_ name: String) throws -> String { try shell("cat \(name)").output }

    private func permissions(_ name: String) -> mode_t? {
        var status = stat()
        return stat(home.file(name), &status) == 0 ? status.st_mode & 0o777 : nil
    }

    /// The second line of a file, such as the key in the file of a public key.
    private func secondLine(_ name: String) throws -> String {
        String(try #require(try text(name).split(separator: "\n").dropFirst().first))
    }

    // MARK: Keys

    @Test func `a new key is written to two files and shown`() throws {
        let made = try larder("key", "new", "--no-passphrase")
        #expect(made.status == 0, "\(made)")
        let key = try secondLine("larder.pub")
        #expect(key.hasPrefix("RW") && made.output.contains(key))
        #expect(made.output.contains("not protected by a passphrase"))
        #expect(permissions("larder.key") == 0o600 && permissions("larder.pub") == 0o644)
        for file in ["larder.key", "larder.pub"] {
            let shown = try larder("key", "show", file)
            #expect(shown.status == 0 && shown.output.contains("public key:  \(key)\n"), "\(shown)")
            #expect(shown.output.contains("fingerprint: \(key.prefix(16))…\(key.suffix(8))\n"))
        }
        let report = try larder("key", "show", "larder.key", "--json")
        let json = try JSONValue.parse(report.output.utf8.span)
        #expect(json["publicKey"]?.string == key && json["protected"]?.bool == false)
        #expect(json["publicKeyFile"]?.isNull == true && json["file"]?.string == "larder.key")
    }

    @Test func `an existing key is replaced only with --force`() throws {
        #expect(try larder("key", "new", "--no-passphrase", "--out", "release.key").status == 0)
        let (key, publicKey) = (try text("release.key"), try text("release.pub"))
        let refused = try larder("key", "new", "--no-passphrase", "--out", "release.key")
        #expect(refused.status == 2 && refused.errors.contains("release.key exists"), "\(refused)")
        #expect(refused.errors.contains("--force"))
        home.remove("release.key")
        let alsoRefused = try larder("key", "new", "--no-passphrase", "--out", "release.key")
        #expect(alsoRefused.status == 2 && alsoRefused.errors.contains("release.pub exists"))
        #expect(permissions("release.key") == nil)
        #expect(try text("release.pub") == publicKey)
        chmod(home.file("release.pub"), 0o600)
        let forced = try larder("key", "new", "--no-passphrase", "--out", "release.key", "--force")
        #expect(forced.status == 0, "\(forced)")
        #expect(try text("release.key") != key)
        #expect(permissions("release.key") == 0o600)
        // A name without the suffix gets one for the public key.
        #expect(try larder("key", "new", "--no-passphrase", "--out", "other").status == 0)
        #expect(permissions("other") == 0o600 && permissions("other.pub") == 0o644)
    }

    @Test func `the passphrase comes from a variable or a file`() throws {
        let made = try larder("key", "new", "--json", passphrase: "correct horse")
        #expect(made.status == 0, "\(made)")
        let json = try JSONValue.parse(made.output.utf8.span)
        #expect(json["protected"]?.bool == true && json["publicKeyFile"]?.string == "larder.pub")
        try home.write("correct horse\r\nsecond line\n", to: "phrase")
        try home.write("\n", to: "empty")
        let shown = try larder("key", "show", "larder.key", "--passphrase-file", "phrase", "--json")
        #expect(try JSONValue.parse(shown.output.utf8.span)["publicKey"] == json["publicKey"], "\(shown)")
        // The option has precedence over the variable.
        #expect(
            try larder("key", "show", "larder.key", "--passphrase-file", "phrase", passphrase: "wrong").status
                == 0)
        let wrong = try larder("key", "show", "larder.key", passphrase: "correct hors")
        #expect(
            wrong.status == 2 && wrong.errors.contains("the passphrase of the secret key is wrong"),
            "\(wrong)")
        let none = try larder("key", "show", "larder.key")
        #expect(none.status == 2 && none.errors.contains("set $LARDER_KEY_PASSPHRASE"), "\(none)")
        for file in ["empty", "gone"] {
            let unusable = try larder("key", "show", "larder.key", "--passphrase-file", file)
            #expect(
                unusable.status == 2 && unusable.errors.contains("passphrase in its first line"),
                "\(unusable)")
        }
        let unasked = try larder("key", "new", "--out", "new.key")
        #expect(unasked.status == 2 && unasked.errors.contains("--no-passphrase"), "\(unasked)")
        #expect(permissions("new.key") == nil)
    }

    /// Runs `larder key new` on a terminal, and types a text after each prompt. Prints the status and the screen.
    private static let typist = """
        import os, pty, sys
        child, screen = pty.fork()
        if child == 0:
            os.execv(sys.argv[1], [sys.argv[1], "key", "new"])
        shown = b""
        def read_until(text):
            global shown
            while text not in shown:
                try: piece = os.read(screen, 1000)
                except OSError: piece = b""
                if not piece: return
                shown += piece
        for prompt, text in [(b"new key: ", sys.argv[2]), (b"Repeat the passphrase: ", sys.argv[3])]:
            read_until(prompt)
            try: os.write(screen, text.encode())
            except OSError: pass
        read_until(b"never")
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), shown.decode())
        """

    @Test func `on a terminal the passphrase is typed twice, and not shown`() throws {
        func type(_ first: String, _ second: String) throws -> String {
            try Command(
                [first, second], home: home, environment: ["TYPIST": Self.typist],
                shell: "cd; exec python3 -c \"$TYPIST\" \"$0\" \"$@\""
            ).wait().output
        }
        let differing = try type("correct horse\n", "correct hors\n")
        #expect(differing.hasPrefix("2 ") && differing.contains("the passphrases differ"), "\(differing)")
        #expect(permissions("larder.key") == nil)
        let made = try type("correct horse\n", "correct horse\n")
        #expect(made.hasPrefix("0 ") && made.contains("secret key: larder.key"), "\(made)")
        #expect(!made.contains("correct"))
        #expect(try larder("key", "show", "larder.key", passphrase: "correct horse").status == 0)
        // Ctrl-C, and no Enter after it, which could be read as an empty passphrase before the signal is handled.
        home.remove("larder.key")
        home.remove("larder.pub")
        #expect(try type("\u{3}", "").hasPrefix("130 "))
    }

    @Test(arguments: [
        (["key", "make"], "use new or show"), (["key", "show"], "key show needs the file"),
        (["key", "new", "x"], "name the file with --out"),
        (["key", "new", "--no-passphrase", "--passphrase-file", "x"], "exclude each other"),
        (["key", "show", "dist/a.js"], "not a minisign secret key"),
        (["key", "show", "gone"], "name the file of a key"),
        (["manifest", "dist", "--signature", "inside"], "needs --sign KEY"),
        (["manifest", "dist", "--passphrase-file", "x"], "needs --sign KEY"),
        (
            ["manifest", "dist", "--sign", "x", "--signature", "detached"],
            "a detached signature is a second file"
        ),
        (["manifest", "dist", "--sign", "x", "--signature", "both"], "must be one of detached, inside"),
        (
            [
                "manifest", "dist", "--sign", "x", "--format", "waict", "--signature", "inside", "--output",
                "m",
            ],
            "only manifests in Larder's own format contain a signature"
        ),
        (["manifest", "dist", "--sign", "x", "--format", "waict"], "a detached signature is a second file"),
        (["manifest", "dist", "--sign", "gone"], "name the file of a key"),
        (["manifest", "dist", "--sign", "dist/a.js"], "is in the folder dist, which would publish it"),
        (["manifest", "dist", "--json"], "--json needs --output"),
    ])
    func `a wrong use is reported`(words: [String], message: String) throws {
        let ending = try Command(words, home: home, shell: "cd; exec setsid -w \"$0\" \"$@\"").wait()
        #expect(ending.status == 2 && ending.errors.contains(message), "\(ending)")
    }

    // MARK: Signed manifests

    @Test func `a detached signature is written beside the manifest`() throws {
        #expect(try larder("key", "new", "--no-passphrase").status == 0)
        let key = try secondLine("larder.pub")
        // In the folder: neither file is listed, also the second time.
        for _ in 1...2 {
            let ending = try larder(
                "manifest", "dist", "--output", "dist/manifest.json", "--sign", "larder.key", "--json")
            #expect(ending.status == 0, "\(ending)")
            let report = try JSONValue.parse(ending.output.utf8.span)
            #expect(report["signer"]?.string == key && report["bundles"]?.int == 2)
            #expect(report["signatureFile"]?.string == "dist/manifest.json.minisig")
        }
        let written = try text("dist/manifest.json")
        let manifest = try JSONValue.parse(written.utf8.span)
        #expect(manifest["bundles"]?.array?.count == 2 && manifest["signature"] == nil)
        #expect(manifest["key"]?.string == key)
        #expect(try text("dist/manifest.json.minisig").contains("\tfile:manifest.json\thashed"))
        if Self.hasMinisign {
            let verified = try shell("minisign -V -p larder.pub -m dist/manifest.json")
            #expect(verified.status == 0, "\(verified)")
            #expect(
                try shell("echo >> dist/manifest.json; minisign -V -p larder.pub -m dist/manifest.json")
                    .status == 1)
        }
        let check = try larder("check", "dist/manifest.json", "--dir", "dist")
        #expect(check.status == 0, "\(check)")
    }

    @Test func `the files that were written are named, with the key that signed them`() throws {
        #expect(try larder("key", "new", "--no-passphrase").status == 0)
        let key = try secondLine("larder.pub")
        let signer = "signed by \(key.prefix(16))…\(key.suffix(8))"
        let detached = try larder("manifest", "dist", "--output", "m.json", "--sign", "larder.key")
        #expect(detached.output.contains("m.json: 2 bundles, "), "\(detached)")
        #expect(detached.output.contains("\nm.json.minisig: signature of m.json, \(signer)\n"), "\(detached)")
        let inside = try larder(
            "manifest", "dist", "--output", "m.json", "--sign", "larder.key", "--signature", "inside")
        #expect(inside.output.hasSuffix(", \(signer)\n"), "\(inside)")
        let plain = try larder("manifest", "dist", "--output", "m.json")
        #expect(plain.output.hasPrefix("m.json: 2 bundles, ") && !plain.output.contains("signed"), "\(plain)")
    }

    @Test func `chcp.json and chcp.manifest are signed and bound to each other`() throws {
        #expect(try larder("key", "new", "--no-passphrase").status == 0)
        let words = [
            "manifest", "dist", "--format", "cordova", "--output", "dist/chcp.manifest", "--release", "1.2",
            "--base", "https://a.test/", "--sign", "larder.key",
        ]
        // In the folder: none of the four files is listed, also the second time.
        for _ in 1...2 {
            let ending = try Command(words, home: home, shell: "cd; exec \"$0\" \"$@\"").wait()
            #expect(ending.status == 0, "\(ending)")
            #expect(ending.output.hasPrefix("dist/chcp.manifest: 2 bundles, "), "\(ending)")
            for name in ["chcp.manifest.minisig", "chcp.json.minisig", "chcp.json"] {
                #expect(ending.output.contains("\ndist/\(name): "), "\(ending)")
            }
        }
        #expect(try text("dist/chcp.json.minisig").contains("\tfile:chcp.json\thashed"))
        if Self.hasMinisign {
            for name in ["chcp.json", "chcp.manifest"] {
                #expect(try shell("minisign -V -p larder.pub -m dist/\(name)").status == 0)
            }
        }
        let check = try larder("check", "dist/chcp.json", "--dir", "dist", "--trust", "larder.pub")
        #expect(check.status == 0, "\(check)")
        let hash = DigestStream.digest(.md5, of: Array("console.log(1)".utf8).span).hex
        try home.write("[{\"file\": \"a.js\", \"hash\": \"\(hash)\"}]", to: "dist/chcp.manifest")
        let changed = try larder("check", "dist/chcp.json", "--dir", "dist")
        #expect(
            changed.status == 1 && changed.output.contains("it is not the one whose digest"), "\(changed)")
    }

    @Test func `a signature inside signs the manifest without it`() throws {
        #expect(try larder("key", "new", passphrase: "correct horse").status == 0)
        let printed = try larder("manifest", "dist", "--sign", "larder.key", passphrase: "correct horse")
        #expect(printed.status == 0, "\(printed)")
        let written = try larder(
            "manifest", "dist", "--sign", "larder.key", "--signature", "inside", "--output", "m.json",
            passphrase: "correct horse")
        #expect(written.status == 0 && permissions("m.json.minisig") == nil, "\(written)")
        // The name of the file to which the output is redirected is not known, and the signature must not name another one.
        #expect(!printed.output.contains("file:"))
        for signed in try [printed.output, text("m.json")] {
            let manifest = try JSONValue.parse(signed.utf8.span)
            let signature = try #require(manifest["signature"]?.string)
            let start = try #require(signed.start(of: ",\n  \"signature\": "))
            try home.write("\(signed[..<start])\n}\n", to: "unsigned.json")
            try home.write(signature, to: "unsigned.json.minisig")
            guard Self.hasMinisign else { continue }
            let verified = try shell("minisign -V -p larder.pub -m unsigned.json")
            #expect(verified.status == 0, "\(verified)")
        }
        let check = try larder("check", "m.json", "--dir", "dist")
        #expect(check.status == 0, "\(check)")
    }

    @Test(.enabled(if: hasMinisign, "minisign is not installed (apt install minisign)"))
    func `a key of minisign signs a manifest`() throws {
        #expect(try shell("minisign -G -W -s their.key -p their.pub").status == 0)
        let ending = try larder("manifest", "dist", "--sign", "their.key", "--output", "m.json")
        #expect(ending.status == 0, "\(ending)")
        #expect(try shell("minisign -V -p their.pub -m m.json").status == 0)
        // Other formats have no place for the key or a signature.
        let other = try larder(
            "manifest", "dist", "--sign", "their.key", "--format", "waict", "--output", "waict.json")
        #expect(other.status == 0, "\(other)")
        #expect(try shell("minisign -V -p their.pub -m waict.json").status == 0)
        let plain = try larder("manifest", "dist", "--format", "waict", "--output", "plain.json")
        #expect(plain.status == 0)
        #expect(try text("plain.json") == text("waict.json"))
    }
}

extension String {
    /// The beginning of the first occurrence of a text; nil if there is none.
    fileprivate func start(of text: String) -> String.Index? { ranges(of: text).first?.lowerBound }
}
