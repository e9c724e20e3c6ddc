/// The records of the shapes that come most, in bounded memory: four places for each remainder of the key. A shape that
/// finds all of them taken wears down the weakest, so that one that comes often stays among thousands that come once.
struct PatternTable: Sendable {
    private struct Place {
        var record: PatternRecord
        var credit: Int
    }

    private var places: [Place?] = []

    private static let ways = 4
    private static let sets = 1024

    /// The record of the shape, new when it had none; nil when every place is taken by shapes that come more often.
    mutating func update(_ key: UInt64, _ change: (inout PatternRecord) -> Void) -> PatternRecord? {
        if places.isEmpty { places = [Place?](repeating: nil, count: Self.ways * Self.sets) }
        let first = Int(key % UInt64(Self.sets)) * Self.ways
        let candidates = first..<first + Self.ways
        let known = candidates.first { places[$0]?.record.key == key }
        guard let index = known ?? freePlace(among: candidates) else { return nil }
        var place = places[index] ?? Place(record: PatternRecord(key: key), credit: 0)
        place.credit += 1
        change(&place.record)
        places[index] = place
        return place.record
    }

    func record(_ key: UInt64) -> PatternRecord? {
        guard !places.isEmpty else { return nil }
        let first = Int(key % UInt64(Self.sets)) * Self.ways
        return places[first..<first + Self.ways].lazy.compactMap { $0?.record }.first { $0.key == key }
    }

    private mutating func freePlace(among candidates: Range<Int>) -> Int? {
        if let empty = candidates.first(where: { places[$0] == nil }) { return empty }
        guard let weakest = candidates.min(by: { credit($0) < credit($1) }) else { return nil }
        places[weakest]?.credit -= 1
        guard credit(weakest) <= 0 else { return nil }
        places[weakest] = nil
        return weakest
    }

    private func credit(_ index: Int) -> Int { places[index]?.credit ?? 0 }
}
