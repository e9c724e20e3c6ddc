internal import Markup
internal import Web

/// In whose name things are asked for.
extension Frontier {
    /// Something asks for it by CORS. What came before that was known stays as it came.
    mutating func becomeCORS(_ number: UInt32) {
        var next = number
        while next != Record.nobody, !records[Int(next)].flags.contains(.isCORS) {
            records[Int(next)].flags.insert(.isCORS)
            next = records[Int(next)].target
        }
    }

    func isCORS(_ number: UInt32) -> Bool { records[Int(number)].flags.contains(.isCORS) }

    /// It came in this format. Whatever led there: what is HTML asks for what it needs in its own name, and a style sheet or
    /// a script in that of the document that needs it. What else a person goes to is a document too.
    mutating func came(_ number: UInt32, as format: BodyFormat?) {
        let isShown = records[Int(number)].role == .page && (format == .svg || format == .xml)
        if format == .html || format == .xhtml || isShown { records[Int(number)].flags.insert(.isDocument) }
    }

    /// The origin that a request by CORS names. Nil where it names none: within one origin, and where redirects have led
    /// over so many that browsers would say `null` (Fetch, section 4.4: a redirect from another origin than the document's
    /// to yet another one taints it).
    func origin(askingFor number: UInt32) -> String? {
        var (first, ways) = (number, [url(number).origin])
        while records[Int(first)].redirects > 0, records[Int(first)].referrer != Record.nobody {
            first = records[Int(first)].referrer
            ways.append(url(first).origin)
        }
        guard let asking = origin(ofWhoNeeds: first), asking != ways[0] else { return nil }
        let isTainted = zip(ways.dropFirst(), ways).contains { from, to in from != to && from != asking }
        return isTainted ? nil : asking
    }

    /// Of the nearest document on the way there, else of where the way begins.
    private func origin(ofWhoNeeds number: UInt32) -> String? {
        var next = number
        repeat {
            if let origin = origins[next] { return origin }
            next = records[Int(next)].referrer
            guard next != Record.nobody else { return nil }
        } while !records[Int(next)].flags.contains(.isDocument)
            && (records[Int(next)].referrer != Record.nobody || origins[next] != nil)
        let document = url(next)
        return document.isHTTP ? document.origin : nil
    }
}
