internal import Reports
internal import Store
internal import Web

/// Texts in the reader's language.
extension HTMLWriter {
    /// A sentence as plain text, for attributes and for text within other text.
    package func words(_ sentence: Sentence, _ parts: String...) -> String {
        sentence.text(in: language, parts)
    }

    /// Writes a sentence, with `parts` in its placeholders.
    package mutating func say(_ sentence: Sentence, _ parts: String...) { say(Phrase(sentence, parts)) }

    /// Writes a phrase, with its code in `code` elements.
    package mutating func say(_ phrase: Phrase) {
        for span in phrase.sentence.spans(in: language, phrase.values(in: language)) {
            if span.isCode { element("code", text: span.text) } else { text(span.text) }
        }
    }

    package mutating func element(
        _ name: StaticString, _ attributes: Attributes = [:], say sentence: Sentence
    ) {
        element(name, attributes) { $0.say(Phrase(sentence)) }
    }

    package mutating func element(_ name: StaticString, _ attributes: Attributes = [:], say phrase: Phrase) {
        element(name, attributes) { $0.say(phrase) }
    }

    package mutating func link(_ address: String, _ attributes: Attributes = [:], say sentence: Sentence) {
        link(address, attributes, text: sentence.text(in: language))
    }

    /// A count with its noun, in the singular or plural.
    package func count(_ number: Int, _ one: Sentence, _ many: Sentence) -> String {
        words(number == 1 ? one : many, Wording.number(number))
    }
}

// MARK: - Forms that send commands

extension HTMLWriter {
    /// Writes a form that sends a command; nothing if the visitor may send none. The form contains the token and the path
    /// of the page to return to.
    ///
    /// - Parameters:
    ///   - name: the name of the command, as in `PortalCommand.init(_:_:)`.
    ///   - style: the class of the form.
    ///   - fields: hidden fields.
    ///   - hasFile: whether the form uploads a file.
    ///   - content: writes the visible fields and the button.
    mutating func commandForm(
        _ name: String, _ context: PortalContext, style: String = "order",
        fields: [(name: String, value: String)] = [], hasFile: Bool = false,
        _ content: (inout HTMLWriter) -> Void
    ) {
        guard let token = context.token else { return }
        element(
            "form",
            [
                "class": style, "method": "post", "action": PortalLinks.commands + name,
                "enctype": hasFile ? "multipart/form-data" : nil,
            ]
        ) { html in
            // The token comes first: an upload is refused as soon as a file begins without it.
            html.void("input", ["type": "hidden", "name": "token", "value": token])
            html.void("input", ["type": "hidden", "name": "back", "value": context.address])
            for field in fields {
                html.void("input", ["type": "hidden", "name": field.name, "value": field.value])
            }
            content(&html)
        }
    }

    /// Writes a form with only a button.
    ///
    /// - Parameters:
    ///   - thing: the object of the command, which is appended for screen readers: a page can have many equal buttons.
    ///   - isQuiet: whether the button has no background.
    ///   - warns: whether the button has the colour of a warning.
    mutating func commandButton(
        _ name: String, _ sentence: Sentence, about thing: String = "", _ context: PortalContext,
        fields: [(name: String, value: String)] = [], isQuiet: Bool = true, warns: Bool = false
    ) {
        commandForm(name, context, fields: fields) { html in
            html.element(
                "button", ["type": "submit", "class": warns ? "warn" : isQuiet ? "quiet" : nil]
            ) { html in
                html.say(sentence)
                if !thing.isEmpty {
                    html.element("span", ["class": "hidden"], text: " \(Wording.cut(thing, to: 80))")
                }
            }
        }
    }

