import Markup
import TestOrigin
import Testing
import Web

/// The union of the attributes that other tools treat as links.
@Suite struct LinkRuleTests {
    struct Row: Sendable, CustomStringConvertible {
        var element: String
        var attribute: String
        var kind: String
        var syntax: String
        var description: String { "\(element) \(attribute)" }
    }

    static let rows: [Row] = ConformanceData.cases("html/url-attributes.json", "attributes").map {
        Row(
            element: $0["element"]?.string ?? "", attribute: $0["attribute"]?.string ?? "",
            kind: $0["kind"]?.string ?? "", syntax: $0["syntax"]?.string ?? "")
    }

    /// Rows from which Larder deviates on purpose.
    static let exceptions: [String: String] = [
        "meta[http-equiv=Content-Security-Policy] content":
            "a policy names origins, not addresses; the server relaxes it",
        "script[type=importmap] (text)": "read by the scanner of import maps",
        "script[type=speculationrules] (text)": "read by the scanner of speculation rules",
        "script[type=\"application/ld+json\"] (text)": "read by the scanner of JSON",
        "noscript (content)": "markup inside, see HTMLScannerTests",
        "template[shadowrootmode] (content)": "markup inside, see HTMLScannerTests",
        "comment [if IE]": "markup inside, see HTMLScannerTests",
        "style (text)": "see CSSScannerTests",
        "?xml-stylesheet href": "XML, read by its scanner",
        "rss:enclosure url": "XML, read by its scanner",
        "atom:link href": "XML, read by its scanner",
        "sitemap:loc (text)": "XML, read by its scanner",
        "sitemap image:loc (text)": "XML, read by its scanner",
        "sitemap xhtml:link href": "XML, read by its scanner",
        "sitemap video:content_loc (text)": "XML, read by its scanner",
        "webmanifest icons[].src / screenshots[].src / shortcuts[].icons[].src / start_url / shortcuts[].url":
            "JSON, read by its scanner",
        "xml xml:base": "XML, read by its scanner",
    ]

    /// A start tag for a row with `value`, and the markup that it needs around it.
    private func markup(_ row: Row, _ attribute: String, _ value: String) -> String {
        var name = row.element
        var others = ""
        var before = ""
        if name.hasPrefix("svg:") {
            before = "<svg>"
            name = name == "svg:*" ? "rect" : String(name.dropFirst(4))
        } else if name.hasPrefix("math:") {
            before = "<math>"
            name = name == "math:*" ? "mrow" : String(name.dropFirst(5))
        } else if name == "*" {
            name = "div"
        } else if let bracket = name.firstIndex(of: "[") {
            let condition = name[name.index(after: bracket)...].dropLast()
            name = String(name[..<bracket])
            let parts = condition.split(separator: "=", maxSplits: 1).map(String.init)
            let key = parts[0].hasSuffix("~") ? String(parts[0].dropLast()) : parts[0]
            if parts.count == 2, parts[1] != "(none)" {
                others = " \(key == "property|name" ? "property" : key)=\"\(parts[1])\""
            }
        } else if name == "input", attribute == "src" {
            others = " type=image"
        } else if name == "param" {
            others = " valuetype=ref"
        }
        return "\(before)<\(name)\(others) \(value)>"
    }

    private func value(_ row: Row, _ address: String) -> String {
        switch row.syntax {
        case "srcset": "other.png 1x, \(address) 2x"
        case "space-list": "http://other/ \(address)"
        case "comma-list": "other.jar, \(address)"
        case "refresh": "0; url=\(address)"
        case "css": row.attribute == "style" ? "color: red; background: url(\(address))" : "url(\(address))"
        case "html": "&lt;img src=\(address)&gt;"
        default: address
        }
    }

    @Test(
        "Each attribute is found in every spelling",
        .enabled(if: ConformanceData.isThere, "the conformance data is not there (LARDER_CONFORMANCE)"),
        arguments: rows
    )
    func row(_ row: Row) {
        if Self.exceptions[row.description] != nil { return }
        let attribute = row.attribute == "hotspotN" ? "hotspot1" : row.attribute
        let address = "http://example.com/a/b.png?x=1"
        let reference = address.replacing("?x=1", with: "?x=1&y=2")
        let escaped = value(row, address + "&amp;y=2")
        let doubled = row.syntax == "html" ? escaped.replacing("&amp;", with: "&amp;amp;") : escaped
        let ways = [
            "\(attribute)=\"\(doubled)\"",
            "\(attribute)='\(doubled)'",
            "\(attribute.uppercased())\n=\n\"\(doubled)\"",
            "class=x \(attribute)=\"\(doubled)\" \(attribute)=\"second.png\" id='y'",
            "\(attribute)=\"\(doubled.replacing("example", with: "ex&#x61;mple").replacing("/b", with: "&#47;b"))\"",
            "\(attribute)=\(doubled.replacing(" ", with: "&#32;"))",
        ]
        for way in ways {
            let html = "<!doctype html><p>" + markup(row, attribute, way) + "</p>"
            let scan = Scan(html)
            #expect(scan.faults == [], "\(html)")
            let found = scan.found.last { $0.reference == reference }
            #expect(found != nil, "\(html) \(scan.found)")
            let role: LinkRole = row.kind == "page" ? .page : row.kind == "resource" ? .asset : .other
            #expect(found?.kind.role == role || row.syntax == "html", "\(html) \(scan.found)")
            #expect(!scan.references.contains("second.png"))
        }
    }
}
