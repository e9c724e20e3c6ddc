/// Words in the names of controls, in 25 languages, in lower case. A word that ends in a hyphen is the beginning
/// of longer ones; all others stand for themselves.
enum ActionWords {
    /// Words of controls that change something for others or for the person who is logged in, end a session,
    /// or open something outside the page. Such controls are never used.
    static let forbidden: [String] = split(
        """
        delet-, remov-, erase, trash, discard, destroy, clear, reset, revok-, cancel, undo, unpublish, publish, post, \
        submit, send, save, apply, create, add, upload, download, install, import, export, print, copy, move, rename, \
        edit, buy, purchase, order, checkout, check out, pay, donat-, cart, basket, subscrib-, unsubscrib-, follow, \
        unfollow, like, dislike, vote, upvote, downvote, rate, report, block, ban, share, invit-, approv-, reject, \
        accept, decline, agree, allow, confirm, log out, logout, log off, sign out, signout, sign in, signin, log in, \
        login, sign up, signup, register, join, book, reserv-, enrol-, call, deploy, restart, shutdown, shut down, \
        lösch-, entfern-, abbrech-, zurücksetz-, veröffentlich-, absend-, senden, speicher-, anwenden, erstell-, \
        hinzufüg-, hochlad-, herunterlad-, druck-, kopier-, kauf-, bestell-, bezahl-, warenkorb, abonn-, teilen, \
        abmeld-, anmeld-, registrier-, zustimm-, akzeptier-, ablehn-, bestätig-, spenden, melden, \
        supprim-, effac-, annul-, réinitialis-, publier, envoy-, enregistr-, appliquer, créer, ajout-, télécharg-, \
        imprim-, achet-, commander, payer, panier, partag-, déconn-, connexion, connecter, inscri-, refuser, signaler, \
        elimin-, borrar, quitar, restablec-, enviar, guardar, aplicar, añadir, subir, descarg-, comprar, pedir, pagar, \
        carrito, suscri-, seguir, compart-, cerrar sesión, iniciar sesión, registr-, acept-, rechaz-, \
        excluir, apagar, remover, redefin-, salvar, adicionar, baixar, carrinho, assin-, partilh-, sair, entrar, \
        aceit-, recus-, \
        cancell-, rimuov-, annull-, ripristin-, pubblic-, invi-, salva, applica, aggiung-, carica, scarica, stampa, \
        acquist-, ordina, paga, carrello, iscriv-, segui, condivid-, esci, accedi, accett-, rifiut-, conferm-, \
        verwijder-, wissen, annuleer-, publice-, verzend-, opslaan, toepas-, toevoeg-, afdruk-, koop, bestel-, \
        betaal, winkelwagen, volgen, delen, uitlog-, inlog-, afmeld-, aanmeld-, weiger-, bevestig-, \
        radera, ta bort, avbryt, återställ, skicka, spara, lägg till, ladda upp, ladda ner, skriv ut, köp, beställ, \
        betala, följ, dela, logga in, logga ut, godkänn, avvisa, bekräfta, \
        slet, fjern, fortryd, nulstil, udgiv, indsend, gem, tilføj, hent, udskriv, køb, betal, log ud, log ind, \
        slett, tilbakestill, lagre, legg til, last opp, last ned, kjøp, logg ut, logg inn, godta, avvis, bekreft, \
        poista, peruuta, tyhjennä, julkaise, lähetä, tallenna, lisää ostoskoriin, lataa, tulosta, osta, tilaa, maksa, \
        seuraa, jaa, kirjaudu, rekisteröidy, hyväksy, hylkää, vahvista, \
        usuń, skasuj, anuluj, resetuj, opublikuj, wyślij, zapisz, zastosuj, dodaj, prześlij, pobierz, drukuj, kup, \
        zamów, zapłać, koszyk-, subskryb-, obserwuj, udostępnij, wyloguj, zaloguj, zarejestruj, akceptuj-, odrzuć, \
        potwierdź, \
        smazat, odstranit, zrušit, zveřejnit, odeslat, uložit, použít, přidat, nahrát, stáhnout, tisk, koupit, \
        objedn-, zaplatit, košík, odebírat, sdílet, odhlásit, přihlásit, registrovat, souhlas-, přijmout, odmítnout, \
        potvrdit, \
        törl-, eltávol-, mégse, visszaáll-, közzétesz-, küld-, mentés, hozzáad-, feltölt-, letölt-, nyomtat-, \
        vásárl-, megrendel-, fizet-, kosár, feliratkoz-, követés, megoszt-, kijelentkez-, bejelentkez-, regisztr-, \
        elfogad-, elutasít-, megerősít-, \
        șterge, elimină, anulează, resetează, publică, trimite, salvează, adaugă, încarcă, descarcă, tipărește, \
        cumpără, comandă, plătește, coș, abon-, distribuie, deconect-, conectare, autentific-, înregistr-, confirmă, \
        sil, kaldır, iptal, sıfırla, yayınla, gönder, kaydet, uygula, ekle, yükle, indir, yazdır, satın al, sipariş, \
        öde, sepet-, abone, takip et, paylaş, çıkış, giriş, oturum-, kaydol, kabul, reddet, onayla, \
        удал-, стереть, очист-, отмен-, сброс-, опубликов-, отправ-, сохран-, применить, добав-, загруз-, скач-, \
        печат-, куп-, заказ-, оплат-, корзин-, подпис-, подел-, выйти, выход, войти, вход, регистр-, зарегистр-, \
        принять, соглас-, отклон-, подтверд-, \
        видал-, скасу-, опублік-, надісл-, зберег-, застосувати, дода-, завантаж-, друк-, купити, замов-, сплат-, \
        кошик, підпис-, поділ-, вийти, увійти, зареєстр-, прийня-, відхил-, підтверд-, \
        διαγραφ-, αφαίρ-, ακύρ-, επαναφορ-, δημοσί-, υποβολ-, αποστολ-, αποθήκ-, προσθήκ-, μεταφόρτ-, λήψη, εκτύπ-, \
        αγορ-, παραγγελ-, πληρωμ-, καλάθι, εγγραφ-, κοινοπ-, αποσύνδ-, σύνδεσ-, αποδοχ-, απόρρι-, επιβεβ-, \
        حذف, إزالة, إلغاء, نشر, إرسال, حفظ, تطبيق, إضافة, رفع, تحميل, تنزيل, طباعة, شراء, دفع, سلة, اشترك, متابعة, \
        مشاركة, خروج, دخول, تسجيل, قبول, رفض, تأكيد, \
        מחק, הסר, ביטול, איפוס, פרסם, שלח, שמור, הוסף, העלה, הורד, הדפס, קנה, הזמן, שלם, הירשם, עקוב, שתף, התנתק, \
        התחבר, אשר, דחה, \
        हटाएँ, मिटाएँ, रद्द, प्रकाशित, भेजें, सहेजें, जोड़ें, अपलोड, डाउनलोड, प्रिंट, खरीदें, ऑर्डर, भुगतान, सदस्यता, साझा, लॉग, साइन, \
        पंजीकरण, स्वीकार, अस्वीकार, पुष्टि, \
        xóa, hủy, đăng, gửi, lưu, thêm vào giỏ, tải lên, tải xuống, mua, đặt hàng, thanh toán, giỏ hàng, theo dõi, \
        chia sẻ, chấp nhận, từ chối, xác nhận, \
        hapus, batal, terbitkan, kirim, simpan, tambah-, unggah, unduh, cetak, beli, pesan, bayar, keranjang, \
        langganan, ikuti, bagikan, keluar, masuk, daftar, terima, tolak, konfirmasi
        """)

