/// Recognises links that change something on the server when they are requested: a crawl with the user's login must
/// not follow them. Servers should change nothing on GET, but many do.
package enum ActionLink {
    /// Whether a part of the path, or a word of the query, is the name of such an action.
    package static func isNamed(by url: WebURL) -> Bool {
        let parts = url.path.utf8.split(separator: UInt8(ascii: "/"))
        // An action may be followed by the number of its object: /delete/17.
        for part in parts.suffix(2) {
            let name = part.prefix { $0 != UInt8(ascii: ".") && $0 != UInt8(ascii: ";") }
            if isAction(name) { return true }
        }
        guard let query = url.query else { return false }
        return query.utf8.split { [0x26, 0x3D, 0x3A].contains($0) }.contains { isAction($0) }
    }

    /// Whether the text of a link says that it does something: a few words that begin or end with the name of an
    /// action. A longer text is rather the title of a page.
    package static func isNamed(by text: String) -> Bool {
        let words = text.lowercased().split { $0.isWhitespace || $0 == "\u{A0}" }
        guard (1...wordLimit).contains(words.count), text.utf8.count <= textLimit else { return false }
        let plain = words.joined(separator: " ")
        return verbs.contains { verb in
            if verb.utf8.allSatisfy({ $0 >= 0x80 }), !verb.contains(where: \.isCased) {
                return plain.contains(verb)
            }
            return plain == verb || plain.hasPrefix(verb + " ") || plain.hasSuffix(" " + verb)
        }
    }

    private static let wordLimit = 4
    private static let textLimit = 120

    private static func isAction(_ name: some Collection<UInt8>) -> Bool {
        guard (3...nameLimit).contains(name.count) else { return false }
        let plain = [UInt8](percentDecoding: Array(name).span).filter { !separators.contains($0) }
        return names.contains(String(decoding: plain, as: UTF8.self).lowercased())
    }

    private static let nameLimit = 64
    private static let separators = "-_+ ".utf8

    /// Names of actions in URLs, without separators. They are English in nearly all applications.
    private static let names: Set<String> = [
        "delete", "del", "remove", "destroy", "erase", "trash", "untrash", "purge", "deletepost",
        "deletecomment",
        "deleteitem", "deletepage", "confirmdelete", "dodelete", "removeitem", "removefromcart", "unpublish",
        "publish",
        "copy", "duplicate", "clone", "approve", "unapprove", "disapprove", "reject", "revoke", "revert",
        "rollback",
        "undelete", "restore", "archive", "unarchive", "buy", "buynow", "purchase", "addtocart", "emptycart",
        "checkout",
        "subscribe", "unsubscribe", "vote", "upvote", "downvote", "voteup", "votedown", "like", "unlike",
        "dislike",
        "follow", "unfollow", "watch", "unwatch", "star", "unstar", "favorite", "unfavorite", "ban", "unban",
        "block",
        "unblock", "mute", "unmute", "kick", "lock", "unlock", "pin", "unpin", "close", "reopen", "markread",
        "markasread", "markallread", "markallasread", "markunread", "dismiss", "activate", "deactivate",
        "enable",
        "disable", "install", "uninstall", "reindex", "rebuild", "restart", "shutdown", "reboot", "reset",
        "regenerate",
        "impersonate", "hijack", "switchuser", "rollbackto", "cancel", "accept", "decline", "leave",
    ]

    /// Names of actions in the texts of links: delete, remove, unpublish, copy, approve, buy, subscribe, revoke and
    /// log out, in 21 languages.
    private static let verbs: [String] = [
        "delete", "remove", "unpublish", "copy", "duplicate", "approve", "reject", "buy", "buy now",
        "purchase",
        "subscribe", "unsubscribe", "revoke", "log out", "logout", "sign out", "add to cart",
        "delete forever",
        "löschen", "entfernen", "kopieren", "duplizieren", "genehmigen", "ablehnen", "kaufen", "jetzt kaufen",
        "abonnieren", "widerrufen", "abmelden", "ausloggen", "in den warenkorb", "nicht mehr veröffentlichen",
        "supprimer", "retirer", "enlever", "dépublier", "copier", "dupliquer", "approuver", "rejeter",
        "acheter",
        "s'abonner", "se désabonner", "révoquer", "se déconnecter", "déconnexion", "ajouter au panier",
        "eliminar", "borrar", "quitar", "despublicar", "copiar", "duplicar", "aprobar", "rechazar", "comprar",
        "suscribirse", "revocar", "cerrar sesión", "añadir al carrito",
        "excluir", "apagar", "remover", "aprovar", "rejeitar", "assinar", "revogar", "sair",
        "terminar sessão",
        "elimina", "rimuovi", "cancella", "copia", "duplica", "approva", "rifiuta", "acquista", "compra",
        "iscriviti",
        "revoca", "esci", "disconnetti", "aggiungi al carrello",
        "verwijderen", "verwijder", "kopiëren", "dupliceren", "goedkeuren", "afwijzen", "kopen", "abonneren",
        "intrekken", "uitloggen", "afmelden",
        "radera", "ta bort", "kopiera", "duplicera", "godkänn", "avvisa", "köp", "prenumerera", "återkalla",
        "logga ut",
        "slet", "fjern", "kopiér", "kopier", "dupliker", "godkend", "afvis", "køb", "abonner", "tilbagekald",
        "log ud",
        "slett", "godkjenn", "avvis", "kjøp", "tilbakekall", "logg ut",
        "poista", "kopioi", "monista", "hyväksy", "hylkää", "osta", "tilaa", "peru", "kirjaudu ulos",
        "usuń", "skasuj", "kopiuj", "powiel", "zatwierdź", "odrzuć", "kup", "kup teraz", "subskrybuj",
        "cofnij", "wyloguj",
        "wyloguj się", "smazat", "odstranit", "kopírovat", "duplikovat", "schválit", "odmítnout", "koupit",
        "odebírat",
        "odvolat", "odhlásit", "odhlásit se",
        "törlés", "eltávolítás", "másolás", "jóváhagyás", "elutasítás", "vásárlás", "feliratkozás",
        "visszavonás",
        "kijelentkezés",
        "sil", "kaldır", "kopyala", "çoğalt", "onayla", "reddet", "satın al", "abone ol", "iptal et",
        "çıkış yap",
        "удалить", "убрать", "копировать", "дублировать", "одобрить", "отклонить", "купить", "подписаться",
        "отписаться",
        "отозвать", "выйти",
        "видалити", "прибрати", "копіювати", "схвалити", "відхилити", "купити", "підписатися", "відкликати",
        "вийти",
        "διαγραφή", "αφαίρεση", "αντιγραφή", "έγκριση", "απόρριψη", "αγορά", "εγγραφή", "ανάκληση",
        "αποσύνδεση",
        "حذف", "إزالة", "نسخ", "موافقة", "رفض", "شراء", "اشتراك", "إلغاء", "تسجيل الخروج",
        "删除", "刪除", "移除", "取消发布", "复制", "複製", "批准", "拒绝", "购买", "購買", "订阅", "訂閱", "撤销", "撤銷", "退出登录", "登出",
        "注销",
        "削除", "複製する", "コピー", "承認", "却下", "購入", "購読", "取り消す", "ログアウト",
        "삭제", "제거", "복사", "복제", "승인", "거부", "구매", "구독", "철회", "로그아웃",
        "xóa", "sao chép", "phê duyệt", "từ chối", "mua ngay", "đăng xuất",
        "hapus", "salin", "setujui", "tolak", "beli", "langganan", "cabut", "keluar",
    ]
}
