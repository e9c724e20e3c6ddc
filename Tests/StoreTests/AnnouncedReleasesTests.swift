import TestOrigin
import Testing
import Web

@testable import Store

/// Which releases of apps a collection keeps.
@Suite struct AnnouncedReleasesTests {
    private let store: StockedFolder

    init() throws {
        store = try StockedFolder()
        try store.folder.create()
        _ = try StoreWriter(store.folder)
    }

    @Test(arguments: [
        ("https://shop.app.invalid/12ab/js/a.js", "shop", "12ab"), ("https://a.app.invalid/1/", "a", "1"),
    ])
    func `the URL of a file names the app and the release`(href: String, app: String, release: String) throws
    {
        let url = try #require(AppURL(href))
        #expect(url.app == app && url.release == release && href.hasPrefix(url.base))
    }

    @Test(arguments: [
        "https://shop.app.invalid/12ab", "https://shop.app.invalid//a", "http://shop.app.invalid/1/a",
        "https://app.invalid/1/a", "https://.app.invalid/1/a", "https://shop.app.invalid.test/1/a", "",
        "/1/a",
    ])
    func `other URLs belong to no app`(href: String) { #expect(AppURL(href) == nil) }

    @Test func `a release is announced if a channel of its app names one of its files`() throws {
        let database = try ChannelDatabase(store.folder)
        let key = ChannelDatabase.Key(app: "shop", channel: "production")
        try database.change(key) { _ in
            .init(
                "{\"any\": [{\"thing\": \"https://shop.app.invalid/1/a\"}, \"https:\\/\\/shop.app.invalid\\/2\\/a\"]}"
            )
        }
        let releases = try AnnouncedReleases(in: store.folder)
        #expect(releases.contains("https://shop.app.invalid/1/b"))
        #expect(releases.contains("https://shop.app.invalid/2/b"))
        #expect(!releases.contains("https://shop.app.invalid/3/b"))
        #expect(!releases.contains("https://other.app.invalid/1/b"))
        #expect(releases.channels == ["shop": ["production"]])
        #expect(releases.files(ofApp: "shop").bases.count == 2 && releases.files(ofApp: "sho").urls.isEmpty)
        try database.change(key) { _ in .init("{\"any\": ") }
        let damaged = try AnnouncedReleases(in: store.folder)
        #expect(damaged.contains("https://shop.app.invalid/3/b"))
        #expect(!damaged.contains("https://other.app.invalid/1/b"))
    }

    @Test func `without the database of channels, all releases stay`() throws {
        guard !TestStore.isPostgreSQL else { return }
        let releases = try AnnouncedReleases(in: store.folder)
        #expect(releases.contains("https://shop.app.invalid/1/b") && releases.channels.isEmpty)
        #expect(!releases.contains("https://example.com/1/b"))
    }
}
