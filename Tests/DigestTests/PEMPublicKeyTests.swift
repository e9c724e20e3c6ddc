import Testing
import Web

@testable import Digest

@Suite struct PEMPublicKeyTests {
    private static let message = Array("message".utf8)

    @Test func `a signature by OpenSSL's ECDSA on P-256 is valid`() throws {
        let key = try #require(PEMPublicKey(Self.p256))
        let signature = try #require(Hex.decode(Self.ecdsaSignature))
        #expect(key.verifiesECDSAOnP256(signature, of: Self.message))
        #expect(!key.verifiesECDSAOnP256(signature, of: Self.message + [0]))
        #expect(!key.verifiesECDSAOnP256([], of: Self.message))
        #expect(!key.verifiesECDSAOnP256(signature + [0], of: Self.message))
        #expect(!key.verifiesRSAPSS(signature, of: Self.message))
    }

    @Test(arguments: [pssSignature, pssSignatureWithLongSalt])
    func `a signature by OpenSSL's RSASSA-PSS is valid with a salt of any length`(text: String) throws {
        let key = try #require(PEMPublicKey(Self.rsa))
        var signature = try #require(Hex.decode(text))
        #expect(key.verifiesRSAPSS(signature, of: Self.message))
        #expect(!key.verifiesECDSAOnP256(signature, of: Self.message))
        signature[100] ^= 1
        #expect(!key.verifiesRSAPSS(signature, of: Self.message))
    }

    @Test func `RSA signatures with the older padding do not count as PSS`() throws {
        let key = try #require(PEMPublicKey(Self.rsa))
        let signature = try #require(Hex.decode(Self.pkcs1Signature))
        #expect(!key.verifiesRSAPSS(signature, of: Self.message))
    }

    @Test func `keys on other curves and short RSA keys verify nothing`() throws {
        let curve = try #require(PEMPublicKey(Self.p384))
        let onCurve = try #require(Hex.decode(Self.p384Signature))
        #expect(!curve.verifiesECDSAOnP256(onCurve, of: Self.message))
        let short = try #require(PEMPublicKey(Self.rsaWith1024Bits))
        let byShort = try #require(Hex.decode(Self.shortKeySignature))
        #expect(!short.verifiesRSAPSS(byShort, of: Self.message))
    }

    @Test func `a key with line ends of Windows is read`() {
        #expect(PEMPublicKey(Self.p256.split(separator: "\n").joined(separator: "\r\n")) != nil)
    }

    @Test(arguments: [
        "", "-----BEGIN PUBLIC KEY-----", "-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----",
        "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----",
        // OpenSSL would ask for the passphrase of this one on the terminal.
        "-----BEGIN PUBLIC KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nAAAA\n-----END PUBLIC KEY-----",
        p256 + "\n" + p256, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----",
        String(repeating: "A", count: 100_000),
    ])
    func `other text is not a key`(text: String) {
        #expect(PEMPublicKey(text) == nil)
    }

