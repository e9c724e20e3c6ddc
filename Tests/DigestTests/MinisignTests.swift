import Glibc
import TestOrigin
import Testing
import Web

@testable import Digest

/// Keys and signatures that minisign made, and their variants.
private enum Made {
    static let publicKey = "RWRUwu0Q4Hizt6o4IsUh+HT4Rdmt9RcXGgyq3tXfIrGMwxjhe9aV+awg"
    static let secretLine =
        "RWQAAEIyAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAVMLtEOB4s7c1JvE6ei0NDRE+KJQd"
        + "ej6vZIUKjv9OkxfgAHHqrj3ZNKo4IsUh+HT4Rdmt9RcXGgyq3tXfIrGMwxjhe9aV+awgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
    static let secretKey = "untrusted comment: minisign encrypted secret key\n\(secretLine)\n"
    static let message = Array("hello\n".utf8)
    static let lines = [
        "untrusted comment: signature from minisign secret key",
        "RURUwu0Q4Hizt+FFbQUhVNRjkOOvHd+5hX8UFB/1sR09r0q2SEst1WZDIj/hAiJDEfZRtr+dJSJtiGzlFkmtM22MvLYdTMsTvAE=",
        "trusted comment: timestamp:1795904039\tfile:m\thashed",
        "atb47XhwfsWaBv9EkyJeGR1OX4L/EoyQa+iqr4id0CIr0LNH32SpM96CUxpiDz27RCy7wtJ/Yy1raAwnH9LrAg==",
    ]
    static let signature = lines.joined(separator: "\n") + "\n"
    static let legacySignature = """
        untrusted comment: signature from minisign secret key
        RWRUwu0Q4HiztyRuK4T8H+OWbEFIO8prfHFMlb851X/EyY/5KN28DANaOOkAp9w8Xk+cnHD41UpVytk/puEnIK6J/j5ninNGtAM=
        trusted comment: timestamp:1795904039\tfile:m
        ufgo8go0sw3EKRDNHafizfct3C9FCI7o3rhO2+tkIf7QyhcBFHOc0onIxpyOnXScHk1sJBnTUru3ikninaxJCQ==

        """
}

