internal import Markup
internal import Web

/// The references of one document, each kept once and without its fragment, until its base is known. Its memory is used
/// again for the next one.
struct ReferenceList {
    private struct Reference {
        let range: Range<Int>
        let role: Frontier.Role
        let isRefresh: Bool
        let flags: LinkFlags
    }

    /// Those by which links to one document are told apart.
    private static let telling: LinkFlags = [.ignoresBase, .isGuess, .isNofollow]

    private var bytes: [UInt8] = []
    private var references: [Reference] = []
    private var seen: Set<Int> = []

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        references.removeAll(keepingCapacity: true)
        seen.removeAll(keepingCapacity: true)
    }

    mutating func append(_ occurrence: LinkOccurrence, _ reference: Span<UInt8>) {
        guard let role = Frontier.Role(occurrence.kind), !occurrence.flags.contains(.isFragment) else { return }
        var flags = occurrence.flags.intersection(Self.telling)
        if occurrence.kind.isCORS(occurrence.flags) { flags.insert(.isCORS) }
        let start = bytes.count
        reference.withUnsafeBufferPointer { reference in
            // Wherever the first number sign stands, what follows is the fragment. Many links lead into one document.
            let reference = UnsafeBufferPointer(
                rebasing: reference.prefix(upTo: reference.firstIndex(of: UInt8(ascii: "#")) ?? reference.count))
            var hasher = Hasher()
            hasher.combine(bytes: UnsafeRawBufferPointer(reference))
            hasher.combine(role)
            hasher.combine(flags.rawValue)
            guard seen.insert(hasher.finalize()).inserted else { return }
            bytes.append(contentsOf: reference)
            references.append(
                Reference(
                    range: start..<bytes.count, role: role, isRefresh: occurrence.kind == .refresh, flags: flags))
        }
    }

    /// What the references lead to, without fragments. References that are no URL lead nowhere, as in a browser.
    func resolve(
        against url: WebURL, table: LinkTable, _ manners: PageManners = PageManners(nofollow: .ignore),
        _ directives: PageDirectives = []
    ) -> [FoundLink] {
        let base = table.base.flatMap { WebURL($0, base: url) } ?? url
        var links: [FoundLink] = []
        links.reserveCapacity(references.count + table.implied.count)
        let bytes = bytes.span
        for reference in references {
            let target = WebURL(
                utf8: bytes.extracting(reference.range), base: reference.flags.contains(.ignoresBase) ? url : base,
                queryEncoding: table.encoding)
            guard let target, !target.isInert else { continue }
            let isLeft =
                reference.role == .page
                && manners.leaves(linkMarked: reference.flags.contains(.isNofollow), on: directives)
            links.append(
                FoundLink(
                    isRefresh: reference.isRefresh, url: target.key, role: reference.role,
                    isGuess: reference.flags.contains(.isGuess), isNofollow: isLeft,
                    isCORS: reference.flags.contains(.isCORS)))
        }
        for link in table.implied {
            guard let role = Frontier.Role(link.kind),
                let target = WebURL(link.reference(fromBodyAt: url.path), base: base), !target.isInert
            else { continue }
            links.append(
                FoundLink(
                    url: target.key, role: role, isGuess: link.flags.contains(.isGuess),
                    isNofollow: role == .page && manners.leaves(linkMarked: false, on: directives),
                    isCORS: link.kind.isCORS(link.flags)))
        }
        return links
    }
}

extension Frontier.Role {
    /// Nil for what is never fetched.
    init?(_ kind: LinkKind) {
        switch kind.role {
        // A document inside another one is part of the picture.
        case .page: self = kind == .frame ? .requisite : .page
        case .requisite: self = .requisite
        case .other: return nil
        }
    }
}

extension WebURL {
    /// Carries its content or its action in itself: there is nothing to fetch.
    fileprivate var isInert: Bool {
        switch scheme {
        case "data", "javascript", "mailto", "tel", "sms", "about", "blob", "urn": true
        default: false
        }
    }
}
