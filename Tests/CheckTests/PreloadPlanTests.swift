import Bundles
import Digest
import Testing

@testable import Prefetch

@Suite struct PreloadPlanTests {
    private static let right = DigestStream.digest(.md5, of: [97].span)
    private static let wrong = DigestStream.digest(.md5, of: [98].span)

    private static func served(_ digest: Digest, isSound: Bool = true) -> PreloadPlan.StoredCopies.ServedBody
    {
        PreloadPlan.StoredCopies.ServedBody(digests: [digest], byteCount: 1, isSound: isSound)
    }

    /// The stored bodies, and the expected step: the served body, whether the site's own snapshot has it, and whether the
    /// right body is stored elsewhere.
    static let cases: [(PreloadPlan.StoredCopies, PreloadPlan.Step)] = [
        (.init(), .fetch(.new)),
        (.init(isStoredElsewhere: true), .adopt),
        (.init(served: served(right), isFromOwnSnapshot: true), .reuse),
        (.init(served: served(right)), .adopt),
        (.init(served: served(right, isSound: false), isFromOwnSnapshot: true), .fetch(.damaged)),
        (
            .init(served: served(right, isSound: false), isFromOwnSnapshot: true, isStoredElsewhere: true),
            .adopt
        ),
        (.init(served: served(wrong), isFromOwnSnapshot: true), .fetch(.differs)),
        (.init(served: served(wrong), isFromOwnSnapshot: true, isStoredElsewhere: true), .adopt),
        // The MD5 of the stored body has not been computed, so the body counts as different.
        (.init(served: .init(digests: [], byteCount: 1), isFromOwnSnapshot: true), .fetch(.differs)),
    ]

    @Test(arguments: cases)
    func `a bundle stored with the required body is not requested`(
        stored: PreloadPlan.StoredCopies, step: PreloadPlan.Step
    ) {
        let bundle = Bundle(reference: "/a.js", digests: [Self.right])
        #expect(PreloadPlan.step(bundle, stored) == step)
        #expect(PreloadPlan([(bundle, stored)]).isCurrent == (step == .reuse))
    }

    @Test
    func
        `a superseded response is adopted only if another bundle requires a new snapshot`()
    {
        let bundle = Bundle(reference: "/a.js", digests: [Self.right])
        let covered = PreloadPlan.StoredCopies(
            served: Self.served(Self.right), isFromOwnSnapshot: true, isSuperseded: true)
        #expect(PreloadPlan([(bundle, covered)]).steps == [.reuse])
        #expect(PreloadPlan([(bundle, covered), (bundle, .init())]).steps == [.adopt, .fetch(.new)])
    }

    @Test func `a bundle without a digest is always requested`() {
        let bundle = Bundle(reference: "/a.js", digests: [], byteCount: 1)
        #expect(PreloadPlan.step(bundle, .init()) == .fetch(.new))
        #expect(
            PreloadPlan.step(bundle, .init(served: Self.served(Self.right), isFromOwnSnapshot: true))
                == .fetch(.unproven))
    }

    @Test func `every digest and the size must match`() {
        let sha256 = DigestStream.digest(.sha256, of: [98].span)
        let both = Bundle(reference: "/a.js", digests: [Self.right, sha256])
        let version = PreloadPlan.StoredCopies.ServedBody(digests: [Self.right, sha256], byteCount: 1)
        #expect(PreloadPlan.step(both, .init(served: version, isFromOwnSnapshot: true)) == .reuse)
        let sized = Bundle(reference: "/a.js", digests: [Self.right], byteCount: 2)
        #expect(PreloadPlan.step(sized, .init(served: version, isFromOwnSnapshot: true)) == .fetch(.differs))
    }
}
