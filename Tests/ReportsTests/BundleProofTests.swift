import Digest
import Reports
import Testing

@Suite struct BundleProofTests {
    private static let key = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3"

    @Test(arguments: DigestAlgorithm.allCases, [nil, key])
    func `a stored proof is read again, with the text after it`(algorithm: DigestAlgorithm, signer: String?) {
        let proof = BundleProof(algorithm, signer: signer)
        for rest in [nil, "by another name; from a folder"] {
            let found = BundleProof.split(proof.text + (rest.map { "; \($0)" } ?? ""))
            #expect(found?.proof == proof)
            #expect(found?.rest == rest)
        }
    }

    @Test(arguments: [
        "", "; x", "by MD5, which detects damage, but not an attack", "sha257", "sha256, by RW",
        "the server answered 404",
    ])
    func `other details are no proof`(detail: String) {
        #expect(BundleProof.split(detail) == nil)
    }

    @Test func `people see a fingerprint of the key`() {
        #expect(
            BundleProof(.sha256, signer: Self.key).brief == "sha256, signed by RWQf6LRCGA9i53ml…73Y7GFO3")
        #expect(BundleProof(.md5, signer: nil).brief == "md5")
        #expect(BundleProof.fingerprint(ofKey: "no key") == "no key")
    }

    @Test func `a summary counts the bundles of each digest, the strongest first`() {
        #expect(BundleProof.summary(signer: nil) { _ in 0 } == nil)
        #expect(
            BundleProof.summary(signer: Self.key) { $0 == .md5 ? 2 : $0 == .sha512 ? 1 : 0 }
                == "sha512 (1), md5 (2), signed by RWQf6LRCGA9i53ml…73Y7GFO3")
    }
}
