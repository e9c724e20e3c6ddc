import Testing
import Web

/// Links that change something when they are requested.
@Suite struct ActionLinkTests {
    @Test(arguments: [
        "/admin/polls/1/delete/", "/pages/60/unpublish", "/pages/60/copy/", "/posts/delete/17",
        "/wiki?do=remove",
        "/?add-to-cart=5", "/index.php?title=A&action=rollback", "/item/3/mark_as_read", "/post/1/Approve.do",
        "/cart/%61dd-to-cart",
    ])
    func `a URL names an action`(target: String) throws {
        #expect(ActionLink.isNamed(by: try #require(WebURL("http://a.test" + target))))
    }

    @Test(arguments: [
        "/", "/docs/delete/files/on/linux", "/how-to-delete-a-branch.html", "/wiki/Copyright",
        "/tags/copying",
        "/search?q=how+to+delete", "/items/1/edit/", "/history", "/login",
    ])
    func `a URL names none`(target: String) throws {
        #expect(!ActionLink.isNamed(by: try #require(WebURL("http://a.test" + target))))
    }

    @Test(arguments: [
        "Delete", " delete\n", "Delete this post", "Entry delete", "Löschen", "Jetzt kaufen",
        "Supprimer la page",
        "удалить", "删除文章", "この記事を削除", "삭제", "ログアウト",
    ])
    func `a text names an action`(text: String) { #expect(ActionLink.isNamed(by: text)) }

    @Test(arguments: [
        "", "Deleted scenes", "How to delete a file from your disk", "Copyright", "Read more", "Edit",
        "About us",
        "Delete old snapshots with the command prune",
    ])
    func `a text names none`(text: String) { #expect(!ActionLink.isNamed(by: text)) }
}
