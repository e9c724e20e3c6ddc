import Bundles
import Digest
import Testing

@testable import Prefetch

@Suite struct PreloadPlanTests {
    private static let right = DigestStream.digest(.md5, of: [97].span)
    private static let wrong = DigestStream.digest(.md5, of: [98].span)

    private static func shown(_ digest: Digest, isSound: Bool = true) -> PreloadPlan.Holding.Version {
        PreloadPlan.Holding.Version(digests: [digest], byteCount: 1, isSound: isSound)
    }

    /// What readers see, whether the site itself shows it, whether another snapshot has the right one; and what
    /// is to be done.
    static let cases: [(PreloadPlan.Holding, PreloadPlan.Step)] = [
        (.init(), .fetch(.new)),
        (.init(isElsewhere: true), .adopt),
        (.init(shown: shown(right), isOwn: true), .reuse),
        (.init(shown: shown(right)), .adopt),
        (.init(shown: shown(right, isSound: false), isOwn: true), .fetch(.damaged)),
        (.init(shown: shown(right, isSound: false), isOwn: true, isElsewhere: true), .adopt),
        (.init(shown: shown(wrong), isOwn: true), .fetch(.differs)),
        (.init(shown: shown(wrong), isOwn: true, isElsewhere: true), .adopt),
        // Nobody has computed the MD5 of what is held: nothing is known of it.
        (.init(shown: .init(digests: [], byteCount: 1), isOwn: true), .fetch(.differs)),
    ]

    @Test(arguments: cases)
    func `what is held as it has to be is not asked for`(holding: PreloadPlan.Holding, step: PreloadPlan.Step)
    {
        let bundle = Bundle(reference: "/a.js", digests: [Self.right])
        #expect(PreloadPlan.step(bundle, holding) == step)
        #expect(PreloadPlan([(bundle, holding)]).isCurrent == (step == .reuse))
    }

    @Test
    func
        `what a snapshot that is not served would bring to light is adopted, where there is to be another snapshot`()
    {
        let bundle = Bundle(reference: "/a.js", digests: [Self.right])
        let covered = PreloadPlan.Holding(shown: Self.shown(Self.right), isOwn: true, isCovered: true)
        #expect(PreloadPlan([(bundle, covered)]).steps == [.reuse])
        #expect(PreloadPlan([(bundle, covered), (bundle, .init())]).steps == [.adopt, .fetch(.new)])
    }

    @Test func `what no digest speaks for is always asked about`() {
        let bundle = Bundle(reference: "/a.js", digests: [], byteCount: 1)
        #expect(PreloadPlan.step(bundle, .init()) == .fetch(.new))
        #expect(
            PreloadPlan.step(bundle, .init(shown: Self.shown(Self.right), isOwn: true)) == .fetch(.unproven))
    }

    @Test func `every digest has to hold, and the size`() {
        let sha256 = DigestStream.digest(.sha256, of: [98].span)
        let both = Bundle(reference: "/a.js", digests: [Self.right, sha256])
        let version = PreloadPlan.Holding.Version(digests: [Self.right, sha256], byteCount: 1)
        #expect(PreloadPlan.step(both, .init(shown: version, isOwn: true)) == .reuse)
        let sized = Bundle(reference: "/a.js", digests: [Self.right], byteCount: 2)
        #expect(PreloadPlan.step(sized, .init(shown: version, isOwn: true)) == .fetch(.differs))
    }
}
