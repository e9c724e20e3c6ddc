internal import Web

/// How banners are answered that ask for consent to cookies.
package enum ConsentChoice: String, Sendable, CaseIterable {
    /// The choice with the least tracking. If a banner offers no such choice, it is closed, or stays.
    case reject
    /// All purposes.
    case accept
    /// Banners stay as they are.
    case leave
}

/// The script that answers a banner. It recognises banners by their text and their place, and not by the tools that
/// made them: an element that covers a part of the window, is about cookies or consent, and has buttons.
enum ConsentBanner {
    /// Answers the banner of the page, if it has one. Returns the name of the button that was pressed last, and
    /// whether another round is needed because the button opened a list of purposes.
    ///
    /// - Parameter isSecondRound: whether a list of purposes was opened.
    static func answer(_ choice: ConsentChoice, isSecondRound: Bool) -> String {
        PageScripts.function(
            PageActions.pressing + banners + words + search + (isSecondRound ? confirm : choose(choice)))
    }

    /// Defines `bannerOf`, which returns the banner to which a control belongs. A banner is a dialog or keeps its place
    /// while the page scrolls, is not the page itself, and speaks of cookies or consent outside its buttons, or has
    /// such a name.
    static var banners: String {
        """

        const topic = \(ActionWords.expression(ConsentWords.topics, parts: ConsentWords.topicParts));
        const topicName = /cookie|consent|gdpr|ccpa/i;
        const controls = 'button, [role="button"], a, input[type="button"], input[type="submit"]';
        const isAboutConsent = (e) => {
          for (let at = e, level = 0; at && at.nodeType === 1 && level < 3; at = at.parentElement, level += 1) {
            if (at === own('body') || at === own('documentElement')) break;
            if (topicName.test(`${at.id} ${at.getAttribute('class')} ${at.ariaLabel}`)) return true;
          }
          let text = e.innerText || e.textContent || '';
          for (const control of e.querySelectorAll(controls)) {
            const word = (control.innerText || '').trim();
            if (word.length > 2) text = text.replace(word, ' ');
          }
          return topic.test(text);
        };
        const isCovering = (e) => {
          if (e === own('body') || e === own('documentElement') || e.matches('header, nav, main')) return false;
          const isDialog = e.matches('dialog[open], [role="dialog"], [role="alertdialog"], [aria-modal="true"]');
          return isDialog || /^(fixed|sticky)$/.test(getComputedStyle(e).position);
        };
        const bannerKinds = new Map();
        const isBanner = (e) => {
          let kind = bannerKinds.get(e);
          if (kind === undefined) {
            kind = isCovering(e);
            if (kind) {
              const count = (e.innerText || e.textContent || '').length;
              const whole = (own('body')?.innerText || '').length;
              kind = count >= 20 && count < 20000 && !(count > 2000 && count > whole * 0.6)
                && !e.querySelector('main, article') && isAboutConsent(e);
            }
            bannerKinds.set(e, kind);
          }
          return kind;
        };
        const bannerOf = (control) => {
          let e = control;
          for (let level = 0; e && level < 25; level += 1) {
            if (e.nodeType === 1 && isBanner(e)) return e;
            e = e.assignedSlot || e.parentNode || e.host;
            if (e && e.nodeType === 11) e = e.host;
          }
          return null;
        };
        """
    }

    private static var words: String {
        func expression(_ words: [String], _ parts: [String] = []) -> String {
            ActionWords.expression(words, parts: parts)
        }
        var acknowledgements = JSONWriter()
        acknowledgements.value(ConsentWords.acknowledgements)
        return """

            const rejecting = \(expression(ConsentWords.rejections, ConsentWords.rejectionParts));
            const accepting = \(expression(ConsentWords.acceptances, ConsentWords.acceptanceParts));
            const negation = \(expression(ConsentWords.negations, ConsentWords.negationParts));
            const settings = \(expression(ConsentWords.settings, ConsentWords.settingParts));
            const saving = \(expression(ConsentWords.savings, ConsentWords.savingParts));
            const everything = \(expression(ConsentWords.everything, ConsentWords.everythingParts));
            const closing = \(expression(ConsentWords.closings, ConsentWords.closingParts));
            const acknowledgements = new Set(\(acknowledgements.text));
            const isRejection = (text) => rejecting.test(text) || accepting.test(text) && negation.test(text);
            const isAcknowledgement = (text) =>
              acknowledgements.has(text.toLowerCase().replace(/[^\\p{L}\\p{N}']+/gu, ' ').trim());
            const isAcceptance = (text) => accepting.test(text) && !isRejection(text);
            """
    }

