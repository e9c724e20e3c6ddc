import TestOrigin
import Testing
import Web

@testable import Store

/// An asset that no page of a snapshot needs any more is in the history of its URL, and not in listings and exports.
@Suite struct OutdatedAssetsTests {
    private let store: StockedFolder

    init() throws { store = try StockedFolder() }

    private func asset(_ href: String) throws -> NewResponse {
        var asset = try store.response(href, href)
        asset.role = 1
        return asset
    }

    /// The URLs that an export of a snapshot contains.
    private func exported(_ snapshot: Int64?) throws -> [String] {
        let site = try #require(try store.site())
        var hrefs: [String] = []
        try store.reader().eachVisibleResponse(ofSite: site.id, asOf: snapshot) { row in
            hrefs.append(row.response.href)
            return true
        }
        return hrefs
    }

    private func listed() throws -> [String] {
        let site = try #require(try store.site())
        var hrefs: [String] = []
        for wanted in [site.id, nil] {
            hrefs = []
            try store.reader().eachListedResponse(site: wanted) { row in
                hrefs.append(row.href)
                return true
            }
        }
        return hrefs
    }

    /// Stores two pages with a style sheet and images of their own and one that both need.
    private func storeFirst() throws {
        var urls: [String] = []
        try store.snapshot(
            [
                store.response("/", "start"), store.response("/b", "b"), asset("/b.css"), asset("/b.png"),
                asset("/both.png"), asset("/known-to-scripts.json"), asset("/start.png"),
            ],
            links: [
                NewLinks(
                    from: "/", pages: ["/b"], assets: ["/both.png", "/start.png"], numbering: &urls),
                NewLinks(from: "/b", assets: ["/b.css", "/both.png"], numbering: &urls),
                NewLinks(from: "/b.css", assets: ["/b.png"], numbering: &urls),
            ])
    }

    @Test func `assets that only a removed page needed are left out`() throws {
        try storeFirst()
        var urls: [String] = []
        try store.snapshot(
            [
                store.response("/", "start", fetched: 5), store.response("/b", nil, status: 404, fetched: 5),
            ],
            links: [NewLinks(from: "/", assets: ["/both.png", "/start.png"], numbering: &urls)])
        let rest = ["/", "/b", "/both.png", "/known-to-scripts.json", "/start.png"]
        #expect(try listed() == rest)
        #expect(try exported(nil) == rest)
        #expect(try exported(2) == rest)
        #expect(try exported(1).count == 7)
        #expect(try store.reader().response(for: "/b.png")?.status == 200)
    }

    @Test(arguments: [false, true])
    func `an asset of an earlier version of a page is left out, unless scripts may request it`(
        isRendered: Bool
    ) throws {
        try storeFirst()
        var responses = [try store.response("/", "changed", fetched: 5)]
        if isRendered {
            var text = try store.response("/", "text", fetched: 5)
            text.request = RequestKey.rendered[0]
            text.role = 2
            responses.append(text)
        }
        var urls: [String] = []
        try store.snapshot(
            responses, links: [NewLinks(from: "/", pages: ["/b"], assets: ["/both.png"], numbering: &urls)])
        let all = ["/", "/b", "/b.css", "/b.png", "/both.png", "/known-to-scripts.json", "/start.png"]
        #expect(try listed() == (isRendered ? all : Array(all.dropLast())))
    }

    /// Removes a snapshot, as a user does, and everything that is unreferenced then.
    private func drop(_ snapshot: Int64, excluding isExcluded: @escaping (String) -> Bool = { _ in false })
        throws
    {
        let writer = try StoreWriter(store.folder)
        writer.exclusions = { _ in isExcluded }
        try writer.drop(snapshot: snapshot, of: #require(try store.site()))
        _ = try writer.collect(CollectionOptions())
        #expect(try store.inspect().isSound)
    }

    private func stored() throws -> [String] {
        try store.column("SELECT DISTINCT url FROM larder_response ORDER BY 1")
    }

    @Test func `an outdated asset is removed with the last snapshot that has it`() throws {
        try storeFirst()
        var urls: [String] = []
        let links = [NewLinks(from: "/", pages: ["/b"], assets: ["/both.png"], numbering: &urls)]
        try store.snapshot([store.response("/", "changed", fetched: 5)], links: links)
        try drop(1)
        // A script may request what no link names. `/b` did not change, and needs its assets.
        #expect(try stored() == ["/", "/b", "/b.css", "/b.png", "/both.png", "/known-to-scripts.json"])
        #expect(try exported(nil) == stored())
        #expect(try store.site()?.snapshots.map(\.id) == [2])
    }

    @Test func `an asset that a later snapshot needs again stays with it`() throws {
        try storeFirst()
        var urls: [String] = []
        try store.snapshot(
            [store.response("/", "changed", fetched: 5)],
            links: [NewLinks(from: "/", pages: ["/b"], assets: ["/both.png"], numbering: &urls)])
        // The page is as in the first snapshot again, but the update could not fetch its image.
        try store.snapshot(
            [store.response("/", "start again", fetched: 6)],
            links: [
                NewLinks(from: "/", pages: ["/b"], assets: ["/both.png", "/start.png"], numbering: &urls)
            ])
        try drop(1)
        #expect(try stored().contains("/start.png"))
        #expect(try exported(3).contains("/start.png"))
    }

    @Test func `an excluded response is removed with the last snapshot that has it, unless it is pinned`()
        throws
    {
        try storeFirst()
        for edition in ["second", "third"] {
            var urls: [String] = []
            try store.snapshot(
                [
                    store.response("/", edition, fetched: 5), store.response("/b", "b", fetched: 5),
                    asset("/b.css"),
                ],
                links: [
                    NewLinks(
                        from: "/", pages: ["/b"], assets: ["/both.png", "/start.png"], numbering: &urls)
                ])
        }
        try StoreWriter(store.folder).add(Pin(.url, "/start.png"), now: 1)
        let excluded: Set = ["/b.css", "/both.png", "/known-to-scripts.json", "/start.png"]
        let before = try store.site()?.snapshots.last?.responseCount
        try drop(1, excluding: excluded.contains)
        // The live snapshot confirmed `/b.css`.
        #expect(try stored() == ["/", "/b", "/b.css", "/b.png", "/start.png"])
        #expect(try store.site()?.snapshots.last?.responseCount == before)
    }

    @Test func `an undo brings back the responses that were removed with a snapshot`() throws {
        try storeFirst()
        let links: [NewLinks] = []
        try store.snapshot([store.response("/", "changed", fetched: 5)], links: links)
        let before = try (stored(), exported(1), exported(2))
        let writer = try StoreWriter(store.folder)
        writer.exclusions = { _ in { $0 == "/both.png" } }
        try writer.drop(snapshot: 1, of: #require(try store.site()))
        #expect(try !stored().contains("/both.png"))
        #expect(try writer.undoRemoval() != nil)
        #expect(try stored() == before.0 && exported(1) == before.1 && exported(2) == before.2)
    }
}
