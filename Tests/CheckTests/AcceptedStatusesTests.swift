import Testing

@testable import Check

@Suite struct AcceptedStatusesTests {
    @Test(
        arguments: [
            ("403", [403], [402, 404]), ("403,500", [403, 500], [404, 501]),
            ("200..=299,403", [200, 299, 403], [300]),
            ("500..600", [500, 599], [499, 600]), ("500..", [500, 999], [499]),
            ("..=299", [100, 299], [300]),
            ("..", [100, 999], [1000]), ("403, 429", [403, 429], [404]), ("100..=999", [100, 999], []),
            ("500..1000", [999], []),
        ] as [(String, [Int], [Int])])
    func `a list of statuses and ranges is read`(text: String, accepted: [Int], others: [Int]) throws {
        let statuses = try #require(AcceptedStatuses(text))
        #expect(accepted.allSatisfy { statuses.contains($0) })
        #expect(!others.contains { statuses.contains($0) })
    }

    @Test(arguments: [
        "", ",", "403,", "x", "40", "99", "1000", "0403", "-403", "+403", "300..=200", "300..300", "..=",
        "200..=", "200...299", "200-299", "4xx", "500..1001", "500..=1000", "４０３",
    ])
    func `anything else is refused`(text: String) {
        #expect(AcceptedStatuses(text) == nil)
    }

    @Test func `no status is accepted by default`() {
        #expect(!(100...999).contains { AcceptedStatuses().contains($0) })
    }
}
