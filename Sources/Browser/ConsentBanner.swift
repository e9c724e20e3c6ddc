/// How banners are answered that ask for consent to cookies.
package enum ConsentChoice: String, Sendable, CaseIterable {
    /// The choice with the least tracking. If a banner offers no such choice, it is closed, or stays.
    case reject
    /// All purposes.
    case accept
    /// Banners stay as they are.
    case leave
}

/// The script that answers a banner. It knows banners by what they say and where they are, and not by the tools
/// that made them: an element that covers a part of the window, is about cookies or consent, and has buttons.
enum ConsentBanner {
    /// Answers the banner of the page, if it has one. Returns the name of the button that was pressed last, and
    /// whether another round is needed because the button opened a list of purposes.
    ///
    /// - Parameter isSecondRound: whether a list of purposes was opened.
    static func answer(_ choice: ConsentChoice, isSecondRound: Bool) -> String {
        PageScripts.function(
            PageActions.pressing + words + search + (isSecondRound ? confirm : choose(choice)))
    }

    private static var words: String {
        func expression(_ words: [String], _ parts: [String] = []) -> String {
            ActionWords.expression(words, parts: parts)
        }
        return """

            const topic = \(expression(ConsentWords.topics, ConsentWords.topicParts));
            const rejection = \(expression(ConsentWords.rejections, ConsentWords.rejectionParts));
            const acceptance = \(expression(ConsentWords.acceptances, ConsentWords.acceptanceParts));
            const settings = \(expression(ConsentWords.settings, ConsentWords.settingParts));
            const saving = \(expression(ConsentWords.savings, ConsentWords.savingParts));
            const closing = \(expression(ConsentWords.closings, ConsentWords.closingParts));
            """
    }

    /// Finds the buttons of banners. A button is short, and does not lead to another page or send a form.
    private static let search = """

        const isBanner = (e) => {
          if (e === own('body') || e === own('documentElement') || e.matches('header, nav, main')) return false;
          const isDialog = e.matches('dialog[open], [role="dialog"], [role="alertdialog"], [aria-modal="true"]');
          return isDialog || /^(fixed|sticky)$/.test(getComputedStyle(e).position);
        };
        const bannerOf = (button) => {
          let e = button;
          for (let level = 0; e && level < 25; level += 1) {
            if (e.nodeType === 1 && isBanner(e)) {
              const text = e.innerText || e.textContent || '';
              if (text.length >= 20 && text.length < 20000 && topic.test(text)) return e;
            }
            e = e.assignedSlot || e.parentNode || e.host;
            if (e && e.nodeType === 11) e = e.host;
          }
          return null;
        };
        const isButton = (e) => {
          if (!e.matches('button, [role="button"], a, input[type="button"], input[type="submit"]')) return false;
          if (!isShown(e) || e.disabled) return false;
          const href = e.localName === 'a' ? e.getAttribute('href') || '' : '';
          if (href && !href.startsWith('#') && !/^javascript:/i.test(href)) return false;
          if (e.form && e.type === 'submit' && e.form.getAttribute('action')) return false;
          return name(e).length < 120;
        };
        const buttons = [];
        for (const e of elements(document)) {
          if (buttons.length >= 200) break;
          if (isButton(e) && bannerOf(e)) buttons.push(e);
        }
        const named = (words, besides) => buttons.find((e) => {
          const text = name(e);
          return words.test(text) && !(besides && besides.test(text));
        });
        const end = async (e, isOpening) => {
          if (!e) return { isFound: false };
          const text = name(e).slice(0, 100);
          press(e);
          await frames();
          return { isFound: true, isOpening: Boolean(isOpening), button: text };
        };
        """

    private static func choose(_ choice: ConsentChoice) -> String {
        switch choice {
        case .leave: "return { isFound: false };"
        case .accept: "return end(named(acceptance, rejection));"
        case .reject:
            """

            const refusing = named(rejection);
            if (refusing) return end(refusing);
            const opening = named(settings, acceptance);
            if (opening) return end(opening, true);
            return end(named(closing, acceptance));
            """
        }
    }

