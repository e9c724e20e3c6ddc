internal import Reports
internal import Store
internal import Web

/// The size of a snapshot by kinds of content, which have names for people.
struct StorageByKind {
    /// The kinds in the order of the list, with their sums.
    let kinds: [(kind: Kind, count: Int, byteCount: Int64)]

    enum Kind: CaseIterable {
        case pages, images, scripts, styles, fonts, media, documents, data, other
        /// The bodies of errors and redirects, and the texts, pictures and copies of rendered pages.
        case additional

        init(_ tally: TypeTally) { self = tally.count == 0 ? .additional : Self(tally.type) }

        /// - Parameter type: the media type without parameters; nil if there was none.
        init(_ type: String?) {
            let type = type?.lowercased() ?? ""
            func contains(_ words: String...) -> Bool { words.contains { type.utf8.contains($0.utf8) } }
            if contains("html") {
                self = .pages
            } else if type.hasPrefix("image/") {
                self = .images
            } else if contains("javascript", "ecmascript", "wasm") {
                self = .scripts
            } else if contains("css") {
                self = .styles
            } else if contains("font") {
                self = .fonts
            } else if type.hasPrefix("audio/") || type.hasPrefix("video/") {
                self = .media
            } else if contains("pdf", "epub", "msword", "opendocument", "officedocument") {
                self = .documents
            } else if contains("json", "xml", "csv", "text/") {
                self = .data
            } else {
                self = .other
            }
        }

        var sentence: Sentence {
            switch self {
            case .pages: .kindHTML
            case .images: .kindImages
            case .scripts: .scripts
            case .styles: .kindStyles
            case .fonts: .kindFonts
            case .media: .kindMedia
            case .documents: .kindDocuments
            case .data: .kindData
            case .other: .kindOther
            case .additional: .kindAdditional
            }
        }
    }

    init(_ types: [TypeTally]) {
        kinds = Kind.allCases.compactMap { kind in
            let own = types.filter { Kind($0) == kind }
            guard !own.isEmpty else { return nil }
            return (kind, own.reduce(0) { $0 + $1.count }, own.reduce(0) { $0 + $1.byteCount })
        }.sorted { $0.byteCount > $1.byteCount }
    }

    /// Writes a table with a bar for each kind. `id` is the id of its heading.
    func write(labelledBy id: String, to html: inout HTMLWriter) {
        let largest = max(kinds.first?.byteCount ?? 0, 1)
        html.scrollRegion(labelledBy: id) { html in
            html.element("table", ["class": "kinds"]) { html in
                html.tableHead([
                    (html.words(.kind), false), (html.words(.responses), true),
                    (html.words(.figureSize), true),
                ])
                html.element("tbody") { html in
                    for (kind, count, byteCount) in kinds {
                        html.element("tr") { html in
                            html.element("th", ["scope": "row"]) { html in
                                html.say(kind.sentence)
                                let width = max(1, 100 * byteCount / largest)
                                html.element(
                                    "svg",
                                    [
                                        "viewBox": "0 0 100 1", "preserveAspectRatio": "none",
                                        "aria-hidden": "true",
                                    ]
                                ) { html in
                                    html.element("rect", ["width": "\(width)", "height": "1"]) { _ in }
                                }
                            }
                            html.element(
                                "td", ["class": "number"], text: count > 0 ? html.language.number(count) : "")
                            html.element("td", ["class": "number"], text: html.language.bytes(byteCount))
                        }
                    }
                }
            }
        }
    }
}