    /// Finds the buttons of banners. A button is short, and does not lead to another page or send a form. A dialog with
    /// a field for text asks for something else.
    private static let search = """

        const isButton = (e) => {
          if (!e.matches(controls) || !isShown(e) || e.disabled) return false;
          const href = e.localName === 'a' ? e.getAttribute('href') || '' : '';
          if (href && !href.startsWith('#') && !/^javascript:/i.test(href)) return false;
          if (e.form && e.type === 'submit' && e.form.getAttribute('action')) return false;
          return name(e).length < 120;
        };
        // Many banners are moved out of the window, or fade, when they are answered.
        const isInWindow = (e) => {
          const box = e.getBoundingClientRect();
          return box.bottom > 1 && box.right > 1 && box.top < innerHeight - 1 && box.left < innerWidth - 1
            && (e.checkVisibility?.({ opacityProperty: true, visibilityProperty: true }) ?? true);
        };
        const fields = 'input:not([type]), input[type="text"], input[type="email"], input[type="password"], textarea';
        const buttons = [];
        for (const e of elements(document)) {
          if (buttons.length >= 200) break;
          if (!isButton(e)) continue;
          const banner = bannerOf(e);
          if (!banner || !isInWindow(banner)) continue;
          if (![...banner.querySelectorAll(fields)].some(isShown)) buttons.push(e);
        }
        const find = (isWanted) => buttons.find((e) => isWanted(name(e)));
        const end = async (e, isOpening) => {
          if (!e) return { isFound: false };
          const text = name(e).slice(0, 100);
          press(e);
          await frames();
          return { isFound: true, isOpening: Boolean(isOpening), button: text };
        };
        // Sets all purposes, and saves that.
        const save = async (isOn) => {
          const saver = find((text) => saving.test(text) && !everything.test(text));
          if (!saver) return null;
          for (const e of [...elements(bannerOf(saver))]) {
            if (e.matches('input[type="checkbox"]:not(:disabled)') && e.checked !== isOn) e.click();
            if (!e.matches('[role="switch"][aria-checked]:not([aria-disabled="true"], :disabled)')) continue;
            if ((e.ariaChecked === 'true') !== isOn) press(e);
          }
          await frames();
          return end(saver);
        };
        """

    private static func choose(_ choice: ConsentChoice) -> String {
        switch choice {
        case .leave: "return { isFound: false };"
        case .accept:
            """

            const accepted = find(isAcceptance) || find(isAcknowledgement)
              || find((text) => /(?<!\\p{L})(ok|okay|oké|ок)(?!\\p{L})/iu.test(text) && !isRejection(text));
            if (accepted) return end(accepted);
            return await save(true) || end(find((text) => closing.test(text) && !isRejection(text)));
            """
        case .reject:
            """

            const refusing = find(isRejection);
            if (refusing) return end(refusing);
            const opening = find((text) => settings.test(text) && !isAcceptance(text));
            if (opening) return end(opening, true);
            const saved = await save(false);
            if (saved) return saved;
            // Without a choice, the banner only informs.
            const closer = find((text) => closing.test(text) && !isAcceptance(text));
            return end(closer || (find(isAcceptance) ? null : find(isAcknowledgement)));
            """
        }
    }

    /// Refuses in the list of purposes: by a button, or by turning off all purposes and saving that. Else closes it.
    private static let confirm = """

        const refusing = find(isRejection);
        if (refusing) return end(refusing);
        const saved = await save(false);
        if (saved) return saved;
        return end(find((text) => closing.test(text) && !isAcceptance(text)));
        """
}

/// Words of banners that ask for consent, in more than 20 languages, in lower case. A word that ends in a hyphen is
/// the beginning of longer ones.
enum ConsentWords {
    /// Words of what banners are about.
    static let topics = split(
        """
        cookie-, consent-, gdpr, ccpa, einwilligung-, zustimmung-, consentement, traceurs, consentimient-, \
        consentimento, consenso, toestemming, samtyck-, samtykk-, evästee-, ciastecz-, sušenk-, souhlas-, súhlas-, \
        süti-, consimțământ-, бисквитк-, kolačić-, piškotk-, çerez-, куки, согласие, кукі, згод-, συγκατάθεσ-, \
        ملفات تعريف, עוגיות
        """)
    static let topicParts = split("クッキー, 쿠키, คุกกี้")

