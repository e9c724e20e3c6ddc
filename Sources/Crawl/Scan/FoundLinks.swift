internal import Markup
internal import Synchronization
internal import Web

/// A link as the frontier takes it: resolved, without its fragment, and only once per document.
struct FoundLink: Sendable, Equatable {
    enum Target: Sendable, Equatable {
        /// A URL. The frontier stores its number in the `LinkNumberCache` under this key, unless the key is 0.
        case url(WebURL, remember: UInt64)
        /// The frontier's number of the URL, from the `LinkNumberCache`.
        case number(UInt32)
    }

    let target: Target
    let role: Frontier.Role
    /// The page redirects there by itself, such as with `<meta http-equiv=refresh>`.
    var isRefresh = false
    /// A string in a script that looks like a link, and may not be one.
    var isGuess = false
    /// A link to a page that must not be followed from this document.
    var isNofollow = false
    /// A link that changes something on the server when it is requested.
    var isAction = false
    /// The browser would request it by CORS.
    var isCORS = false
    /// Why it is not requested, if it belongs to a video or sound that is left out, or has a placeholder of a template.
    var leftOut: SkipReason?
}

extension FoundLink {
    /// The URL; nil for a target that is only a number.
    var url: WebURL? { if case .url(let url, _) = target { url } else { nil } }

    init(
        isRefresh: Bool = false, url: WebURL, role: Frontier.Role, isGuess: Bool = false,
        isNofollow: Bool = false,
        isCORS: Bool = false
    ) {
        self.init(
            target: .url(url, remember: 0), role: role, isRefresh: isRefresh, isGuess: isGuess,
            isNofollow: isNofollow, isCORS: isCORS)
    }
}

/// The frontier's numbers of links that were resolved before, by base and reference. Most links of a page are
/// also on similar pages, and need not be resolved and looked up again.
///
/// Scan threads read it, and only the frontier writes to it. It is a hash table without locks: two keys with
/// the same slot replace each other, which only costs time.
final class LinkNumberCache: Sendable {
    /// A number, and its key XOR the number. A thread that reads them while they are being changed finds that
    /// they do not match.
    private struct Slot: ~Copyable {
        let check = Atomic<UInt64>(0)
        let number = Atomic<UInt64>(0)
    }

    private static let count = 1 << 14
    private nonisolated(unsafe) let slots = UnsafeMutablePointer<Slot>.allocate(capacity: count)

    init() {
        for place in 0..<Self.count { (slots + place).initialize(to: Slot()) }
    }

    deinit {
        slots.deinitialize(count: Self.count)
        slots.deallocate()
    }

    func number(_ key: UInt64) -> UInt32? {
        let place = Int(key % UInt64(Self.count))
        let number = slots[place].number.load(ordering: .relaxed)
        return slots[place].check.load(ordering: .relaxed) ^ number == key ? UInt32(number) : nil
    }

    func keep(_ number: UInt32, as key: UInt64) {
        guard key != 0 else { return }
        let place = Int(key % UInt64(Self.count))
        slots[place].check.store(key ^ UInt64(number), ordering: .relaxed)
        slots[place].number.store(UInt64(number), ordering: .relaxed)
    }

    /// The base of the references in a document, as far as it decides their targets.
    struct Base {
        private let origin: UInt64
        private let folder: UInt64

        /// Returns nil if targets are not remembered for this base.
        init?(_ url: WebURL, _ encoding: TextEncoding) {
            guard url.isHTTP else { return nil }
            var hasher = Hasher()
            hasher.combine(encoding)
            var ofFolder = hasher
            url.hashOrigin(into: &hasher)
            url.hashFolder(into: &ofFolder)
            origin = UInt64(truncatingIfNeeded: hasher.finalize())
            folder = UInt64(truncatingIfNeeded: ofFolder.finalize())
        }

        /// The key of a reference. 0 if it is not remembered, because its target depends on more than the
        /// folder of the base.
        func key(_ reference: Span<UInt8>, hash: UInt64) -> UInt64 {
            guard !reference.isEmpty else { return 0 }
            switch reference[0] {
            case UInt8(ascii: "/"): return hash ^ origin
            case UInt8(ascii: "?"), 0...UInt8(ascii: " "): return 0
            default: return hash ^ folder
            }
        }
    }
}

