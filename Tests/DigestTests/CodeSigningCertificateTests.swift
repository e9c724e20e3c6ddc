import TestOrigin
import Testing

@testable import Digest

@Suite struct CodeSigningCertificateTests {
    private static let message = Array("{\"id\": \"1\"}".utf8)
    /// 2027-01-15, when all certificates are valid.
    private static let now: Int64 = 1_800_000_000

    private func certificate(_ pem: String) throws -> CodeSigningCertificate {
        try CodeSigningCertificate(pem: pem)
    }

    private func sign(_ pem: String, _ message: [UInt8] = message) throws -> [UInt8] {
        try #require(RSAPrivateKey(pem: pem)).sign(message)
    }

    /// Why a signature is not accepted; nil if it is.
    private func refusal(
        _ trusted: String, _ signature: [UInt8], chain: [String] = [], at time: Int64 = now
    ) throws -> CodeSigningError? {
        let trusted = try certificate(trusted)
        let chain = try chain.map { try certificate($0) }
        do throws(CodeSigningError) {
            try trusted.verify(signature, of: Self.message, chain: chain, at: time)
            return nil
        } catch {
            return error
        }
    }

    @Test func `a signature by the key of the trusted certificate is accepted`() throws {
        let signature = try sign(CodeSigningKeys.publisherKey)
        #expect(try refusal(CodeSigningKeys.publisher, signature) == nil)
        // Chains are only needed if the trusted certificate does not sign itself.
        let chain = [CodeSigningKeys.release, CodeSigningKeys.team]
        #expect(try refusal(CodeSigningKeys.publisher, signature, chain: chain) == nil)
    }

    @Test func `another key, another message and a cut signature do not match`() throws {
        let signature = try sign(CodeSigningKeys.publisherKey)
        #expect(try refusal(CodeSigningKeys.stranger, signature) == .mismatch)
        #expect(try refusal(CodeSigningKeys.publisher, sign(CodeSigningKeys.publisherKey, [1])) == .mismatch)
        for bad in [[], Array(signature.dropLast()), signature + [0], [UInt8](repeating: 0, count: 5000)] {
            #expect(try refusal(CodeSigningKeys.publisher, bad) == .mismatch)
        }
    }

    @Test func `a chain is accepted if it leads to the trusted certificate`() throws {
        let signature = try sign(CodeSigningKeys.releaseKey)
        let chain = [CodeSigningKeys.release, CodeSigningKeys.team]
        #expect(try refusal(CodeSigningKeys.authority, signature, chain: chain) == nil)
        // Servers may send the trusted certificate too.
        #expect(
            try refusal(CodeSigningKeys.authority, signature, chain: chain + [CodeSigningKeys.authority])
                == nil)
        // A trusted certificate need not be signed by itself.
        #expect(try refusal(CodeSigningKeys.team, signature, chain: [CodeSigningKeys.release]) == nil)
        #expect(
            try refusal(CodeSigningKeys.authority, sign(CodeSigningKeys.strangerKey), chain: chain)
                == .mismatch)
    }

    @Test func `a chain that is broken, foreign or forged is refused`() throws {
        let signature = try sign(CodeSigningKeys.releaseKey)
        let forged = try sign(CodeSigningKeys.forgedKey)
        let stranger = try sign(CodeSigningKeys.strangerKey)
        let chains: [([String], [UInt8])] = [
            ([CodeSigningKeys.release], signature),
            ([CodeSigningKeys.stranger], stranger),
            ([CodeSigningKeys.stranger, CodeSigningKeys.team], stranger),
            // Its signature is right, but the certificate that made it is no authority.
            ([CodeSigningKeys.forged, CodeSigningKeys.release, CodeSigningKeys.team], forged),
            // The first one has to be the one that signed the message.
            ([CodeSigningKeys.team, CodeSigningKeys.release], signature), ([], signature),
        ]
        for (chain, signature) in chains {
            guard case .untrusted? = try refusal(CodeSigningKeys.authority, signature, chain: chain) else {
                Issue.record("\(chain.count)")
                continue
            }
        }
    }

    @Test func `a certificate that is not valid at the time is refused, with the time of the clock`() throws {
        let signature = try sign(CodeSigningKeys.publisherKey)
        let cases: [(Int64, String, String)] = [
            (1_600_000_000, "not yet valid", "2020-09-13T12:26:40Z"),
            (5_000_000_000, "has expired", "2128-06-11"),
        ]
        for (time, reason, clock) in cases {
            let error = try refusal(CodeSigningKeys.publisher, signature, at: time)
            #expect(error?.description.contains(reason) == true, "\(error as Any)")
            #expect(error?.description.contains("this machine's clock (\(clock)") == true, "\(error as Any)")
        }
    }

    @Test func `a certificate for another purpose and one with a short key are refused`() throws {
        let key = try sign(CodeSigningKeys.serverKey)
        let error = try refusal(CodeSigningKeys.server, key)
        #expect(error?.description.contains("is not for signing code") == true)
        #expect(RSAPrivateKey(pem: CodeSigningKeys.shortKey) == nil)
        guard case .untrusted(let reason)? = try refusal(CodeSigningKeys.short, [1]) else {
            Issue.record("accepted")
            return
        }
        #expect(reason.contains("too weak") || reason.contains("too small"), "\(reason)")
    }

    @Test func `text around certificates in PEM is ignored, and other text is refused`() throws {
        let pem = CodeSigningKeys.publisher
        let windows = pem.split(separator: "\n").joined(separator: "\r\n")
        for text in ["Certificate:\n  Data:\n" + pem, pem + "\n\n", windows] {
            #expect(try certificate(text) == certificate(pem))
        }
        #expect(try CodeSigningCertificate.list(pem: "") == [])
        #expect(try CodeSigningCertificate.list(pem: pem + CodeSigningKeys.team).count == 2)
        let bad = [
            "", "x", pem + pem, String(pem.dropLast(30)), CodeSigningKeys.publisherKey,
            "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----",
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----",
            "-----BEGIN CERTIFICATE-----\n****\n-----END CERTIFICATE-----",
            String(repeating: pem, count: 100),
        ]
        for text in bad {
            #expect(throws: CodeSigningError.self) { try CodeSigningCertificate(pem: text) }
        }
        #expect(throws: CodeSigningError.self) {
            try CodeSigningCertificate.list(pem: String(repeating: pem, count: 9))
        }
        let own = try certificate(pem)
        #expect(throws: CodeSigningError.self) { try CodeSigningCertificate(der: own.bytes + [0]) }
        #expect(throws: CodeSigningError.self) { try CodeSigningCertificate(der: own.bytes.dropLast()) }
    }

    @Test func `the fingerprint is the one that OpenSSL shows`() throws {
        #expect(
            try certificate(CodeSigningKeys.publisher).fingerprint
                == "6e25a2391ed77fa0d883f0b6c66bb7bf0fb74b1a834a71526eca29586d6fcbdd")
    }

    @Test(arguments: [
        "", "x", CodeSigningKeys.publisher, CodeSigningKeys.publisherKey + "\n" + CodeSigningKeys.releaseKey,
        "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nAAAA\n-----END PRIVATE KEY-----",
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----",
    ])
    func `other text is no private key`(text: String) {
        #expect(RSAPrivateKey(pem: text) == nil)
    }
}
