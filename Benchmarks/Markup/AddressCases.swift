internal import Markup
internal import Web

/// Measures resolving all references of the documents against their URLs.
enum AddressCases {
    static func run(_ meter: Meter) {
        let scanner = LinkScanner()
        let set = meter.set
        let root = WebURL("https://docs.example.org/")
        let bases = set.paths.map { root?.resolving($0) }
        let references = set.bodies.map { body in
            var references: [[UInt8]] = []
            _ = scanner.scan(body.span, as: set.format, charset: nil) { _, reference in
                references.append(reference.withUnsafeBufferPointer { Array($0) })
            }
            return references
        }
        meter.measure("resolve", counting: "references") { index in
            references[index].count { WebURL(utf8: $0.span, base: bases[index]) != nil }
        }
        let addresses = set.bodies.indices.map { index in
            references[index].compactMap {
                WebURL(utf8: $0.span, base: bases[index]).map { Array($0.href.utf8) }
            }
        }
        meter.measure("parse", counting: "addresses") { index in
            addresses[index].count { WebURL(utf8: $0.span) != nil }
        }
    }
}