/// Hashes that distinguish texts. The seed is random, so that a website cannot construct a collision.
enum SeededHash {
    private static let seed = (UInt64.random(in: 0...UInt64.max), UInt64.random(in: 0...UInt64.max) | 1)

    static func of(_ bytes: UnsafeRawBufferPointer, _ kind: UInt64) -> UInt64 {
        let (first, second) = seed
        var hash = fold(first ^ kind, second ^ UInt64(truncatingIfNeeded: bytes.count))
        var place = 0
        while bytes.count - place >= 8 {
            hash = fold(hash ^ bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self), second)
            place += 8
        }
        var rest: UInt64 = 0
        for byte in bytes[place...] { rest = rest << 8 | UInt64(byte) }
        return fold(fold(hash ^ rest, second), first | 1)
    }

    private static func fold(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.high ^ product.low
    }
}

private struct HashSet {
    private static let minSlots = 1 << 10
    /// The hashes; 0 for an empty slot. The count is a power of two, and at most half of the slots are used.
    private var slots = [UInt64](repeating: 0, count: minSlots)
    private var count = 0

    func contains(_ hash: UInt64) -> Bool {
        let hash = max(hash, 1)
        var slot = Int(truncatingIfNeeded: hash) & (slots.count - 1)
        while slots[slot] != 0 {
            if slots[slot] == hash { return true }
            slot = (slot + 1) & (slots.count - 1)
        }
        return false
    }

    /// Returns whether the hash is new.
    mutating func insert(_ hash: UInt64) -> Bool {
        let hash = max(hash, 1)
        var slot = Int(truncatingIfNeeded: hash) & (slots.count - 1)
        while slots[slot] != 0 {
            if slots[slot] == hash { return false }
            slot = (slot + 1) & (slots.count - 1)
        }
        slots[slot] = hash
        count += 1
        if count * 2 > slots.count { grow() }
        return true
    }

    /// Removes all hashes, and halves the table if few of its slots were used, so that the memory for a large
    /// document is released.
    mutating func removeAll() {
        if slots.count > Self.minSlots, count * 16 < slots.count {
            slots = [UInt64](repeating: 0, count: slots.count / 2)
        } else {
            for slot in slots.indices { slots[slot] = 0 }
        }
        count = 0
    }

    private mutating func grow() {
        let old = slots
        slots = [UInt64](repeating: 0, count: old.count * 2)
        count = 0
        for hash in old where hash != 0 { _ = insert(hash) }
    }
}

/// The references of one document, without fragments and duplicates, until the base of the document is known.
/// The memory is reused for the next document.
struct ReferenceList {
    private struct Reference {
        let range: Range<Int>
        let role: Frontier.Role
        let isRefresh: Bool
        let flags: LinkFlags
        let hash: UInt64
        let isMedia: Bool
        /// Whether the reference has a placeholder that a template engine or a script replaces.
        let isTemplate: Bool
    }

    /// The flags by which references with the same text are distinguished.
    private static let distinguishingFlags: LinkFlags = [.ignoresBase, .isGuess, .isNofollow]

    private var bytes: [UInt8] = []
    private var references: [Reference] = []
    private var seen = HashSet()
    /// How many references of each role there are, by the role's raw value.
    private var counts = [0, 0, 0]
    /// Whether the document has more links than are followed.
    private(set) var isCut = false
    /// The maximum number of references of each role that are taken from one document.
    let maxLinks: Int
    /// Whether videos, sounds and their playlists are left out.
    private let leavesMedia: Bool