    /// Words of buttons that refuse.
    static let rejections = split(
        """
        reject-, decline, declines, deny, object to all, no gracias, non merci, nein danke, nej tak, not now, \
        refuse, disagree, disallow, opt out, opt-out, no thanks, only accept necessary, only necessary, \
        necessary only, necessary cookies only, only essential, essential only, essential cookies only, \
        only required, required only, strictly necessary only, only strictly, do not accept, don't accept, \
        do not consent, do not agree, continue without, without accepting, without consent, ablehn-, lehne ab, \
        lehne alle ab, verbiet-, nur notwendig-, nur erforderlich-, nur essen-, nur technisch-, nicht zustimmen, \
        ohne einwilligung, ohne zustimmung, weiter ohne, verweiger-, refuser, rejet-, interdire, sans accepter, \
        uniquement nécessaires, seulement nécessaires, je refuse, rechaz-, descart-, desactivar todo, denegar, \
        sin aceptar, solo necesari-, solo las necesari-, solo esencial-, no acepto, rifiut-, senza accettare, \
        solo necessari, solo i necessari, solo quelli necessari, solo tecnici, non accetto, rejeit-, recus-, \
        sem aceitar, apenas necessári-, apenas os necessári-, só os necessári-, apenas essencia-, não aceito, \
        weiger-, afwijz-, alleen noodzakelijk-, alleen functione-, niet akkoord, avvisa, avböj, neka, \
        endast nödvändiga, bara nödvändiga, afvis, kun nødvendige, nej tak, avvis, avslå, bare nødvendige, \
        nei takk, hylkää, kiellä, vain välttämättömät, vain tarpeelliset, odrzuć, odmów, nie wyrażam, \
        nie akceptuj-, tylko niezbędne, tylko konieczne, nie zgadzam, odmítn-, pouze nezbytn-, jen nezbytn-, \
        pouze nutné, nesouhlas-, odmietn-, iba nevyhnutn-, len nevyhnutn-, elutasít-, csak a szükséges, \
        csak szükséges, respinge-, refuz, doar necesare, doar cele necesare, отхвърл-, само необходими, odbij, \
        odbaci, samo nužn-, zavrni, samo nujn-, reddet, sadece gerekli, yalnızca gerekli, sadece zorunlu, отклон-, \
        отказ-, откаж-, запрет-, не разреш-, только необходим-, не принимать, не согласен, відхил-, відмов-, \
        лише необхідн-, тільки необхідн-, απόρριψη, απορρίπτω, μόνο τα απαραίτητα, μόνο απαραίτητα, رفض, \
        الضرورية فقط, דחה, דחי-, סירוב, הכרחיים בלבד, từ chối, chỉ cần thiết, tolak, hanya yang diperlukan
        """)
    static let rejectionParts = split(
        """
        拒绝, 拒絕, 仅必要, 仅使用必要, 仅保留必要, 不允许, 僅必要, 仅接受必要, 僅接受必要, 不同意, 不接受, 拒否, 必須のみ, 必要なもののみ, 必要なcookieのみ, 同意しない, 거부, \
        필수만, 동의하지 않, 동의 안 함, ปฏิเสธ
        """)

    /// Words of buttons that consent.
    static let acceptances = split(
        """
        accept-, agree, allow-, i consent, akzeptier-, zustimm-, einverstanden, zulassen, erlaube-, annehmen, \
        accepter, j'accepte, autoriser, d'accord, acept-, permitir, de acuerdo, accett-, consenti, consento, \
        aceit-, concordo, accepter-, akkoord, toestaan, acceptera, godkänn-, tillåt-, tillad-, godta, tillat-, \
        hyväksy-, salli, akceptuj-, zaakceptuj-, zgadzam, zezwól, přijm-, přijmout, souhlasím, povolit, prijať, \
        súhlasím, povoliť, elfogad-, engedély-, accept, permite-, приемам, приеми, съгласен, prihvati-, prihvaćam, \
        sprejm-, sprejem-, strinjam, kabul, izin ver-, принять, принимаю, соглас-, разреш-, прийня-, погодж-, \
        дозвол-, αποδοχή, αποδέχομαι, συμφωνώ, قبول, موافق, أوافق, אישור, מאשר, אשר, chấp nhận, đồng ý, terima, \
        setuju
        """)
    static let acceptanceParts = split("接受, 同意, 允许, 允許, 同意する, 受け入れ, 許可, 承諾, 동의, 허용, 수락, ยอมรับ")

