/// Recognizes links that change something on the server when they are requested, such as "delete". A crawl with the
/// user's login must not follow them. A GET request should change nothing (RFC 9110, section 9.2.1), but on many
/// servers it does.
package enum ActionLink {
    /// Whether the path or the query of a URL names an action.
    ///
    /// Some words name only actions (`/items/17/delete`, `?deleteUser=3`). Others are also names of pages, such as
    /// "archive": they count if they follow the number of an object, or if they are the value of a parameter such as
    /// `action`.
    package static func isActionURL(_ url: WebURL) -> Bool {
        let parts = url.path.split(separator: "/").map { percentDecode($0.utf8) }
        for (place, part) in parts.enumerated() {
            let words = words(of: part.prefix { $0 != "." })
            let isAfterObject = place > 0 && isObject(parts[place - 1])
            // /topic/jam-and-tea-17/change/sticky
            let isChange =
                place > 1 && parts[place - 1] == "change"
                && (isObject(parts[place - 2]) || endsInNumber(parts[place - 2]))
            // /delete/17, /delete/user/17
            let isBeforeObject = parts[(place + 1)...].prefix(2).contains(where: isObject)
            // The name of an article may contain any word.
            let isArticle = words.count > 3 || part.utf8.count > 32 || part.hasSuffix(".html")
            let isNearEnd = place + 2 >= parts.count || isBeforeObject || isAfterObject
            if !isArticle, isNearEnd, words.contains(where: isUnambiguous) { return true }
            // /workflows/disable/3
            let isBeforeLast = place + 2 == parts.count && isObject(parts[place + 1])
            if isBeforeLast, actionsBeforeObjects.contains(words.joined()) { return true }
            // /bulk/pages/publish
            let isBulk = place + 1 == parts.count && parts[..<place].contains { bulkNames.contains($0) }
            if isAfterObject || isChange || isBulk, ambiguous.contains(words.joined()) { return true }
            if isBulk, let verb = words.first, verbsInBulk.contains(verb) { return true }
            // /topic/jam-and-tea-17/move
            if place > 0, place + 1 == parts.count, actionsOnNamedObjects.contains(words.joined()),
                endsInNumber(parts[place - 1])
            {
                return true
            }
            // /mark/forums/3
            if part == "mark", isBeforeObject, place + 1 < parts.count, markedNouns.contains(parts[place + 1])
            {
                return true
            }
        }
        guard let query = url.query else { return false }
        return query.utf8.split { $0 == 0x26 || $0 == 0x3B }.contains { isAction(parameter: $0) }
    }

    /// Whether the name or the value of a query parameter is an action.
    private static func isAction(parameter: Substring.UTF8View.SubSequence) -> Bool {
        let name = words(of: percentDecode(parameter.prefix { $0 != 0x3D })[...])
        if name.count <= 3, name.contains(where: isUnambiguous) || name == ["add", "to", "cart"] {
            return true
        }
        guard let last = name.last, actionParameters.contains(last) else { return false }
        let value = words(of: percentDecode(parameter.drop { $0 != 0x3D }.dropFirst())[...])
        return value.count <= 3
            && (value.contains(where: isUnambiguous) || value.contains { ambiguous.contains($0) }
                || ambiguous.contains(value.joined()))
    }

    /// The text of a part of a URL without percent-encoding.
    private static func percentDecode(_ text: some Collection<UInt8>) -> String {
        String(decoding: [UInt8](percentDecoding: Array(text.prefix(maxPartBytes)).span), as: UTF8.self)
    }

    /// The rest of a longer part of a URL is ignored.
    private static let maxPartBytes = 200

    /// The words of a name in lower case: `deleteUser`, `delete-user`, `delete_user` and `17:delete` have two.
    private static func words(of name: Substring) -> [String] {
        var words: [String] = []
        var word = ""
        var wasLower = false
        for character in name {
            if character.isLetter || character.isNumber {
                if character.isUppercase, wasLower, !word.isEmpty {
                    words.append(word)
                    word = ""
                }
                word += character.lowercased()
                wasLower = character.isLowercase
            } else if !word.isEmpty {
                words.append(word)
                word = ""
            }
        }
        if !word.isEmpty { words.append(word) }
        return words
    }

    /// Whether a part of a path is the number or the key of an object.
    private static func isObject(_ part: String) -> Bool {
        let text = part.utf8
        return !text.isEmpty && text.contains(where: \.isASCIIDigit)
            && text.allSatisfy { $0.isASCIIDigit || $0 == 0x2D || 0x61...0x66 ~= $0 | 0x20 }
    }

    /// Whether a part of a path is the name of an object with its number, such as `jam-and-tea-17`.
    private static func endsInNumber(_ part: String) -> Bool {
        let number = part.utf8.reversed().prefix { $0.isASCIIDigit }
        return !number.isEmpty && part.utf8.dropLast(number.count).last == UInt8(ascii: "-")
    }

    private static func isUnambiguous(_ word: String) -> Bool { unambiguous.contains(word) }

    /// Words that name only actions. They are English in nearly all applications.
    private static let unambiguous: Set<String> = [
        "delete", "deleteall", "deletepost", "remove", "destroy", "erase", "purge", "trash", "untrash",
        "unpublish",
        "unapprove", "disapprove", "undelete", "unsubscribe", "unfollow", "unlike", "unwatch", "unstar",
        "unban",
        "unblock", "upvote", "downvote", "markread", "deactivate", "impersonate", "trashcomment",
        "deletecomment",
    ]

    /// Words that name actions on an object, and pages elsewhere.
    private static let ambiguous: Set<String> = [
        "publish", "copy", "duplicate", "clone", "approve", "reject", "revoke", "revert", "rollback",
        "restore",
        "archive", "unarchive", "buy", "buynow", "purchase", "subscribe", "vote", "like", "dislike", "follow",
        "watch", "star", "favorite", "ban", "block", "mute", "kick", "lock", "unlock", "pin", "unpin",
        "close", "reopen",
        "markasread", "markallread", "markallasread", "markunread", "dismiss", "activate", "enable",
        "disable",
        "install", "uninstall", "reindex", "rebuild", "restart", "shutdown", "reboot", "reset", "regenerate",
        "cancel", "accept", "decline", "leave", "addtocart", "emptycart", "checkout", "del",
        "toggle", "resend", "retry", "rerun", "trigger", "deploy", "sync", "flag", "unflag", "join", "hide",
        "unhide",
        "promote", "demote", "link", "unlink", "moveup", "movedown", "passwordreset", "resetpassword",
        "announce", "merge", "move", "split", "sticky", "unsticky",
    ]

    /// Words that name actions also after the name of an object with its number. Others may be chapters: `/guide-2/install`.
    private static let actionsOnNamedObjects: Set<String> = [
        "approve", "ban", "close", "copy", "disapprove", "lock", "merge", "move", "pin", "reopen", "split",
        "unlock",
        "unpin", "vote",
    ]

    /// Words that name actions also before the number of an object. Others are names of pages: `/archive/2020`.
    private static let actionsBeforeObjects: Set<String> = [
        "activate", "approve", "ban", "cancel", "clone", "decline", "disable", "dismiss", "duplicate",
        "enable",
        "kick", "lock", "publish", "reject", "reopen", "resend", "restart", "restore", "revoke", "toggle",
        "uninstall", "unlock",
    ]

    /// Folders of actions on several objects at once.
    private static let bulkNames: Set<String> = [
        "batch", "bulk", "bulk-action", "bulk-actions", "bulk_action", "bulk_actions",
    ]

    /// The first words of further actions in such folders: `/bulk/users/assign_role`.
    private static let verbsInBulk: Set<String> = ["add", "assign", "change", "edit", "set", "update"]

    /// The objects that a forum marks as read.
    private static let markedNouns: Set<String> = [
        "all", "forum", "forums", "read", "topic", "topics", "unread",
    ]

    /// The last words of parameters whose values name actions.
    private static let actionParameters: Set<String> = [
        "action", "act", "do", "op", "cmd", "command", "method", "task", "mode",
    ]

    /// Whether the text of a link names an action: it is one of `verbs`, or a verb such as "delete" with at most two
    /// other words. A longer text is rather the title of a page.
    package static func isActionText(_ text: String) -> Bool {
        guard text.utf8.count <= maxTextBytes else { return false }
        let words = text.lowercased().split { $0.isWhitespace || $0 == "\u{A0}" }
        guard let first = words.first, let last = words.last, words.count <= 4 else { return false }
        if verbs.contains(words.joined(separator: " ")) { return true }
        guard (2...3).contains(words.count) else { return false }
        return deletingVerbs.contains(String(first))
            || deletingVerbs.contains(String(last)) && words.count == 2
    }

    /// Longer texts are not examined.
    private static let maxTextBytes = 120

    /// Words that delete something, whatever follows.
    private static let deletingVerbs: Set<String> = [
        "delete", "remove", "unpublish", "löschen", "lösche", "supprimer", "borrar", "excluir", "apagar",
        "verwijderen",
        "radera", "slett", "slet", "poista", "usuń", "smazat", "odstranit", "удалить", "видалити",
    ]

    /// Names of actions in the texts of links: delete, remove, publish, unpublish, enable, disable, copy, approve, buy,
    /// subscribe, revoke and log out, in 21 languages.
    package static let verbs: Set<String> = [
        "activate", "deactivate", "disable", "enable", "publish",
        "aktivieren", "deaktivieren", "veröffentlichen", "activer", "désactiver", "publier",
        "activar", "desactivar", "habilitar", "deshabilitar", "publicar", "ativar", "desativar",
        "desabilitar",
        "attiva", "disattiva", "abilita", "disabilita", "pubblica",
        "inschakelen", "uitschakelen", "activeren", "deactiveren", "publiceren",
        "aktivera", "inaktivera", "avaktivera", "publicera", "aktiver", "aktivér", "deaktiver", "udgiv",
        "publiser",
        "ota käyttöön", "poista käytöstä", "julkaise", "włącz", "wyłącz", "aktywuj", "dezaktywuj",
        "opublikuj",
        "aktivovat", "deaktivovat", "povolit", "zakázat", "publikovat", "engedélyezés", "letiltás",
        "aktiválás", "közzététel", "etkinleştir", "devre dışı bırak", "yayınla",
        "включить", "отключить", "активировать", "деактивировать", "опубликовать",
        "увімкнути", "вимкнути", "активувати", "деактивувати", "опублікувати",
        "ενεργοποίηση", "απενεργοποίηση", "تفعيل", "تعطيل",
        "启用", "啟用", "禁用", "停用", "激活", "发布", "發佈", "有効にする", "有効化", "無効にする", "無効化", "公開する",
        "활성화", "비활성화", "kích hoạt", "vô hiệu hóa", "xuất bản", "aktifkan", "nonaktifkan", "terbitkan",
        "delete", "remove", "unpublish", "copy", "duplicate", "approve", "reject", "buy", "buy now",
        "purchase",
        "subscribe", "unsubscribe", "revoke", "log out", "logout", "sign out", "add to cart",
        "delete forever", "mark all as read", "mark all read", "mark as read", "mark forums read",
        "mark forums as read", "mark topics read", "mark topics as read", "lock topic", "unlock topic",
        "pin topic", "unpin topic",
        "löschen", "entfernen", "kopieren", "duplizieren", "genehmigen", "ablehnen", "kaufen", "jetzt kaufen",
        "abonnieren", "widerrufen", "abmelden", "ausloggen", "in den warenkorb", "nicht mehr veröffentlichen",
        "supprimer", "retirer", "enlever", "dépublier", "copier", "dupliquer", "approuver", "rejeter",
        "acheter",
        "s'abonner", "se désabonner", "révoquer", "se déconnecter", "déconnexion", "ajouter au panier",
        "eliminar", "borrar", "quitar", "despublicar", "copiar", "duplicar", "aprobar", "rechazar", "comprar",
        "suscribirse", "revocar", "cerrar sesión", "añadir al carrito",
        "excluir", "apagar", "remover", "aprovar", "rejeitar", "revogar", "sair",
        "terminar sessão",
        "rimuovi", "cancella", "acquista", "compra",
        "iscriviti",
        "disconnetti", "aggiungi al carrello",
        "verwijderen", "verwijder", "kopiëren", "dupliceren", "goedkeuren", "afwijzen", "kopen", "abonneren",
        "intrekken", "uitloggen", "afmelden",
        "radera", "ta bort", "kopiera", "duplicera", "godkänn", "avvisa", "köp", "prenumerera", "återkalla",
        "logga ut",
        "slet", "kopiér", "kopier", "dupliker", "godkend", "afvis", "køb", "abonner", "tilbagekald",
        "log ud",
        "slett", "godkjenn", "avvis", "kjøp", "tilbakekall", "logg ut",
        "poista", "kopioi", "monista", "hyväksy", "hylkää", "tilaa", "kirjaudu ulos",
        "usuń", "skasuj", "kopiuj", "powiel", "zatwierdź", "odrzuć", "kup teraz", "subskrybuj",
        "cofnij", "wyloguj",
        "wyloguj się", "smazat", "odstranit", "kopírovat", "duplikovat", "schválit", "odmítnout", "koupit",
        "odebírat",
        "odvolat", "odhlásit", "odhlásit se",
        "törlés", "eltávolítás", "másolás", "jóváhagyás", "elutasítás", "vásárlás", "feliratkozás",
        "visszavonás",
        "kijelentkezés",
        "kaldır", "kopyala", "çoğalt", "onayla", "reddet", "satın al", "abone ol", "iptal et",
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
        "hapus", "setujui", "langganan",
    ]
}
