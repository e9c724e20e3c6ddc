/// Media presentation descriptions (ISO/IEC 23009-1).
///
/// The `BaseURL` of the whole presentation is its base. Further inside it is either a file, or a folder for what stands beside
/// and below it: then those have no reference of their own and are implied. Names with `$Number$` and the like are left out.
final class DASHVocabulary: XMLVocabulary {
    /// Folders that hold inside an element, by its depth.
    private var folders: [(depth: Int, folder: String)] = []

    func opened(_ scanner: XMLScanner) {
        while let last = folders.last, last.depth >= scanner.elements.count { folders.removeLast() }
        if scanner.isElement("period") || scanner.isElement("adaptationset") {
            scanner.add(scanner.attribute("xlink:href"), .playlist)
        } else if scanner.isElement("segmenttemplate") {
            for attribute in scanner.elements.last?.tag.attributes ?? [] {
                let name = scanner.text.bytes.part(attribute.name)
                guard name.equals("initialization") || name.equals("media") || name.equals("index") else { continue }
                add(attribute, scanner)
            }
        } else if scanner.isElement("initialization") || scanner.isElement("representationindex") {
            if let attribute = scanner.attribute("sourceurl") { add(attribute, scanner) }
        } else if scanner.isElement("segmenturl") {
            for attribute in scanner.elements.last?.tag.attributes ?? [] {
                let name = scanner.text.bytes.part(attribute.name)
                if name.equals("media") || name.equals("index") { add(attribute, scanner) }
            }
        }
    }

    func closed(_ scanner: XMLScanner) {
        if scanner.isElement("location") || scanner.isElement("patchlocation") {
            scanner.addContent(.playlist)
        } else if scanner.isElement("baseurl") {
            base(scanner)
        }
    }

    private func base(_ scanner: XMLScanner) {
        let address = scanner.content
        let isFolder = address.hasSuffix("/")
        let depth = scanner.elements.count - 1
        if scanner.isElement("mpd", out: 1) {
            scanner.addContent(.base, .ignoresBase)
            if scanner.sink.table.base == nil { scanner.sink.table.base = address }
        } else if !isFolder {
            media(address, scanner) { scanner.addContent(.media) }
        } else if !folders.contains(where: { $0.depth == depth }) {
            // Of several for one element each would do: the first counts.
            scanner.addContent(.codebase)
            let folder = Self.join(folders.last?.folder ?? "", address)
            if folder.utf8.count <= XMLScanner.maximalLength { folders.append((depth, folder)) }
        }
    }

    private func add(_ attribute: XMLTag.Attribute, _ scanner: XMLScanner) {
        let address = scanner.value(attribute)
        if !address.contains("$") { media(address, scanner) { scanner.add(attribute, .media) } }
    }

    private func media(_ address: String, _ scanner: XMLScanner, _ add: () -> Void) {
        guard let folder = folders.last?.folder, Self.isRelative(address) else {
            add()
            return
        }
        scanner.imply(ImpliedLink(folder + address, .media))
    }

    private static func isRelative(_ address: String) -> Bool {
        Array(address.utf8).withUnsafeBufferPointer {
            ReferenceShape($0) == .relative && $0.first != UInt8(ascii: "/")
        }
    }

    private static func join(_ outer: String, _ inner: String) -> String {
        isRelative(inner) ? outer + inner : inner
    }
}
