internal import Store
internal import Synchronization
internal import Web

/// What is held in memory alone, the least recently used out first. Any thread may use it.
final class BodyShelf: Sendable {
    private let byteLimit: Int
    private let contents = Mutex(Contents())

    private struct Contents {
        var copies: [Key: [Place]] = [:]
        var byteCount = 0
        var uses: UInt64 = 0
    }

    private struct Key: Hashable {
        let href: String
        let request: RequestKey
    }

    private struct Place {
        var copy: ShelvedCopy
        var lastUse: UInt64
    }

    init(byteLimit: Int) { self.byteLimit = byteLimit }

    /// The newest that was given to a request with these fields.
    func copy(of href: String, request: RequestKey, fields: HTTPFields) -> ShelvedCopy? {
        contents.withLock { contents in
            let key = Key(href: href, request: request)
            guard let index = contents.copies[key]?.lastIndex(where: { $0.copy.suits(fields) }) else { return nil }
            contents.uses += 1
            contents.copies[key]?[index].lastUse = contents.uses
            return contents.copies[key]?[index].copy
        }
    }

    /// Takes the place of what was there for such requests. What would fill half of the shelf is not kept.
    func keep(_ copy: ShelvedCopy) {
        contents.withLock { contents in
            Self.remove(&contents, copy.href, copy.request, variant: copy.variant)
            guard copy.byteCount <= byteLimit / 2 else { return }
            contents.uses += 1
            contents.byteCount += copy.byteCount
            contents.copies[Key(href: copy.href, request: copy.request), default: []].append(
                Place(copy: copy, lastUse: contents.uses))
            while contents.byteCount > byteLimit, Self.removeOldest(&contents) {}
        }
    }

    func remove(_ href: String, _ request: RequestKey, variant: String) {
        contents.withLock { Self.remove(&$0, href, request, variant: variant) }
    }

    /// All of them must be validated before they are used again.
    func invalidate(_ hrefs: [String]) {
        contents.withLock { contents in
            for key in contents.copies.keys where hrefs.contains(key.href) {
                guard let places = contents.copies[key] else { continue }
                contents.copies[key] = places.map { place in
                    var place = place
                    place.copy.entry.isInvalidated = true
                    return place
                }
            }
        }
    }

    private static func remove(_ contents: inout Contents, _ href: String, _ request: RequestKey, variant: String) {
        let key = Key(href: href, request: request)
        guard let places = contents.copies[key] else { return }
        for place in places where place.copy.variant == variant { contents.byteCount -= place.copy.byteCount }
        let rest = places.filter { $0.copy.variant != variant }
        contents.copies[key] = rest.isEmpty ? nil : rest
    }

    private static func removeOldest(_ contents: inout Contents) -> Bool {
        let oldest = contents.copies.values.joined().min { $0.lastUse < $1.lastUse }
        guard let copy = oldest?.copy else { return false }
        remove(&contents, copy.href, copy.request, variant: copy.variant)
        return true
    }
}
