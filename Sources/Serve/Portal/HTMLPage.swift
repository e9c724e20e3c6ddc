internal import Web

/// A page of the larder's own that stands outside the portal, style included: plain HTML and CSS, light and dark, without
/// scripts.
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
        <style>\(PortalStyle.base)</style>
        <main>
        \(body)
        </main>
        </html>

        """
    }

    static func escape(_ text: String) -> String {
        var escaped: [UInt8] = []
        escaped.append(escaping: text.withVisibleControls)
        return String(decoding: escaped, as: UTF8.self)
    }
}
