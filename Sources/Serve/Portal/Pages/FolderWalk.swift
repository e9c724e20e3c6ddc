internal import Store

/// Tells what stands in a folder of addresses from slices of all that stands below it, in the order of addresses.
///
/// With an empty prefix the folders are hosts.
struct FolderWalk {
    enum Item: Equatable {
        /// What begins with the prefix, as far as it was counted.
        case folder(prefix: String, count: Int, isMore: Bool)
        case entry(HeldEntry)
    }

    let prefix: String
    let limit: Int
    private(set) var items: [Item] = []
    /// Where to go on once the list is full; nil until then.
    private(set) var rest: String?

    init(prefix: String, limit: Int) {
        self.prefix = prefix
        self.limit = limit
    }

    /// Behind every address that begins with the prefix: addresses are ASCII.
    static func end(of prefix: String) -> String { prefix + "\u{7f}" }

    /// Takes the next slice, and says where the one after it should begin; nil when there is none or the list is full. In a
    /// hurry a folder is counted no further than its slice goes.
    mutating func take(_ slice: HeldSlice, inHurry: Bool = false) -> String? {
        for entry in slice.entries {
            guard add(entry) else { return nil }
        }
        guard let next = slice.next else { return nil }
        // A folder that is larger than a slice is not counted to its end.
        guard case .folder(let folder, let count, _) = items.last, next.hasPrefix(folder),
            inHurry || count >= Self.counted
        else { return next }
        items[items.count - 1] = .folder(prefix: folder, count: count, isMore: true)
        return Self.end(of: folder)
    }

    /// Ends the list where the next slice would begin.
    mutating func stop(before next: String) {
        rest = next
        guard case .folder(let folder, let count, _) = items.last, next.hasPrefix(folder) else { return }
        items[items.count - 1] = .folder(prefix: folder, count: count, isMore: true)
        rest = Self.end(of: folder)
    }

    /// False when the list is full.
    private mutating func add(_ entry: HeldEntry) -> Bool {
        let folder = Self.folder(of: entry.href, below: prefix)
        if let folder, case .folder(folder, let count, let isMore) = items.last {
            items[items.count - 1] = .folder(prefix: folder, count: count + 1, isMore: isMore)
            return true
        }
        guard items.count < limit else {
            rest = folder ?? entry.href
            return false
        }
        items.append(folder.map { .folder(prefix: $0, count: 1, isMore: false) } ?? .entry(entry))
        return true
    }

    private static let counted = 1_000

    /// The prefix and one more part of the path, with its slash; nil for what stands in the folder itself.
    static func folder(of href: String, below prefix: String) -> String? {
        let bytes = href.utf8
        var place =
            bytes.index(bytes.startIndex, offsetBy: prefix.utf8.count, limitedBy: bytes.endIndex) ?? bytes.endIndex
        if prefix.isEmpty {
            guard let authority = href.firstRange(of: "://") else { return nil }
            place = authority.upperBound
        }
        while place < bytes.endIndex {
            switch bytes[place] {
            case UInt8(ascii: "/"): return String(href[...place])
            // What follows is no path.
            case UInt8(ascii: "?"): return nil
            default: place = bytes.index(after: place)
            }
        }
        return nil
    }
}

extension FolderWalk {
    /// A folder's list from `start` on, or from its beginning.
    static func list(
        _ prefix: String, site: Int64, from start: String?, limit: Int, _ reader: StoreReader
    ) throws(StoreError) -> FolderWalk {
        var walk = FolderWalk(prefix: prefix, limit: limit)
        var next: String? = start.flatMap { $0.hasPrefix(prefix) ? $0 : nil } ?? prefix
        var walked = 0
        while let position = next {
            guard walked < PortalLimits.walkedURLs else {
                walk.stop(before: position)
                break
            }
            let inHurry = walked >= PortalLimits.walkedURLs / 2
            let length = inHurry ? PortalLimits.hurriedSlice : PortalLimits.slice
            let slice = try reader.slice(from: position, before: end(of: prefix), site: site, urlCount: length)
            walked += length
            next = walk.take(slice, inHurry: inHurry)
        }
        return walk
    }
}