    /// Writes an input field with its label.
    ///
    /// - Parameters:
    ///   - type: the type of the `input` element.
    ///   - mode: the `inputmode`, which selects the keyboard of a phone.
    ///   - mistake: the ids of the elements that describe the mistake in the value; nil if it is valid.
    mutating func inputField(
        _ name: String, _ label: Sentence, type: String = "text", value: String = "", hint: Sentence? = nil,
        isRequired: Bool = false, isWide: Bool = false, mode: String? = nil, mistake: String? = nil
    ) {
        let id = "f-\(name)"
        element("div", ["class": isWide ? "field wide" : "field"]) { html in
            html.element("label", ["for": id], say: label)
            html.void(
                "input",
                [
                    "id": id, "name": name, "type": type, "value": value, "required": isRequired ? "" : nil,
                    "aria-describedby": mistake ?? (hint == nil ? nil : "\(id)-hint"), "inputmode": mode,
                    "aria-invalid": mistake == nil ? nil : "true",
                    "autocomplete": type == "password" ? "current-password" : "off", "spellcheck": "false",
                ])
            if let hint { html.element("small", ["id": "\(id)-hint"], say: hint) }
        }
    }

    /// Writes a list of options, of which the user selects one.
    mutating func choiceField(
        _ name: String, _ label: Sentence, _ options: [(value: String, words: Sentence)], chosen: String?
    ) {
        let id = "f-\(name)"
        element("div", ["class": "field"]) { html in
            html.element("label", ["for": id], say: label)
            html.element("select", ["id": id, "name": name]) { html in
                for option in options {
                    html.element(
                        "option",
                        ["value": option.value, "selected": option.value == chosen ? "" : nil],
                        say: option.words)
                }
            }
        }
    }

    /// Writes a text area with one value per line.
    mutating func linesField(_ name: String, _ label: Sentence, _ values: [String], hint: Sentence) {
        let id = "f-\(name)"
        element("div", ["class": "field wide"]) { html in
            html.element("label", ["for": id], say: label)
            html.element(
                "textarea",
                [
                    "id": id, "name": name, "rows": "3", "aria-describedby": "\(id)-hint",
                    "spellcheck": "false",
                ],
                text: values.joined(separator: "\n"))
            html.element("small", ["id": "\(id)-hint"], say: hint)
        }
    }
}

extension HTMLWriter {
    /// Writes a notice with a button that installs the timer, if nothing runs the scheduled updates.
    ///
    /// - Parameter isScheduled: whether a site of the page has a schedule.
    mutating func idleScheduleNotice(_ context: PortalContext, isScheduled: Bool) {
        guard isScheduled, !context.isScheduled() else { return }
        element("div", ["class": "notice warn", "id": Self.timerSection]) { html in
            html.element("p", say: .nothingRunsSchedule)
            guard html.canInstallTimer(context) else { return }
            html.element("p", say: .installTimerHint)
            html.commandButton("timer", .doInstallTimer, context)
        }
    }

    /// Whether the visitor can install the timer with a button.
    func canInstallTimer(_ context: PortalContext) -> Bool { context.canInstallTimer && context.token != nil }

    /// The id of the element with the button.
    static let timerSection = "timer"

    /// Writes the section with the button that installs the timer.
    mutating func timerInstallation(_ context: PortalContext) {
        element("h2", ["id": Self.timerSection], say: .installTimer)
        element("p", say: .installTimerHint)
        commandButton("timer", .doInstallTimer, context)
    }
}

// MARK: - The form of a prefetch

extension SiteSettingsForm {
    /// Writes the fields for a new prefetch or for the settings of a site.
    ///
    /// - Parameter hasTimerSection: whether the page has the button for the timer, to which the field of the schedule links.
    package func write(to html: inout HTMLWriter, isNew: Bool, hasTimerSection: Bool = false) {
        html.element("div", ["class": "fields"]) { html in
            if !isNew {
                html.inputField("title", .formTitle, value: title, hint: .formTitleHint, isWide: true)
            }
            html.choiceField(
                "scope", .formScope,
                [("host", .scopeHost), ("path", .scopePath), ("domain", .scopeDomain)],
                chosen: scope ?? "host")
            html.choiceField(
                "render", .formRender,
                [("auto", .renderAuto), ("never", .renderNever), ("always", .renderAlways)],
                chosen: render ?? "auto")
            html.inputField(
                "depth", .formDepth, type: "number", value: depth.map(String.init) ?? "", hint: .formDepthHint
            )
            html.inputField(
                "pages", .formPages, type: "number", value: maxPages.map(String.init) ?? "",
                hint: .formNoLimitHint)
            if isNew {
                html.inputField("bytes", .formBytes, value: maxBytes ?? "", hint: .formBytesHint)
            } else {
                html.choiceField(
                    "robots", .formRobots, [("obey", .robotsObey), ("ignore", .robotsIgnore)],
                    chosen: robots ?? "obey")
                writeSchedule(to: &html, hasTimerSection: hasTimerSection)
                html.inputField(
                    "perHost", .formPerHost, type: "number", value: connectionsPerHost.map(String.init) ?? "",
                    hint: .formPerHostHint)
                html.linesField("include", .formInclude, include, hint: .formIncludeHint)
                html.linesField("exclude", .formExclude, exclude, hint: .formExcludeHint)
                html.inputField(
                    "tags", .formTags, value: tags.joined(separator: ", "), hint: .formTagsHint, isWide: true)
                html.inputField("note", .formNote, value: note, hint: .formNoteHint, isWide: true)
            }
        }
    }
}