    /// The same in languages that are written without spaces: parts of names.
    static let forbiddenParts: [String] = split(
        """
        删除, 移除, 刪除, 清空, 清除, 重置, 取消, 撤销, 发布, 發布, 提交, 发送, 發送, 保存, 儲存, 应用, 添加, 新增, 上传, 上傳, 下载, 下載, \
        打印, 列印, 购买, 購買, 订购, 下单, 支付, 付款, 购物车, 購物車, 订阅, 訂閱, 关注, 關注, 点赞, 分享, 举报, 退出, 登出, 注销, 登录, \
        登入, 注册, 註冊, 同意, 接受, 拒绝, 拒絕, 确认, 確認, \
        削除, 消去, 取り消, キャンセル, リセット, 公開, 投稿, 送信, 追加, アップロード, ダウンロード, 印刷, 購入, 注文, 支払, カート, 購読, \
        フォロー, 共有, ログアウト, ログイン, サインアウト, サインイン, 登録, 承認, 拒否, \
        삭제, 제거, 취소, 초기화, 게시, 제출, 보내기, 전송, 저장, 적용, 추가, 업로드, 다운로드, 인쇄, 구매, 주문, 결제, 장바구니, 구독, 팔로우, \
        공유, 로그아웃, 로그인, 가입, 등록, 동의, 수락, 거부, 확인
        """)

    /// Words of controls that show more of the same. These are used several times.
    static let more: [String] = split(
        """
        more, next, older, load-, zoom-, weiter-, mehr, nächste-, suivant-, plus, más, siguiente-, mais, próxim-, \
        altro, avanti, successiv-, meer, volgende, mer, nästa, mere, næste, neste, lisää, seuraava, więcej, następn-, \
        více, další, több, következő, mai mult, următor-, daha, sonraki, ещё, дальше, след-, більше, далі, περισσότερ-, \
        επόμεν-, المزيد, التالي, עוד, הבא, और, अगला, xem thêm, tiếp, lagi, berikutnya
        """)

    static let moreParts: [String] = split("更多, 下一, もっと, 次へ, 더보기, 다음")

    /// Beginnings of the words of search fields and of controls that open one.
    static let search: [String] = split(
        """
        search-, such-, recherch-, busc-, pesquis-, cerca, ricerc-, zoek-, sök-, søg-, søk-, haku, hae, szuk-, wyszuk-, \
        hled-, vyhled-, keres-, caut-, căut-, ara, arama, поиск, найти, пошук, αναζήτ-, بحث, חיפוש, חפש, खोज-, tìm, cari
        """)

    static let searchParts: [String] = split("搜索, 搜尋, 検索, 검색")

    /// Splits a list at its commas.
    static func split(_ text: String) -> [String] {
        text.split(separator: ",").map { word in
            let trimmed = word.drop { $0.isWhitespace }
            return String(trimmed.reversed().drop { $0.isWhitespace }.reversed())
        }
    }

    /// The source of a JavaScript expression that matches a name with one of the words or parts in it.
    static func expression(_ words: [String], parts: [String]) -> String {
        let whole = words.map { word in
            word.hasSuffix("-") ? String(word.dropLast()) : word + "(?![\\p{L}\\p{N}])"
        }
        return "/(?<![\\p{L}\\p{N}])(?:" + whole.joined(separator: "|") + ")|" + parts.joined(separator: "|")
            + "/iu"
    }
}