@Suite struct MinisignTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    // MARK: Keys and signatures by minisign

    @Test func `a key of minisign is read, in a line and in a file`() throws {
        let key = try MinisignPublicKey(Made.publicKey)
        #expect(key.text == Made.publicKey && key.description == key.text)
        #expect(key.keyName == "B7B378E010EDC254")
        #expect(key.fingerprint == "RWRUwu0Q4Hizt6o4…e9aV+awg")
        #expect(key.fileText == "untrusted comment: minisign public key B7B378E010EDC254\n\(key.text)\n")
        for text in [
            key.fileText, key.fileText.replacing("\n", with: "\r\n"), " \(key.text)\t\n",
            key.fileText + "\n \n",
        ] {
            #expect(try MinisignPublicKey(text) == key)
        }
    }

    @Test(arguments: [Made.signature, Made.legacySignature])
    func `a signature of minisign is read, written and verified`(text: String) throws {
        let key = try MinisignPublicKey(Made.publicKey)
        let signature = try MinisignSignature(text)
        #expect(signature.text == text && signature.keyID == key.keyID)
        #expect(signature.isPrehashed == (text == Made.signature))
        #expect(signature.trustedComment.hasPrefix("timestamp:\(try #require(signature.timestamp))\tfile:m"))
        try key.verify(signature, of: Made.message)
        let withCRLF = try MinisignSignature(text.replacing("\n", with: "\r\n"))
        #expect(withCRLF == signature)
        #expect(throws: MinisignError.wrongSignature) { try key.verify(signature, of: Made.message + [0]) }
        #expect(throws: MinisignError.wrongSignature) { try key.verify(signature, of: []) }
    }

    @Test func `a key of minisign without a passphrase signs`() throws {
        let file = try MinisignKeyFile(Made.secretKey)
        #expect(!file.needsPassphrase)
        let key = try file.unlock(nil)
        #expect(key.publicKey.text == Made.publicKey)
        // Ed25519 has one signature for a message, so it is that of minisign.
        let made = try MinisignSignature(Made.signature)
        let signature = key.sign(Made.message, trustedComment: made.trustedComment)
        #expect(signature.signature == made.signature && signature.commentSignature == made.commentSignature)
    }

    // MARK: Verifying

    @Test func `a signature by another key is rejected, also if it has the same ID`() throws {
        let key = try MinisignKeyFile(Made.secretKey).unlock(nil)
        let other = try #require(MinisignPrivateKey())
        let signature = other.sign(Made.message, trustedComment: "timestamp:1")
        try other.publicKey.verify(signature, of: Made.message)
        let error = #expect(throws: MinisignError.self) {
            try key.publicKey.verify(signature, of: Made.message)
        }
        #expect(error == .otherKey(other.publicKey.keyName, expected: "B7B378E010EDC254"))
        let twin = MinisignPublicKey(keyID: other.keyID, key: key.publicKey.key)
        #expect(throws: MinisignError.wrongSignature) { try twin.verify(signature, of: Made.message) }
    }

    @Test func `a changed trusted comment is rejected`() throws {
        let text = Made.signature.replacing("file:m", with: "file:n")
        let signature = try MinisignSignature(text)
        #expect(throws: MinisignError.wrongComment) {
            try MinisignPublicKey(Made.publicKey).verify(signature, of: Made.message)
        }
        // The other comment is not signed.
        let free = try MinisignSignature(Made.signature.replacing("from minisign", with: "from somebody"))
        try MinisignPublicKey(Made.publicKey).verify(free, of: Made.message)
    }

    @Test func `a signature with any flipped bit is malformed or does not verify`() throws {
        let key = try MinisignPublicKey(Made.publicKey)
        let bytes = Array(Made.signature.utf8)
        let firstSigned = Made.lines[0].utf8.count + 1
        for place in firstSigned..<(bytes.count - 1) {
            for bit in 0..<8 {
                var changed = bytes
                changed[place] ^= 1 << bit
                let text = String(decoding: changed, as: UTF8.self)
                #expect(throws: MinisignError.self, "\(place), \(bit)") {
                    try key.verify(MinisignSignature(text), of: Made.message)
                }
            }
        }
    }

    @Test func `the parts of two signatures do not verify together`() throws {
        let key = try #require(MinisignPrivateKey())
        let one = key.sign([1], trustedComment: "timestamp:1").text.split(separator: "\n")
        let two = key.sign([2], trustedComment: "timestamp:2").text.split(separator: "\n")
        let mixed = try MinisignSignature((one[..<2] + two[2...]).joined(separator: "\n"))
        #expect(throws: MinisignError.wrongComment) { try key.publicKey.verify(mixed, of: [1]) }
    }

    // MARK: Malformed texts

    static let malformedSignatures: [(String, String)] = [
        ("", "expected 4 lines, found 0"),
        (Made.lines[..<2].joined(separator: "\n"), "expected 4 lines, found 2"),
        (Made.signature + Made.lines[3], "expected 4 lines, found 5"),
        (Made.signature + Made.signature, "expected 4 lines, found 8"),
        ("\n" + Made.signature, "expected 4 lines, found 5"),
        (Made.signature.replacing("untrusted comment", with: "comment"), "expected \"untrusted comment:\""),
        (Made.signature.replacing("\ntrusted comment: ", with: "\ntrusted comment:"), "in line 3"),
        (Made.signature.replacing("timestamp", with: "\u{1B}[2J"), "a control character"),
        (Made.signature.replacing("from", with: "\u{85}"), "a control character"),
        (Made.signature.replacing("from", with: "\r"), "a control character"),
        (String(Made.signature.dropLast(3)), "expected a line in base64"),
        (Made.signature.replacing(Made.lines[1], with: " " + Made.lines[1]), "expected a line in base64"),
        (Made.signature.replacing(Made.lines[1], with: Made.lines[3]), "expected 74 bytes"),
        (Made.signature.replacing(Made.lines[3], with: Made.lines[1]), "expected 64 bytes"),
        (Made.signature.replacing(Made.lines[3], with: ""), "expected 4 lines, found 3"),
        (Made.signature.replacing("\nRU", with: "\nAA"), "it is not made by Ed25519"),
        (
            Made.signature.replacing("file:m", with: String(repeating: "x", count: 16 * 1024)),
            "at most 16384 bytes"
        ),
    ]

    @Test(arguments: malformedSignatures)
    func `a malformed signature is rejected with the reason`(text: String, reason: String) {
        let error = #expect(throws: MinisignError.self) { try MinisignSignature(text) }
        #expect(error?.description.contains(reason) == true, "\(error?.description ?? "")")
    }

    static let malformedPublicKeys: [(String, String)] = [
        ("", "a line that begins with RW"),
        ("RW", "expected a line in base64"),
        (Made.publicKey + "A", "expected a line in base64"),
        (Made.publicKey + "AAAA", "expected 42 bytes"),
        (String(Made.publicKey.dropLast(4)), "expected 42 bytes"),
        ("AA\(Made.publicKey.dropFirst(2))", "it is not for Ed25519"),
        (Made.publicKey + "\n" + Made.publicKey, "it contains 2 keys, but only one is expected"),
        ("untrusted comment: x\n\(Made.publicKey)\n\(Made.publicKey)", "it contains 2 keys"),
        ("\(Made.publicKey)\nuntrusted comment: x", "a line that begins with RW"),
        ("untrusted comment: x", "expected a line in base64"),
        (Made.signature, "a line that begins with RW"),
        (String(repeating: "A", count: 20_000), "at most 16384 bytes"),
    ]

    @Test(arguments: malformedPublicKeys)
    func `a malformed public key is rejected with the reason`(text: String, reason: String) {
        let error = #expect(throws: MinisignError.self) { try MinisignPublicKey(text) }
        #expect(error?.description.contains(reason) == true, "\(error?.description ?? "")")
    }

    static let malformedSecretKeys: [(String, String)] = [
        ("", "and a second line with the key"),
        (Made.secretLine, "and a second line with the key"),
        ("x\n" + Made.secretLine, "and a second line with the key"),
        (Made.secretKey + Made.secretLine, "and a second line with the key"),
        ("untrusted comment: x\n" + Made.publicKey, "expected 158 bytes"),
        ("untrusted comment: x\n\(Made.secretLine.dropLast())", "expected a line in base64"),
        (Made.secretKey.replacing("\nRWQA", with: "\nAAAA"), "it is not for Ed25519"),
        (Made.secretKey.replacing("\nRWQAAEIy", with: "\nRWQAAEIz"), "its checksum is not BLAKE2b"),
        (Made.secretKey.replacing("\nRWQA", with: "\nRWRT"), "it is not encrypted with scrypt"),
        (String(repeating: "A", count: 20_000), "at most 16384 bytes"),
    ]

    @Test(arguments: malformedSecretKeys)
    func `a malformed secret key is rejected with the reason`(text: String, reason: String) {
        let error = #expect(throws: MinisignError.self) { try MinisignKeyFile(text) }
        #expect(error?.description.contains(reason) == true, "\(error?.description ?? "")")
    }

    @Test(
        arguments: [
            (nil, nil), ("timestamp:1700000000", 1_700_000_000), ("file:a\ttimestamp:12\thashed", 12),
            ("timestamp:", nil),
            ("timestamp:-1", nil), ("timestamp:1x", nil), ("timestamp:99999999999999999999", nil),
            ("xtimestamp:12", nil), ("timestamp:1\ttimestamp:2", 1),
        ] as [(String?, Int?)])
    func `the time is that of the trusted comment`(comment: String?, time: Int?) throws {
        let key = try #require(MinisignPrivateKey())
        let signature = key.sign([], trustedComment: comment ?? "")
        #expect(signature.timestamp == time)
        #expect(try MinisignSignature(signature.text) == signature)
    }

    @Test func `a trusted comment has no control characters of the file's name`() throws {
        let comment = MinisignSignature.trustedComment(timestamp: 7, file: "a\nb\tc\u{1B}\u{85}ü.json")
        #expect(comment == "timestamp:7\tfile:abcü.json\thashed")
        let key = try #require(MinisignPrivateKey())
        let signature = try MinisignSignature(key.sign([], trustedComment: comment).text)
        #expect(signature.timestamp == 7 && signature.trustedComment == comment)
        #expect(MinisignSignature.trustedComment(timestamp: 7, file: nil) == "timestamp:7\thashed")
    }

    // MARK: Secret keys

    /// The least that is accepted, so that the tests are fast.
    private static let cheap = ScryptLimits(operationCount: 1 << 19, memoryBytes: 1 << 24)

    @Test func `a secret key is written and read, with and without a passphrase`() throws {
        let key = try #require(MinisignPrivateKey())
        let plain = try MinisignKeyFile(key.fileText(passphrase: nil))
        #expect(!plain.needsPassphrase)
        #expect(try plain.unlock(nil).publicKey == key.publicKey)
        #expect(try plain.unlock("unused").publicKey == key.publicKey)
        let text = try key.fileText(passphrase: "correct hörse", limits: Self.cheap)
        let secret = try MinisignKeyFile(text.replacing("\n", with: "\r\n"))
        #expect(secret.needsPassphrase)
        #expect(try secret.unlock("correct hörse").publicKey == key.publicKey)
        #expect(throws: MinisignError.needsPassphrase) { try secret.unlock(nil) }
        for wrong in ["correct horse", "correct hörs", " correct hörse"] {
            #expect(throws: MinisignError.wrongPassphrase) { try secret.unlock(wrong) }
        }
        // The salt is new each time.
        #expect(try key.fileText(passphrase: "correct hörse", limits: Self.cheap) != text)
    }

    @Test(arguments: ["", "a\0b", String(repeating: "x", count: 1024)])
    func `a passphrase that minisign could not use is rejected`(passphrase: String) throws {
        let key = try #require(MinisignPrivateKey())
        #expect(throws: MinisignError.unusablePassphrase) {
            try key.fileText(passphrase: passphrase, limits: Self.cheap)
        }
        let file = try MinisignKeyFile(key.fileText(passphrase: "x", limits: Self.cheap))
        #expect(throws: MinisignError.unusablePassphrase) { try file.unlock(passphrase) }
    }

    @Test func `a secret key with a flipped byte is rejected`() throws {
        let key = try #require(MinisignPrivateKey())
        let line = try #require(key.fileText(passphrase: nil).split(separator: "\n").last)
        let bytes = try #require(Base64.decode(String(line)))
        // The salt and the cost are not used without a passphrase.
        for place in Array(0..<6) + Array(54..<158) {
            var changed = bytes
            changed[place] ^= 4
            let text = "untrusted comment: x\n" + Base64.encode(changed)
            #expect(throws: MinisignError.self, "\(place)") { try MinisignKeyFile(text).unlock(nil) }
        }
        // Without its checksum, as in a file of minisign, the halves of the key still have to match.
        for place in 62..<126 {
            var changed = bytes
            changed[place] ^= 4
            changed.replaceSubrange(126..., with: [UInt8](repeating: 0, count: 32))
            let text = "untrusted comment: x\n" + Base64.encode(changed)
            #expect(throws: MinisignError.self, "\(place)") { try MinisignKeyFile(text).unlock(nil) }
        }
    }

    @Test(
        arguments: [
            (1 << 26, 1 << 30), (1 << 25, 1 << 30 + 1), (.max, .max), (0, 0), (1 << 14, 1 << 24),
            (1 << 25, 1 << 20),
            (1 << 25, 0), (0, 1 << 30),
        ] as [(UInt64, UInt64)])
    func `a secret key that costs too much or nothing is rejected before it is decrypted`(
        operations: UInt64, memory: UInt64
    ) throws {
        let key = try #require(MinisignPrivateKey())
        let line = try #require(key.fileText(passphrase: "x", limits: Self.cheap).split(separator: "\n").last)
        var bytes = try #require(Base64.decode(String(line)))
        let limits = ScryptLimits(operationCount: operations, memoryBytes: memory)
        bytes.replaceSubrange(38..<54, with: limits.bytes)
        #expect(ScryptLimits(bytes[38..<54]) == limits && !limits.isAcceptable)
        let error = #expect(throws: MinisignError.self) {
            try MinisignKeyFile("untrusted comment: x\n" + Base64.encode(bytes))
        }
        #expect(error?.description.contains("its passphrase needs \(memory) bytes of memory") == true)
    }

    /// The parameters that libsodium's pickparams computes.
    @Test(
        arguments: [
            (1 << 25, 1 << 30, 1 << 20, 1), (1 << 23, 1 << 28, 1 << 18, 1), (1 << 19, 1 << 24, 1 << 14, 1),
            (1 << 25, 1 << 24, 1 << 14, 64), (1 << 15, 1 << 24, 1 << 10, 1), (1 << 15, 1 << 30, 1 << 10, 1),
            (1 << 20, 3 << 24, 1 << 15, 1), (3 << 20, 3 << 24, 1 << 15, 3),
        ] as [(UInt64, UInt64, UInt64, UInt64)])
    func `the parameters of scrypt are those of libsodium`(
        operations: UInt64, memory: UInt64, cost: UInt64, parallelization: UInt64
    ) {
        let limits = ScryptLimits(operationCount: operations, memoryBytes: memory)
        #expect(limits.isAcceptable)
        let parameters = limits.parameters
        #expect(parameters.cost == cost && parameters.parallelization == parallelization)
        // scrypt needs 1 KiB for each unit of both parameters.
        #expect(cost + parallelization <= 1 << 20 + 64)
    }

    // MARK: Minisign itself

    private static let minisign = "/usr/bin/minisign"
    private static let hasMinisign = access(minisign, X_OK) == 0

    /// Runs a shell script in the folder.
    private func shell(_ script: String) throws -> ChildProcess.Ending {
        try ChildProcess(
            "/bin/sh", ["-ec", "cd '\(folder.path)'\n" + script], environment: ["PATH": "/usr/bin:/bin"]
        ).wait()
    }

    private func text(_ name: String) throws -> String {
        try shell("cat \(name)").output
    }

    @Test(.enabled(if: hasMinisign, "minisign is not installed (apt install minisign)"))
    func `minisign verifies our signatures by our keys, and signs with our secret keys`() throws {
        let key = try #require(MinisignPrivateKey())
        let message = Array("some bytes\n".utf8)
        try folder.write("some bytes\n", to: "m")
        try folder.write(
            key.sign(message, trustedComment: "timestamp:1700000000\tfile:m\thashed").text, to: "m.minisig")
        try folder.write(key.publicKey.fileText, to: "our.pub")
        try folder.write(key.fileText(passphrase: nil), to: "our.key")
        let verified = try shell(
            "minisign -V -p our.pub -m m && minisign -V -H -P \(key.publicKey.text) -m m")
        #expect(verified.status == 0 && verified.output.contains("timestamp:1700000000"), "\(verified)")
        let signed = try shell("minisign -S -W -s our.key -m m -x theirs.minisig -t 'timestamp:5'")
        #expect(signed.status == 0, "\(signed)")
        let theirs = try MinisignSignature(text("theirs.minisig"))
        try key.publicKey.verify(theirs, of: message)
        #expect(theirs.timestamp == 5)
        #expect(try shell("minisign -R -s our.key -p again.pub").status == 0)
        #expect(try MinisignPublicKey(text("again.pub")) == key.publicKey)
        try folder.write("other bytes\n", to: "m")
        #expect(try shell("minisign -V -p our.pub -m m").status == 1)
    }

    @Test(.enabled(if: hasMinisign, "minisign is not installed (apt install minisign)"))
    func `keys with a passphrase are read by both`() throws {
        // 1 GiB of memory and some seconds: minisign has no lower cost.
        let made = try shell(
            "printf 'correct horse\\ncorrect horse\\n' | minisign -G -s their.key -p their.pub")
        #expect(made.status == 0, "\(made)")
        let theirs = try MinisignKeyFile(text("their.key"))
        #expect(theirs.needsPassphrase)
        #expect(try theirs.unlock("correct horse").publicKey == MinisignPublicKey(text("their.pub")))

        let key = try #require(MinisignPrivateKey())
        try folder.write(key.fileText(passphrase: "correct horse"), to: "our.key")
        try folder.write("some bytes\n", to: "m")
        let signed = try shell("printf 'correct horse\\n' | minisign -S -s our.key -m m")
        #expect(signed.status == 0, "\(signed)")
        try key.publicKey.verify(MinisignSignature(text("m.minisig")), of: Array("some bytes\n".utf8))
        #expect(try shell("printf 'wrong\\n' | minisign -S -s our.key -m m").status != 0)
    }
}
