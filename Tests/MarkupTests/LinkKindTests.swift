import Markup
import Testing

struct LinkKindTests {
    /// The number of a kind is stored and determines its role; its use by a page is listed by name. Both must agree.
    @Test(arguments: LinkKind.allCases)
    func `assets and frames are parts of a page, other kinds are not`(_ kind: LinkKind) {
        #expect(kind.isPartOfPage == (kind.role == .asset || kind == .frame))
    }

    @Test(arguments: LinkKind.allCases)
    func `only assets load differently in a page that is opened as a file`(_ kind: LinkKind) {
        #expect(kind.fileLoading == .direct || kind.role == .asset)
    }
}