    /// Words of buttons that open a list of purposes.
    static let settings = split(
        """
        setting-, preference-, manage, option-, custom-, configur-, choices, choose, purposes, einstellung-, \
        anpassen, personalisier-, wählen, auswählen, verwalten, optionen, paramètr-, paramétr-, personnalis-, \
        gérer, préférences, choisir, ajustes, elegir, personaliz-, preferenc-, gestion-, opciones, impostazioni, \
        preferenz-, gestisci, scegli, definições, gerir, gerenciar, instellingen, voorkeuren, beheer-, \
        inställning-, anpassa, hantera, indstilling-, tilpas-, innstilling-, asetuk-, mukauta, hallitse, ustawie-, \
        dostosuj, zarządzaj, nastaven-, přizpůsob-, prispôsob-, beállít-, testreszab-, setări, gestion-, настройк-, \
        персонализ-, postavke, prilagod-, nastavitve, ayar-, özelleştir-, yönet, налаштув-, керувати, ρυθμίσ-, \
        προσαρμογή, επιλογές, إعدادات, تخصيص, הגדרות, tùy chỉnh, cài đặt, pengaturan
        """)
    static let settingParts = split("设置, 設定, 偏好, 管理, 自定义, カスタマイズ, 설정, 맞춤")

    /// Words of buttons that save a selection.
    static let savings = split(
        """
        save-, confirm-, apply, submit, selected, selection, current, seleccionad-, sélectionné-, selecionad-, \
        selezionat-, geselecteerd-, speicher-, bestätig-, auswahl, ausgewählte, übernehmen, enregistr-, sauvegard-, \
        sélection, choix, selección, selezion-, seleção, selectie, urval, valda, valgte, valitut, wybrane, vybran-, \
        kijelölt-, выбран-, вибран-, confirm-, valid-, guardar, salva, salvar, conferm-, opslaan, bevestig-, spara, \
        bekräft-, gem, lagre, bekreft, tallenna, vahvista, zapisz, potwierd-, uložit, potvrdit, uložiť, potvrdiť, \
        mentés-, megerősít-, salvează, confirmă, запази, spremi, potvrdi, shrani, kaydet, onayla, сохран-, \
        подтверд-, зберег-, підтверд-, αποθήκευση, επιβεβαίωση, حفظ, تأكيد, שמור, lưu, simpan
        """)
    static let savingParts = split("保存, 儲存, 确认, 確認, 选中, 所选, 選択した, 저장, 확인")

    /// Words of buttons that close a banner.
    static let closings = split(
        """
        close, dismiss, schließen, fermer, cerrar, chiudi, fechar, sluiten, stäng, luk, lukk, sulje, zamknij, \
        zavřít, zavrieť, bezár-, închide, затвори, zatvori, zapri, kapat, закрыть, закрити, κλείσιμο, إغلاق, סגור, \
        đóng, tutup
        """)
    static let closingParts = split("关闭, 關閉, 閉じる, 닫기, ✕, ×, ✖")

    /// Names of buttons that only say that the banner was read.
    static let acknowledgements = split(
        """
        got it, ok, okay, understood, i understand, continue, yes, alright, fine, hide this message, verstanden, \
        alles klar, weiter, compris, j'ai compris, c'est bon, entendido, vale, ho capito, capito, entendi, \
        begrepen, jag förstår, jag fattar, uppfattat, forstået, jeg forstår, den er grei, selvä, ymmärrän, \
        rozumiem, rozumím, rozumiem, értem, rendben, am înțeles, разбрах, razumijem, razumem, anladım, tamam, \
        понятно, ок, хорошо, зрозуміло, κατάλαβα, εντάξει, حسنا, فهمت, הבנתי, tôi hiểu, mengerti, baik, 知道了, 好的, \
        我知道了, 了解, わかりました, 확인
        """)

    /// Words that turn an acceptance into a rejection, such as "not".
    static let negations = split(
        """
        not, don't, without, nicht, kein-, ohne, ne, pas, non, sans, no, sin, senza, não, sem, niet, geen, zonder, \
        inte, utan, ikke, uten, uden, ei, en hyväksy, nie, bez, ne, nesouhlas-, nem, nu, fără, не, без, μη, δεν, \
        χωρίς, لا, בלי, לא, không, tidak
        """)
    static let negationParts = split("不, しない, 않, 안 함")

    /// Words by which a button means all purposes.
    static let everything = split(
        """
        all, everything, alle, alles, tout, tous, toutes, todas, todos, todo, tutti, tutto, alla, kaikki, wszystk-, \
        vše, všechny, všetk-, mind, összes, toate, tümü-, все, всё, всички, всі, усі, sve, όλα, όλων, الكل, הכל, \
        tất cả, semua
        """)
    static let everythingParts = split("全部, 所有, すべて, 全て, 모두")

    private static func split(_ text: String) -> [String] { ActionWords.split(text) }
}
