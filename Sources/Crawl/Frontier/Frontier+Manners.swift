internal import Fetch
internal import Web

/// What pages ask of crawlers.
extension Frontier {
    /// A link that is not to be followed from where it stands: the URL has a number from then on, and is skipped until
    /// somebody else leads there.
    mutating func hearOnly(of url: WebURL, by finder: UInt32) -> UInt32 {
        let (number, isNew) = urls.number(of: url)
        guard isNew else { return number }
        let (depth, reach) = (records[Int(finder)].depth, records[Int(finder)].reach)
        records.append(
            Record(
                host: UInt32(hostNumber(of: url)), referrer: finder, depth: min(depth, .max - 1) + 1, flags: [],
                role: .page, mayReach: reach, redirects: 0))
        switch scope.verdict(onPage: url, depth: Int(records[Int(number)].depth)) {
        // What is no page of the site is none by whatever link.
        case .skipped(let reason) where !reason.isOfDepth: skip(number, reason)
        case .skipped, .followed: skip(number, .nofollow)
        }
        return number
    }

    /// Somebody leads to what so far was only linked with the wish not to be followed: as if it were heard of now.
    mutating func hearAfterAll(_ number: UInt32, by finder: UInt32?) {
        guard state(number) == .skipped(.nofollow) else { return }
        let place = Int(number)
        records[place].referrer = finder ?? Record.nobody
        records[place].mayReach = finder.map { records[Int($0)].reach } ?? .thisMachine
        records[place].depth = finder.map { min(records[Int($0)].depth, .max - 1) + 1 } ?? 0
        noteReach(records[place].mayReach, of: Int(records[place].host))
        admit(number, url(number))
    }

    /// Whether a page goes if it asks not to be kept: a person asked for a start.
    func mayBeLeftOut(_ number: UInt32) -> Bool {
        records[Int(number)].role == .page && !records[Int(number)].flags.contains(.isStart)
    }

    /// It came, and asks not to be kept.
    mutating func leaveOut(_ number: UInt32) {
        doneCount -= 1
        guard records[Int(number)].role == .page else {
            // Meanwhile another page needs it.
            records[Int(number)].state = .waiting
            return enqueue(number)
        }
        skip(number, .noindex)
    }

    /// It was done with, and is not to be stored.
    mutating func drop(_ number: UInt32, for reason: SkipReason) {
        doneCount -= 1
        if records[Int(number)].role == .requisite { doneRequisiteCount -= 1 }
        skip(number, reason)
    }

    /// An earlier visit found that it says that there is nothing, and it is as it was.
    mutating func knowAsMissing(_ number: UInt32) {
        if mayBeLeftOut(number) { records[Int(number)].flags.insert(.isSoftNotFound) }
    }
}
