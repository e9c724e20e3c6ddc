import Testing

@testable import Browser

/// Views of one document that need nothing new from the server.
@Suite struct RepeatedViewsTests {
    private static func show(
        _ fragments: some Sequence<String>, in views: inout RepeatedViews,
        hasNews: (String) -> Bool = { _ in false }
    ) -> [String] {
        var shown: [String] = []
        for fragment in fragments where !views.skips(fragment) {
            shown.append(fragment)
            let due = views.didShow(fragment, hasNews: hasNews(fragment))
            for fragment in due {
                shown.append(fragment)
                #expect(views.didShow(fragment, hasNews: hasNews(fragment)) == [])
            }
        }
        return shown
    }

    @Test func `only some of many views that need nothing new are shown`() {
        var views = RepeatedViews()
        let shown = Self.show((0..<100).map { "#/item/\($0)" }, in: &views)
        let samples = stride(from: 23, to: 100, by: 8)
        #expect(shown == (Array(0..<16) + samples).map { "#/item/\($0)" })
        #expect(views.skippedCount == 100 - shown.count)
    }

    @Test func `all views are shown if each needs something new`() {
        var views = RepeatedViews()
        let fragments = (0..<100).map { "#/item/\($0)" }
        #expect(Self.show(fragments, in: &views, hasNews: { _ in true }) == fragments)
    }

    @Test func `views that were passed over are shown after one like them needs something new`() {
        var views = RepeatedViews()
        let fragments = (0..<34).map { "#/item/\($0)" }
        let shown = Self.show(fragments, in: &views, hasNews: { $0 == "#/item/31" })
        #expect(Set(shown) == Set(fragments))
        #expect(views.skippedCount == 0)
    }

    @Test func `views of another kind are shown`() {
        var views = RepeatedViews()
        _ = Self.show((0..<20).map { "#/item/\($0)" }, in: &views)
        let skipped = ["#/about", "#/item/1/history", "#/item/20"].filter { views.skips($0) }
        #expect(skipped == ["#/item/20"])
    }

    @Test(arguments: [
        ("#/item/17", "#/item 3"), ("#/item/17?tab=1#top", "#/item 3"), ("#/item/17/edit", "#/item 4"),
        ("#!/about", "#!/about 2"), ("#/", "# 1"), ("#!", "#! 1"),
    ])
    func `the kind of a view is the first part of its path and the number of parts`(
        fragment: String, kind: String
    ) {
        #expect(RepeatedViews.kind(of: fragment) == kind)
    }

    @Test(arguments: [("#/api#methods", "#/api"), ("#/api", "#/api"), ("##", "#"), ("#", "#"), ("", "")])
    func `the name of a place in a view is no part of the view`(fragment: String, view: String) {
        #expect(RepeatedViews.viewName(of: fragment) == view)
    }

    @Test(arguments: [
        ("#/settings?returnTo=%2Fitem%2F17", "#/settings"),
        ("#/list?page=2&returnTo=%2Fa%3Fb", "#/list?page=2"), ("#!/list?next=/a#top", "#!/list"),
        ("#!list?next=/a", "#!list?next=/a"), ("#/files?path=%2Fa", "#/files?path=%2Fa"),
        ("#/list?page=2&page=3", "#/list?page=2&page=3"), ("#/a%zz?returnTo=/b", "#/a%zz"),
        ("#/api#methods", "#/api"), ("#/c?", "#/c?"), ("#", "#"), ("", ""),
    ])
    func `the identity of a view has no place and no page to return to`(fragment: String, view: String) {
        #expect(RepeatedViews.identity(of: fragment) == view)
    }

    @Test(arguments: [
        ("http://a.test/login?next=/a#top", "http://a.test/login"),
        ("http://a.test/?a=b#/c", "http://a.test/?a=b"),
        ("http://a.test/#/c?returnTo=/d", "#/c"), ("http://a.test/#/c#d", "#/c"), ("http://a.test/", ""),
        ("http://a.test/old/#/c", "http://a.test/old/"), ("", ""),
    ])
    func `the identity of a link has a view only if it is one of the document`(link: String, target: String) {
        #expect(RepeatedViews.identity(ofLink: link, in: "http://a.test/") == target)
    }
}
