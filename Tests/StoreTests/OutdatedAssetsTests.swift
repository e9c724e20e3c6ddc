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
}