    /// Refuses in the list of purposes: by a button, or by turning off all purposes and saving that.
    private static let confirm = """

        const refusing = named(rejection);
        if (refusing) return end(refusing);
        const saver = named(saving, acceptance);
        if (!saver) return { isFound: false };
        const banner = bannerOf(saver);
        for (const e of [...elements(banner)]) {
          if (e.matches('input[type="checkbox"]:checked:not(:disabled)')) e.click();
          if (e.matches('[role="switch"][aria-checked="true"]:not([aria-disabled="true"], :disabled)')) press(e);
        }
        await frames();
        return end(saver);
        """
}

/// Words of banners that ask for consent, in more than 20 languages, in lower case. A word that ends in a hyphen is
/// the beginning of longer ones.
enum ConsentWords {
    static let topics = split(
        """
        cookie-, consent-, gdpr, ccpa, einwilligung-, zustimmung-, consentement, traceurs, consentimient-, consentimento, \
        consenso, toestemming, samtyck-, samtykk-, evästee-, ciastecz-, sušenk-, souhlas-, súhlas-, süti-, consimțământ-, \
        бисквитк-, kolačić-, piškotk-, çerez-, куки, согласие, кукі, згод-, συγκατάθεσ-, ملفات تعريف, עוגיות
        """)
    static let topicParts = split("クッキー, 쿠키, คุกกี้")

    static let rejections = split(
        """
        reject-, declin-, deny, refuse, disagree, disallow, opt out, no thanks, only necessary, necessary only, \
        necessary cookies only, only essential, essential only, essential cookies only, only required, required only, \
        strictly necessary only, only strictly, do not accept, don't accept, do not consent, do not agree, \
        continue without, without accepting, without consent, \
        ablehn-, nur notwendig-, nur erforderlich-, nur essen-, nur technisch-, nicht zustimmen, ohne einwilligung, \
        ohne zustimmung, weiter ohne, verweiger-, \
        refuser, rejeter, sans accepter, uniquement nécessaires, seulement nécessaires, je refuse, \
        rechaz-, denegar, sin aceptar, solo necesari-, solo las necesari-, solo esencial-, no acepto, \
        rifiut-, senza accettare, solo necessari, solo i necessari, solo quelli necessari, solo tecnici, non accetto, \
        rejeit-, recus-, sem aceitar, apenas necessári-, apenas os necessári-, só os necessári-, apenas essencia-, \
        não aceito, weiger-, afwijz-, alleen noodzakelijk-, alleen functione-, niet akkoord, \
        avvisa, avböj, neka, endast nödvändiga, bara nödvändiga, afvis, kun nødvendige, nej tak, avvis, avslå, \
        bare nødvendige, nei takk, hylkää, kiellä, vain välttämättömät, vain tarpeelliset, \
        odrzuć, odmów, tylko niezbędne, tylko konieczne, nie zgadzam, odmítn-, pouze nezbytn-, jen nezbytn-, \
        pouze nutné, nesouhlas-, odmietn-, iba nevyhnutn-, len nevyhnutn-, elutasít-, csak a szükséges, csak szükséges, \
        respinge-, refuz, doar necesare, doar cele necesare, отхвърл-, само необходими, odbij, odbaci, samo nužn-, \
        zavrni, samo nujn-, reddet, sadece gerekli, yalnızca gerekli, sadece zorunlu, \
        отклон-, отказ-, только необходим-, не принимать, не согласен, відхил-, відмов-, лише необхідн-, тільки необхідн-, \
        απόρριψη, απορρίπτω, μόνο τα απαραίτητα, μόνο απαραίτητα, رفض, الضرورية فقط, דחה, דחי-, סירוב, הכרחיים בלבד, \
        từ chối, chỉ cần thiết, tolak, hanya yang diperlukan
        """)
    static let rejectionParts = split(
        """
        拒绝, 拒絕, 仅必要, 僅必要, 仅接受必要, 僅接受必要, 不同意, 不接受, 拒否, 必須のみ, 必要なもののみ, 必要なcookieのみ, 同意しない, 거부, 필수만, \
        동의하지 않, 동의 안 함, ปฏิเสธ
        """)

