/// The reasons for which entries were skipped, each kept once: there are few of them, and millions of entries.
struct ReasonTable: Sendable {
    private var reasons: [SkipReason] = []
    private var places: [SkipReason: UInt16] = [:]
    /// Of the entries for whose reasons no place was left.
    private var others: [UInt32: SkipReason] = [:]

    /// To be kept with the entry.
    mutating func place(of reason: SkipReason, for number: UInt32) -> UInt16 {
        others[number] = nil
        if let known = places[reason] { return known }
        guard let place = UInt16(exactly: reasons.count), place < .max else {
            others[number] = reason
            return .max
        }
        reasons.append(reason)
        places[reason] = place
        return place
    }

    func reason(_ place: UInt16, of number: UInt32) -> SkipReason {
        Int(place) < reasons.count ? reasons[Int(place)] : others[number] ?? .scheme
    }
}
