internal import Reports
internal import Web

/// Elements that several pages of the portal share.
extension HTMLWriter {
    /// Writes a search form. It works without scripts; `SearchScript` finds its field by the class and the name.
    ///
    /// - Parameters:
    ///   - action: the path that answers the form.
    ///   - words: the words that the field contains at first.
    ///   - filters: writes further fields.
    mutating func searchForm(
        _ action: String, label: String, words: String = "", filters: (inout HTMLWriter) -> Void = { _ in }
    ) {
        element("form", ["class": "find", "role": "search", "method": "get", "action": action]) { html in
            html.element("label", ["for": "q"], text: label)
            html.void(
                "input",
                [
                    "id": "q", "name": "q", "type": "search", "value": words,
                    "maxlength": "\(PortalLimits.maxSearchTextBytes)",
                    "autocomplete": "off", "spellcheck": "false",
                ])
            html.element("button", ["type": "submit"], say: .doSearch)
            filters(&html)
        }
    }

    /// Writes the form that opens the copy of a URL.
    mutating func openForm() {
        element("form", ["class": "find", "method": "get", "action": PortalLinks.open]) { html in
            html.element("label", ["for": "open"], say: .openOriginal)
            html.void(
                "input",
                [
                    "id": "open", "name": "url", "type": "text", "inputmode": "url", "required": "",
                    "placeholder": "https://example.com/", "autocomplete": "off", "spellcheck": "false",
                ])
            html.element("button", ["type": "submit", "class": "quiet"], say: .doOpen)
        }
    }

    /// Writes a labelled list of options, of which the user selects one. The texts may come from outside.
    mutating func selectField(
        _ name: String, _ label: Sentence, _ options: [(value: String, text: String)], _ chosen: String?,
        isHidden: Bool = false
    ) {
        element("div", ["class": "field", "hidden": isHidden ? "" : nil]) { html in
            html.element("label", ["for": name], say: label)
            html.element("select", ["id": name, "name": name]) { html in
                for option in options {
                    html.element(
                        "option",
                        ["value": option.value, "selected": option.value == chosen ?? "" ? "" : nil],
                        text: Wording.cut(option.text, to: 60))
                }
            }
        }
    }

    /// Writes the bar of a job. Without a value, browsers show that the job runs.
    mutating func progressBar(_ progress: JobProgress) {
        element(
            "progress",
            [
                "data-figure": "share", "max": "1", "value": progress.share.map { "\($0)" },
                "aria-label": words(.progress),
            ]
        ) { _ in }
    }

    /// Writes a name and its value in a `dl` of the class `facts`.
    mutating func fact(_ name: String, _ value: String) {
        element("div") { html in
            html.element("dt", text: name)
            html.element("dd", text: value)
        }
    }

    /// Writes a name and its value in a `dl` of the class `sheet`. The value may come from outside.
    mutating func sheetRow(_ name: Sentence, _ value: String) {
        sheetRow(name) { $0.isolatedText(value) }
    }

    mutating func sheetRow(_ name: Sentence, _ value: (inout HTMLWriter) -> Void) {
        element("dt", say: name)
        element("dd") { value(&$0) }
    }

    /// Writes a box that scrolls sideways when its table is wider than the window.
    ///
    /// The box can have the focus, since otherwise it could not be scrolled with the keyboard (WCAG 2.1.1), and a
    /// name, which screen readers say then: the text of the element with the id, or the label.
    mutating func scrollRegion(
        labelledBy id: String? = nil, label: String? = nil, _ content: (inout HTMLWriter) -> Void
    ) {
        element(
            "div",
            [
                "class": "scroll", "role": "region", "aria-labelledby": id, "aria-label": label,
                "tabindex": "0",
            ],
            content)
    }

    /// Writes the heading row of a table. Columns of numbers are aligned to the right.
    mutating func tableHead(_ columns: [(name: String, isNumber: Bool)]) {
        element("thead") { html in
            html.element("tr") { html in
                for column in columns {
                    html.element(
                        "th", ["scope": "col", "class": column.isNumber ? "number" : nil], text: column.name)
                }
            }
        }
    }

    /// Writes the link to the next page of a list, or to a page that continues this one.
    mutating func nextLink(_ address: String, _ text: String) {
        element("p", ["class": "next"]) {
            $0.link(address, ["class": "button quiet", "rel": "next"], text: text)
        }
    }

    /// Writes how many items of a list are left out; nothing if all are shown.
    mutating func leftOutNote(of count: Int, shown: Int = PortalLimits.maxListItems) {
        guard count > shown else { return }
        element("p", ["class": "soft"], say: Phrase(.andMore, Wording.number(count - shown)))
    }

    /// Writes the reason why the visitor can change nothing; nothing if the visitor can.
    mutating func explainReadOnly(_ context: PortalContext) {
        guard let reason = context.readOnlyReason else { return }
        element("p", ["class": "soft"], say: reason)
    }

    /// Writes the commands for the whole store: update all sites, and import an archive.
    mutating func storeCommands(_ context: PortalContext) {
        guard context.token != nil else { return }
        element("div", ["class": "orders"]) { html in
            html.commandButton("update", .doUpdateAll, context)
            if context.hasFiles {
                html.link(PortalLinks.importForm, ["class": "button quiet"], say: .importTitle)
            }
        }
    }
}