extension SiteSettingsForm {
    /// The interval of automatic updates in words; nil if the site is not updated automatically.
    func interval(in language: PortalLanguage) -> String? {
        guard let updateInterval, updateInterval != Self.never else { return nil }
        if let known = Self.intervals.first(where: { $0.value == updateInterval }) {
            return known.words.text(in: language)
        }
        return UpdateSchedule(updateInterval).map {
            Phrase(.everyOther, language.interval($0.seconds)).text(in: language)
        }
    }

    private static let intervals: [(value: String, words: Phrase)] = [
        (Self.never, Phrase(.everyNever)), ("hourly", Phrase(.everyHour)), ("6h", Phrase(.everySix)),
        ("daily", Phrase(.everyDay)), ("weekly", Phrase(.everyWeek)),
    ]

    /// Writes the list of update intervals.
    fileprivate func writeSchedule(to html: inout HTMLWriter, hasTimerSection: Bool) {
        var choices = Self.intervals
        // A schedule that was set by the command.
        if let updateInterval, !choices.contains(where: { $0.value == updateInterval }) {
            let interval =
                UpdateSchedule(updateInterval).map { html.language.interval($0.seconds) } ?? updateInterval
            choices.append((updateInterval, Phrase(.everyOther, interval)))
        }
        html.element("div", ["class": "field"]) { html in
            html.element("label", ["for": "f-every"], say: .formEvery)
            html.element("select", ["id": "f-every", "name": "every", "aria-describedby": "f-every-hint"]) {
                html in
                for choice in choices {
                    html.element(
                        "option",
                        [
                            "value": choice.value,
                            "selected": choice.value == updateInterval ?? Self.never ? "" : nil,
                        ],
                        say: choice.words)
                }
            }
            html.element("small", ["id": "f-every-hint"]) { html in
                html.say(.formEveryHint)
                html.text(" ")
                if hasTimerSection {
                    html.link("#\(HTMLWriter.timerSection)", say: .installTimer)
                } else {
                    html.say(.formTimerHelp)
                }
            }
        }
    }
}

extension HTMLWriter {
    /// Writes the form that starts a prefetch.
    ///
    /// - Parameters:
    ///   - form: the values of its fields.
    ///   - isMistaken: whether a field of the form was invalid.
    mutating func prefetchForm(
        _ context: PortalContext, _ form: PortalRequest? = nil, isMistaken: Bool = false
    ) {
        commandForm("prefetch", context, style: "order sheetlike") { html in
            html.inputField(
                "url", .formAddress, type: "text", value: form?["url"] ?? "", hint: .formAddressHint,
                isRequired: true, isWide: true, mode: "url",
                mistake: isMistaken ? "mistake f-url-hint" : nil)
            let plan = SiteSettingsForm(readable: form)
            html.choiceField(
                "what", .formWhat, [("site", .whatSite), (SiteSettingsForm.pageOnly, .whatPage)],
                chosen: plan.isOnlyPage ? SiteSettingsForm.pageOnly : "site")
            plan.writeSchedule(to: &html, hasTimerSection: false)
            html.element("details", ["open": isMistaken ? "" : nil]) { html in
                html.element("summary", say: .formMore)
                plan.write(to: &html, isNew: true)
            }
            html.element("button", ["type": "submit"], say: .doPrefetch)
        }
    }
}
