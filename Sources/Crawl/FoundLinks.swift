internal import Markup
internal import Synchronization
internal import Web

/// A link as the frontier wants it: resolved, without its fragment, once for each document.
struct FoundLink: Sendable, Equatable {
    enum Target: Sendable, Equatable {
        /// To be remembered by this key, unless that is 0.
        case url(WebURL, remember: UInt64)
        /// The frontier's number, as it was remembered.
        case number(UInt32)
    }

    let target: Target
    let role: Frontier.Role
    /// The page leads on there by itself.
    var isRefresh = false
    /// It may be no link at all: a string in a script that looks like one.
    var isGuess = false
    /// It is a link to a page that is not to be followed from here.
    var isNofollow = false
    /// It is asked for by CORS.
    var isCORS = false
}

extension FoundLink {
    /// Nil for what is remembered as a number.
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

/// Where references led on pages before, as the frontier's numbers. Most links of a page stand in its neighbours
/// as well: they are neither resolved nor looked up again.
///
/// Those who scan read it, and the frontier alone writes. Two keys that belong in one place drive each other
/// out, which costs time and nothing else.
final class LinkMemory: Sendable {
    /// A number, and its key with the number's bits in it: whoever reads both while they change finds that they
    /// do not belong together.
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

    /// What the references of a document are relative to, as far as it decides where they lead.
    struct Base {
        private let origin: UInt64
        private let folder: UInt64

        /// Nil where nothing is remembered.
        init?(_ url: WebURL, _ encoding: TextEncoding) {
            guard url.isHTTP else { return nil }
            var hasher = Hasher()
            hasher.combine(encoding)
            var ofFolder = hasher
            url.hash(originInto: &hasher)
            url.hash(folderInto: &ofFolder)
            origin = UInt64(truncatingIfNeeded: hasher.finalize())
            folder = UInt64(truncatingIfNeeded: ofFolder.finalize())
        }

        /// 0 for what is not remembered: it depends on more of the base than the folder.
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

/// Hashes by which texts are told apart: nobody outside knows the seed, and so nobody makes two that agree.
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

/// Hashes of which each is taken once.
private struct HashSet {
    private static let least = 1 << 10
    /// 0 where none is. A power of two, never more than half full.
    private var slots = [UInt64](repeating: 0, count: least)
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

    /// Whether it was not there.
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

    /// What a large document took goes with it.
    mutating func removeAll() {
        if slots.count > Self.least, count * 16 < slots.count {
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

/// The references of one document, each kept once and without its fragment, until its base is known. Its
/// memory is used again for the next one.
struct ReferenceList {
    private struct Reference {
        let range: Range<Int>
        let role: Frontier.Role
        let isRefresh: Bool
        let flags: LinkFlags
        let hash: UInt64
    }

    /// Those by which links to one document are told apart.
    private static let telling: LinkFlags = [.ignoresBase, .isGuess, .isNofollow]

    private var bytes: [UInt8] = []
    private var references: [Reference] = []
    private var seen = HashSet()
    /// How many references of each role there are, by the role's raw value.
    private var counts = [0, 0, 0]
    /// The document has more links than are followed.
    private(set) var isCut = false
    /// The most references of each role that are taken from one document.
    private let maxLinks: Int

    init(maxLinks: Int) { self.maxLinks = maxLinks }

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
        var flags = occurrence.flags.intersection(Self.telling)
        if occurrence.kind.isCORS(occurrence.flags) { flags.insert(.isCORS) }
        let start = bytes.count
        reference.withUnsafeBufferPointer { reference in
            // Wherever the first number sign stands, what follows is the fragment. Many links lead into one
            // document.
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
                    flags: flags, hash: hash))
        }
    }

    /// What the references lead to, without fragments. References that are no URL lead nowhere, as in a
    /// browser.
    ///
    /// - Parameter memory: where they led before.
    func resolve(
        against url: WebURL, table: LinkTable, _ manners: PageManners = PageManners(nofollow: .ignore),
        _ directives: PageDirectives = [], memory: LinkMemory? = nil
    ) -> [FoundLink] {
        let base = table.base.flatMap { WebURL($0, base: url) } ?? url
        var links: [FoundLink] = []
        links.reserveCapacity(references.count + table.implied.count)
        let bytes = bytes.span
        let place = memory.flatMap { _ in LinkMemory.Base(base, table.encoding) }
        for reference in references {
            let text = bytes.extracting(reference.range)
            let isLeft =
                reference.role == .page
                && manners.leaves(linkMarked: reference.flags.contains(.isNofollow), on: directives)
            var key: UInt64 = 0
            if let memory, let place, !isLeft, !reference.flags.contains(.ignoresBase) {
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
        case .page: self = kind == .frame ? .asset : .page
        case .asset: self = .asset
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
