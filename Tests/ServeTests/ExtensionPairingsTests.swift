import Store
import TestOrigin
import Testing

@testable import Mirror
@testable import Portal

@Suite struct ExtensionPairingsTests {
    private static let origin = "chrome-extension://abcdefghijklmnopabcdefghijklmnop"

    @Test func `a pairing code works once, within its lifetime and its number of attempts`() {
        var code = PairingCode()
        func redeem(_ given: String, now: Int64) -> Bool { code.redeem(given, now: now) }
        #expect(!redeem("ABCD-EFGH", now: 0))
        code.offer("ABCD-EFGH", now: 0)
        #expect(code.current(now: 599) == "ABCD-EFGH" && code.current(now: 600) == nil)
        #expect(!redeem("ABCD-EFGH", now: 600))
        #expect(!redeem("", now: 1) && !redeem("ABCD", now: 1))
        #expect(redeem(" abcd efgh ", now: 1))
        #expect(!redeem("ABCD-EFGH", now: 1))
        code.offer("ABCD-EFGH", now: 0)
        for _ in 0..<PairingCode.maxTries { #expect(!redeem("ABCD-EFGX", now: 1)) }
        #expect(code.current(now: 1) == nil && !redeem("ABCD-EFGH", now: 1))
    }

    @Test func `codes and tokens are drawn at random`() {
        let codes = Set((0..<50).map { _ in PairingCode.makeCode() })
        #expect(codes.count == 50 && codes.allSatisfy { $0.utf8.count == 9 })
        #expect(
            PairingCode.makeToken().utf8.count == 64 && PairingCode.makeToken() != PairingCode.makeToken())
    }

    @Test func `pairings survive a restart, and only digests of tokens are stored`() throws {
        let shelf = try PortalShelf()
        let book = ExtensionPairings(shelf.folder)
        book.offerCode(now: 0)
        let code = try #require(book.currentCode(now: 0))
        let token = try #require(
            try book.pair(code, name: "Chromium\u{7}", origin: Self.origin, now: 1, date: 1_800_000_000))
        #expect(try book.pair(code, name: "", origin: Self.origin, now: 1, date: 0) == nil)
        let next = ExtensionPairings(shelf.folder)
        #expect(next.isPaired(token, origin: Self.origin))
        #expect(!next.isPaired(token, origin: Self.origin + "x") && !next.isPaired("", origin: Self.origin))
        #expect(next.paired.map(\.name) == ["Chromium"] && next.paired.map(\.number) == [1])
        let stored = String(decoding: shelf.folder.portalExtensions ?? [], as: UTF8.self)
        #expect(!stored.contains(token))
        try next.remove(1)
        #expect(!book.isPaired(token, origin: Self.origin))
    }

    @Test(arguments: [
        (origin, true), ("moz-extension://0f-1a", true), ("chrome-extension://", false),
        ("chrome-extension://A", false), ("http://a.test", false), ("null", false), ("", false),
        ("chrome-extension://a/b", false), ("xchrome-extension://a", false),
    ])
    func `extensions have origins of their own kind`(origin: String, isExtension: Bool) {
        #expect(ExtensionPairings.isExtension(origin) == isExtension)
    }
}
