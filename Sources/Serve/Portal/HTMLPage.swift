/// A page of the larder's own: plain HTML and CSS, light and dark, without scripts.
struct HTMLPage {
    let title: String
    /// Markup; whatever comes from outside is escaped in it already.
    let body: String

    var text: String {
        """
        <!doctype html>
        <html lang="en">
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>\(Self.escape(title))</title>
        <style>\(Self.style)</style>
        <main>
        \(body)
        </main>
        </html>

        """
    }

    static func escape(_ text: String) -> String {
        var escaped: [UInt8] = []
        escaped.reserveCapacity(text.utf8.count)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "&"): escaped.append(contentsOf: "&amp;".utf8)
            case UInt8(ascii: "<"): escaped.append(contentsOf: "&lt;".utf8)
            case UInt8(ascii: ">"): escaped.append(contentsOf: "&gt;".utf8)
            case UInt8(ascii: "\""): escaped.append(contentsOf: "&quot;".utf8)
            case UInt8(ascii: "'"): escaped.append(contentsOf: "&#39;".utf8)
            default: escaped.append(byte)
            }
        }
        return String(decoding: escaped, as: UTF8.self)
    }

    private static let style = """
        :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
        body { margin: 0; }
        main { max-width: 52rem; margin: 0 auto; padding: 2rem 1rem; }
        h1 { font-size: 1.6rem; }
        table { border-collapse: collapse; width: 100%; }
        th, td { text-align: left; padding: .4rem .8rem .4rem 0; border-bottom: 1px solid #8884; vertical-align: top; }
        td.number, th.number { text-align: right; }
        .url, pre { overflow-wrap: anywhere; white-space: pre-wrap; font-family: ui-monospace, monospace; }
        """
}
