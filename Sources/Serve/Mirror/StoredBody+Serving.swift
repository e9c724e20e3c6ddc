internal import Markup
internal import Store

extension StoredBody {
    /// Something that a browser shows as a page, for which a security policy counts.
    var isDocument: Bool {
        let format = form.utf8.prefix { $0 != UInt8(ascii: ";") }
        return [BodyFormat.html, .xhtml, .svg, .xml].contains { format.elementsEqual($0.name.utf8) }
    }
}

extension [(String, String)] {
    /// The body goes out in UTF-8, whatever it was stored in.
    mutating func sayUTF8() {
        for index in indices where self[index].0.lowercased() == "content-type" {
            let essence = self[index].1.utf8.prefix { $0 != UInt8(ascii: ";") }
            self[index].1 = "\(Substring(essence)); charset=utf-8"
        }
    }
}
