internal import Store

/// What a body is to a browser, as far as serving it goes.
enum DocumentForm {
    case html
    /// A document of XML in which scripts run: XHTML, a drawing, or any other that has elements of theirs.
    case xml
    /// What is shown by others, or is no document.
    case other

    /// By the form under which the body is kept: its format and its character set.
    init(_ body: StoredBody) {
        self.init(name: String(body.form.prefix { $0 != ";" }))
    }

    init(name: String) {
        switch name {
        case "html": self = .html
        case "xhtml", "svg", "xml": self = .xml
        default: self = .other
        }
    }
}
