import Testing
import Web

/// Links that change something on the server when they are requested.
@Suite struct ActionLinkTests {
    @Test(arguments: [
        "/admin/polls/1/delete/", "/pages/60/unpublish", "/pages/60/copy/", "/posts/delete/17",
        "/wiki?do=remove",
        "/?add-to-cart=5", "/index.php?title=A&action=rollback", "/item/3/mark_as_read", "/post/1/Approve.do",
        "/checkout/cart/delete/id/5", "/wishlist/index/remove/item/5/", "/delete/17/confirm",
        "/deleteUser?id=3",
        "/user_delete.php?id=3", "/list?delete_id=5", "/list?delete[]=5", "/list?action=delete-selected",
        "/v1/items/17:delete", "/items/17/archive", "/users/3/password-reset/", "/partners/1/users/3/link/",
        "/topic/jam-and-tea-17/move/", "/topic/jam-17/change/sticky/", "/topic/17/change/announce",
        "/track/mark/forums/3/", "/admin/workflows/disable/3/", "/admin/workflows/tasks/enable/3/",
        "/admin/bulk/wagtailcore/page/publish/?id=5", "/admin/bulk/wagtailcore/page/move/",
        "/users/activate/7",
        "/admin/bulk/auth/user/set_active_state/",
    ])
    func `a URL names an action`(target: String) throws {
        #expect(ActionLink.isActionURL(try #require(WebURL("http://a.test" + target))))
    }

    @Test(arguments: [
        "/", "/docs/delete/files/on/linux", "/how-to-delete-a-branch.html", "/wiki/Copyright",
        "/tags/copying",
        "/search?q=how+to+delete", "/items/1/edit/", "/history", "/login", "/archive/2020",
        "/docs/delete-files.html",
        "/news/archive/spring-report", "/docs/install/", "/docs/install/linux.html", "/git/clone",
        "/watch?v=abc",
        "/block/800000", "/star/sirius", "/link/building", "/join", "/index.php?title=Archive",
        "/man.cgi?query=clone", "/search?q=copy", "/guide-2/install", "/topic/jam-17/post/17",
        "/authors/mark/3",
        "/docs/disable-logging/", "/docs/disable/", "/docs/enable/ssl/", "/admin/workflows/edit/3/",
        "/bulk/flour/rye", "/publish/2020/spring", "/docs/bulk-load/", "/cancel/culture",
        "/topic/jam-and-tea-17/move/on", "/app/model/5/change/",
    ])
    func `a URL names no action`(target: String) throws {
        #expect(!ActionLink.isActionURL(try #require(WebURL("http://a.test" + target))))
    }

    @Test(arguments: [
        "Delete", " delete\n", "Delete this post", "Entry delete", "Löschen", "Jetzt kaufen",
        "Supprimer la page",
        "удалить", "删除", "削除", "삭제", "ログアウト", "Subscribe", "Mark all as read", "Lock topic",
        "Disable", "Deaktivieren", "Activer", "無効化", "Poista käytöstä", "Publish",
    ])
    func `a text names an action`(text: String) { #expect(ActionLink.isActionText(text)) }

    @Test(arguments: [
        "", "Deleted scenes", "How to delete a file from your disk", "Copyright", "Read more", "Edit",
        "About us",
        "Delete old snapshots with the command prune", "Peru", "Copy editing guide", "Buy local food",
        "How to unsubscribe", "MySQL主从复制原理详解", "JavaScript数组删除元素的方法", "コピー機の選び方", "Mark Twain",
        "Lock picking", "Disable logging", "How to enable TLS", "Publishers", "Activate your card",
    ])
    func `a text names no action`(text: String) { #expect(!ActionLink.isActionText(text)) }
}
