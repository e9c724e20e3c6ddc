internal import Markup
internal import Web

/// Takes out of a document what would keep a browser from showing it here: policies that name the network's origins,
/// digests of bodies that are not what they were, since their links are rewritten, and what would hide from the larder whose
/// page asks.
///
/// Each is overwritten by as many bytes, so that every other place in the document stays where it was.
struct DocumentRepairs {
    let table: LinkTable
    let url: WebURL
    /// Whether what is held under a URL goes out with other bytes than came.
    let isRewritten: (WebURL) -> Bool

    /// What is overwritten, and by what.
    ///
    /// - Parameter bytes: what the table's ranges count in.
    func edits(in bytes: [UInt8]) -> [(range: Range<Int>, text: [UInt8])] {
        bytes.withUnsafeBufferPointer { policies(in: $0) + digests(in: $0) + referrers(in: $0) }.map { place, text in
            (place..<place + text.utf8CodeUnitCount, text.withUTF8Buffer { Array($0) })
        }
    }

    private typealias Change = (place: Int, text: StaticString)

    /// `<meta http-equiv=Content-Security-Policy>`: the larder's own policy is stricter.
    private func policies(in bytes: UnsafeBufferPointer<UInt8>) -> [Change] {
        bytes.places(of: "content-security-policy").compactMap { place in
            guard let (_, tag) = StartTag.around(place, in: bytes), bytes.says("meta", at: tag.name) else { return nil }
            let attribute = tag.attributes.first { $0.value.contains(place) }
            guard let attribute, bytes.says("http-equiv", at: attribute.name) else { return nil }
            return (place, "original-content-policy")
        }
    }

    /// `<meta name=referrer>` and `referrerpolicy`.
    private func referrers(in bytes: UnsafeBufferPointer<UInt8>) -> [Change] {
        bytes.places(of: "referrer").compactMap { place in
            guard let (_, tag) = StartTag.around(place, in: bytes) else { return nil }
            if bytes.says("meta", at: tag.name) {
                let attribute = tag.attributes.first { $0.value.contains(place) }
                guard let attribute, bytes.says("name", at: attribute.name),
                    bytes.says("referrer", at: attribute.value)
                else { return nil }
                return (place, "original")
            }
            let attribute = tag.attributes.first { $0.name.lowerBound == place }
            guard let attribute, bytes.says("referrerpolicy", at: attribute.name) else { return nil }
            return (place, "data-refpolicy")
        }
    }

    /// `integrity` where the body that it speaks of is rewritten; where it is not, the browser goes on checking it.
    private func digests(in bytes: UnsafeBufferPointer<UInt8>) -> [Change] {
        bytes.places(of: "integrity").compactMap { place in
            guard let (start, tag) = StartTag.around(place, in: bytes) else { return nil }
            let attribute = tag.attributes.first { $0.name.lowerBound == place }
            guard let attribute, bytes.says("integrity", at: attribute.name) else { return nil }
            let named = table.occurrences.first { start..<tag.end ~= $0.range.lowerBound && $0.role == .requisite }
            guard let named, let target = target(of: named, in: bytes), isRewritten(target) else { return nil }
            return (place, "data-hash")
        }
    }

    private func target(of occurrence: LinkOccurrence, in bytes: UnsafeBufferPointer<UInt8>) -> WebURL? {
        let base = table.base.flatMap { WebURL($0, base: url) } ?? url
        let reference = table.reference(occurrence, in: bytes.span)
        return WebURL(utf8: reference.span, base: base, queryEncoding: table.encoding)
    }
}