    static let acceptances = split(
        """
        accept-, agree, allow-, consent, got it, ok, okay, understood, yes, i understand, continue, \
        akzeptier-, zustimm-, einverstanden, zulassen, erlauben, verstanden, annehmen, \
        accepter, j'accepte, autoriser, compris, d'accord, acept-, permitir, entendido, de acuerdo, \
        accett-, consenti, consento, ho capito, aceit-, concordo, entendi, accepter-, akkoord, toestaan, begrepen, \
        acceptera, godkänn-, tillåt-, jag förstår, tillad-, forstået, godta, tillat-, jeg forstår, hyväksy-, salli, \
        akceptuj-, zgadzam, zezwól, rozumiem, přijm-, přijmout, souhlasím, povolit, rozumím, prijať, súhlasím, povoliť, \
        elfogad-, engedély-, rendben, értem, accept, permite-, приемам, съгласен, prihvati-, prihvaćam, sprejm-, sprejem-, \
        strinjam, kabul, izin ver-, anladım, принять, принимаю, соглас-, разреш-, понятно, прийня-, погодж-, дозвол-, \
        αποδοχή, αποδέχομαι, συμφωνώ, قبول, موافق, أوافق, אישור, מאשר, אשר, הבנתי, chấp nhận, đồng ý, terima, setuju
        """)
    static let acceptanceParts = split("接受, 同意, 允许, 允許, 知道了, 同意する, 許可, 了解, 承諾, 동의, 허용, 수락, ยอมรับ")

    static let settings = split(
        """
        setting-, preference-, manage, option-, custom-, configur-, choices, choose, purposes, einstellung-, anpassen, \
        verwalten, optionen, paramètr-, paramétr-, personnalis-, gérer, préférences, choisir, ajustes, personaliz-, \
        preferenc-, gestion-, opciones, impostazioni, preferenz-, gestisci, scegli, definições, gerir, gerenciar, \
        instellingen, voorkeuren, beheer-, inställning-, anpassa, hantera, indstilling-, tilpas-, innstilling-, asetuk-, \
        mukauta, hallitse, ustawie-, dostosuj, zarządzaj, nastaven-, přizpůsob-, prispôsob-, beállít-, testreszab-, \
        setări, gestion-, настройк-, персонализ-, postavke, prilagod-, nastavitve, ayar-, özelleştir-, yönet, \
        налаштув-, керувати, ρυθμίσ-, προσαρμογή, επιλογές, إعدادات, تخصيص, הגדרות, tùy chỉnh, cài đặt, pengaturan
        """)
    static let settingParts = split("设置, 設定, 偏好, 管理, 自定义, カスタマイズ, 설정, 맞춤")

    static let savings = split(
        """
        save-, confirm-, apply, submit, speicher-, bestätig-, auswahl, übernehmen, enregistr-, confirm-, valid-, guardar, \
        salva, salvar, conferm-, opslaan, bevestig-, spara, bekräft-, gem, lagre, bekreft, tallenna, vahvista, zapisz, \
        potwierd-, uložit, potvrdit, uložiť, potvrdiť, mentés, megerősít-, salvează, confirmă, запази, spremi, potvrdi, \
        shrani, kaydet, onayla, сохран-, подтверд-, зберег-, підтверд-, αποθήκευση, επιβεβαίωση, حفظ, تأكيد, שמור, lưu, simpan
        """)
    static let savingParts = split("保存, 儲存, 确认, 確認, 저장, 확인")

    static let closings = split(
        """
        close, dismiss, schließen, fermer, cerrar, chiudi, fechar, sluiten, stäng, luk, lukk, sulje, zamknij, zavřít, \
        zavrieť, bezár-, închide, затвори, zatvori, zapri, kapat, закрыть, закрити, κλείσιμο, إغلاق, סגור, đóng, tutup
        """)
    static let closingParts = split("关闭, 關閉, 閉じる, 닫기, ✕, ×, ✖")

    private static func split(_ text: String) -> [String] { ActionWords.split(text) }
}