    init(maxLinks: Int, leavesMedia: Bool = false) {
        self.maxLinks = maxLinks
        self.leavesMedia = leavesMedia
    }

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        references.removeAll(keepingCapacity: true)
        seen.removeAll()
        counts = [0, 0, 0]
        isCut = false
    }

    mutating func append(_ occurrence: LinkOccurrence, _ reference: Span<UInt8>) {
        guard let role = Frontier.Role(occurrence.kind), !occurrence.flags.contains(.isFragment) else {
            return
        }
        var flags = occurrence.flags.intersection(Self.distinguishingFlags)
        if occurrence.kind.isCORS(occurrence.flags) { flags.insert(.isCORS) }
        let isTemplate = occurrence.context.isOfAttribute && TemplatePlaceholder.isIn(reference)
        if isTemplate { flags.insert(.isGuess) }
        let start = bytes.count
        reference.withUnsafeBufferPointer { reference in
            // Everything after the first number sign is the fragment. Many links differ only in it.
            let reference = UnsafeBufferPointer(
                rebasing: reference.prefix(
                    upTo: reference.firstIndex(of: UInt8(ascii: "#")) ?? reference.count))
            let hash = SeededHash.of(
                UnsafeRawBufferPointer(reference), UInt64(flags.rawValue) << 8 | UInt64(role.rawValue))
            let place = Int(role.rawValue)
            guard counts[place] < maxLinks else {
                isCut = isCut || !seen.contains(hash)
                return
            }
            guard seen.insert(hash) else { return }
            counts[place] += 1
            bytes.append(contentsOf: reference)
            references.append(
                Reference(
                    range: start..<bytes.count, role: role, isRefresh: occurrence.kind == .refresh,
                    flags: flags, hash: hash, isMedia: occurrence.kind.isMedia, isTemplate: isTemplate))
        }
    }

    /// Returns the targets of the references, without fragments. References that are not valid URLs are left
    /// out, as in a browser.
    ///
    /// - Parameter memory: The targets of earlier documents; nil to resolve all references.
    func resolve(
        against url: WebURL, table: LinkTable,
        _ directivePolicy: DirectivePolicy = DirectivePolicy(nofollow: .follow),
        _ directives: PageDirectives = [], memory: LinkNumberCache? = nil
    ) -> [FoundLink] {
        let base = table.base.flatMap { WebURL($0, base: url) } ?? url
        var links: [FoundLink] = []
        links.reserveCapacity(references.count + table.implied.count)
        let bytes = bytes.span
        let place = memory.flatMap { _ in LinkNumberCache.Base(base, table.encoding) }
        for reference in references {
            let text = bytes.extracting(reference.range)
            let isLeft =
                reference.role == .page
                && directivePolicy.skipsLink(isMarked: reference.flags.contains(.isNofollow), on: directives)
            var key: UInt64 = 0
            let isLeftMedia = leavesMedia && reference.isMedia
            let leftOut: SkipReason? = isLeftMedia ? .rendition : reference.isTemplate ? .guess : nil
            if let memory, let place, !isLeft, leftOut == nil, !reference.flags.contains(.ignoresBase) {
                key = place.key(text, hash: reference.hash)
                if key != 0, let number = memory.number(key) {
                    links.append(
                        FoundLink(
                            target: .number(number), role: reference.role, isRefresh: reference.isRefresh,
                            isGuess: reference.flags.contains(.isGuess),
                            isCORS: reference.flags.contains(.isCORS)))
                    continue
                }
            }
            let target = WebURL(
                utf8: text,
                base: reference.flags.contains(.ignoresBase) ? url : base,
                queryEncoding: table.encoding)
            guard let target, !target.isInert else { continue }
            links.append(
                FoundLink(
                    target: .url(target.key, remember: key), role: reference.role,
                    isRefresh: reference.isRefresh,
                    isGuess: isLeftMedia || reference.flags.contains(.isGuess), isNofollow: isLeft,
                    isCORS: reference.flags.contains(.isCORS), leftOut: leftOut))
        }
        for link in table.implied {
            guard let role = Frontier.Role(link.kind),
                let target = WebURL(link.reference(fromBodyAt: url.path), base: base), !target.isInert
            else { continue }
            let isLeftMedia = leavesMedia && link.kind.isMedia
            var found = FoundLink(
                url: target.key, role: role, isGuess: isLeftMedia || link.flags.contains(.isGuess),
                isNofollow: role == .page && directivePolicy.skipsLink(isMarked: false, on: directives),
                isCORS: link.kind.isCORS(link.flags))
            if isLeftMedia { found.leftOut = .rendition }
            links.append(found)
        }
        return links
    }
}

extension Frontier.Role {
    /// Returns nil for links that are never fetched.
    init?(_ kind: LinkKind) {
        switch kind.role {
        // A frame is part of the page that contains it.
        case .page: self = kind.isPartOfPage ? .asset : .page
        case .asset: self = .asset
        case .other: return nil
        }
    }
}

extension WebURL {
    /// Whether the URL contains its content or action, so that there is nothing to fetch.
    fileprivate var isInert: Bool {
        switch scheme {
        case "data", "javascript", "mailto", "tel", "sms", "about", "blob", "urn": true
        default: false
        }
    }
}