    private static let p256 = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE91SWsIvLmy0afvOEi+NfXvchbISm
        ktBkpgYnnIwBNGg2V0RMeMkshHqhYFckJCe0OZLhhKBni89K7cav/i20Kw==
        -----END PUBLIC KEY-----
        """
    private static let p384 = """
        -----BEGIN PUBLIC KEY-----
        MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAE/0ARkaPYuMuroBpSmdqzvs2eEtOKs0Xq
        CswntSeaerh2m2xhHamPm9iVXe5QECue75CJ7JevnRpfclhJpMCE21/fUqycPMGZ
        ZVO+17VnJIVm8hS4S6yEmGTAWcQ+uuLG
        -----END PUBLIC KEY-----
        """
    private static let rsa = """
        -----BEGIN PUBLIC KEY-----
        MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAhtwpCJv7ilYx+xTJdrkP
        LLdIOiTvl1yn5bQr/G5QN3peWj0evIO4yolLfyDywJ4usR+aP03/LlQk5CLft/NY
        PzFothcAj8lZnMsnyddvUCIvCMkU4mH5MOGpj52GuSaHbHvhVYvsuHcqMIFtcRTU
        QKql8OE9YLRryX9Lb4eC6Va82EBi/AEtFxUQIjg3AK9x8hDXSaaG4A2ncbUazvqh
        +j89VwwBQaFX2zoXGcBdIGM1bu5xpEf6TfWDcxsogrZ2mjNgGhXTebcFrXWtroKg
        ME/brHgz5SeZxrCayuw2aBGqyPHOqk+0e5m2YLeOAibHPIORy8xwq+Zix9DP2CXE
        oQIDAQAB
        -----END PUBLIC KEY-----
        """
    private static let rsaWith1024Bits = """
        -----BEGIN PUBLIC KEY-----
        MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDJhVZfNGl308Sug0+PWcsb6U+s
        I1KeHlJ0lzxbbhGQixxkzUnnzAbCv5L+CFiicboVTrzwBUF0o+VDPoBh1DCXFGMO
        OHwoU8psSKbS0brtJ7ajLUQOcL8N7C3tPAewFOogNke01Bwl0M6lmrBK4Ng/BqCt
        g10oLHoRM7Oy1Nj5kQIDAQAB
        -----END PUBLIC KEY-----
        """
    private static let ecdsaSignature =
        "3046022100ddfde208ccfd605e30c83c330938119dbd1d1ded463e4af571ef65e310189a1d022100a8240c3d7d"
        + "0581abc9d58218a7a0a74189283d89ed0fef15b9acf8d5a45cde5b"
    private static let pssSignature =
        "3c706b256a3025a06e443dce68aebc9a83199797996836df06d6c9770bd6e36e958555923024561124da38b39b"
        + "f93f99128251d3bcfbec1b37f2086f52287cde892fbba3309e5e9ebf2c0fe63254a2378a41ef8b948b3cac7a4c"
        + "d4e8f13653977c399d2c61326f687d0d90bb19e34e6986fc0b05333c93cb9cbab67fba0ed84028787449e58cf2"
        + "667b17dbe4fbde4d1530d3a7fe9ae2444df935c04853519004db2935b566da10b599b2de888850c0880e0619bd"
        + "072c33929853a06a0b9646c67790ee1a16886615521833ea159d87ec4d917bdd9f24a3310ae62e3329472bd1d8"
        + "91838a228ffe644048047d3ab4f15c83ee2ce83c9fb175cf8cb5a44be342b6"
    private static let pssSignatureWithLongSalt =
        "098924ae552f5f739c05249b208f28f4d4ec7ec732d30ea7fc16872a98c5faa8ad59f28e5e0651d7f2946b1b6c"
        + "9d39c0db259253d07b5a2bb355eb600cfa731eeb25f713e9a753a53680f6fb82e6659ef8cac525a92a99dfaea8"
        + "ee01461049876f62035140848fda8da752d94d981264d81ee7f82cb8d1d5a15fc8ebd8f453e3db5bc91aab4202"
        + "bc145459f424feb1e8da12e8c1cf77745f8ab47f96c0c5861ff175b8d77b986efd84ce5c61867b19fe4f989d45"
        + "61143152fd567329da97ffe5048268792733676e98c21437229b348a7e417b0b28417a9f62e3bdeb8508036ee0"
        + "e2814ac7b897eda351e34b4acb13fd641640ce2de6d6f1e353e98d43b16372"
    private static let pkcs1Signature =
        "6abd6c83356910ab3331b0989128a03231b3fd04d78ed87fa0d133b81600b076a5ad75d4b466ee668a2f6512ff"
        + "e2705771925075e8c03f4912195fdacdf1c5d6cdd8358ed1282239412e620c52faf8d1c621ac224d2af205fad6"
        + "be13c9d405b6534f14a2800c46e79c6f508f385a8ae3d40eef512da69bbecd6b1360a0b327d83282a81a7a6349"
        + "4e79363cf9c23ce10da8173afe959dc502defcf4c52761573cae629df65b046860d3722c05910a79bfeec16c9d"
        + "e6959ccecc4072ef4592c11a6cc2cab21bad8e77c4d83a8fce6992741b0c2f017e1168413066b5e44d3c550971"
        + "37331a27c8ce66f328441ca975647be110769683d45a222f534993506d9205"
    private static let p384Signature =
        "3065023100cf4990099231498494a69f547aa18403f0fd3ba072ee9cdeb30e4c6621e49810c12bf5a9a5b716b2"
        + "b03b523f35f94ba3023033456ef42ffca649fd8777019d1954e07e33d321dbcab3ad5c590e7fccf6fc1eca2cb8"
        + "e4a44e7b5374b737a0fbd0b5e7"
    private static let shortKeySignature =
        "65ac99e8d0cb517d63e6a2d35ecea0cfb3cd153533348a9c048f48cce12b98fad6be04f329e6883b1ced95b408"
        + "8fc0533bafacfc95088f98fbddbb98f8e137ed12d2926df8a153b6a1355c946d75658814ec9acb6844b50baaba"
        + "a393f079afd2cf61ad33eb9685fe438e788a0b61ae3867248cc2806f24630604ad9e86a2c0b3"
}
