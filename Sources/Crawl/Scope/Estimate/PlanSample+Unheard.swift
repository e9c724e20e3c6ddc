extension PlanSample {
    /// How many pages there may be that nobody has heard of: more in one site of ten. Nil where they have no end.
    ///
    /// Two bounds hold, and the lower one counts. What waits leads to as much as what was chosen by chance did, as far as its
    /// spread lets that be told. And of pages to which few link, as many are unseen as those suggest that were seen once and
    /// twice (Chao's estimator, for a sample without replacement). The factors are those with which the interval held in 68 of
    /// 70 plans of nine real manuals.
    func unheard(_ tally: PatternTally) -> Int? {
        let waiting = waiting
        if tally.hasEndlessRow || isTooSmall { return nil }
        guard waiting.lists + waiting.others > 0, !isKnownByFirst || news.count <= 6 else { return 0 }
        let rate =
            Double(waiting.lists) * highestNews(.list) + Double(waiting.others) * highestNews(.chance)
        return Int(min(rate * Self.rateFactor, rarelyLinked * Self.rarityFactor).rounded(.up))
    }

    /// Of the lists that it knows it has seen the smaller part, and they still bring much: one of the others may lead to more
    /// pages than all that are known, as one of 600 modules leads to half of a manual of 30,000 pages.
    var isTooSmall: Bool {
        let lists = waiting.lists
        return lists > Self.fewLists && lists > news.count(where: { $0.choice == .list })
            && highestNews(.list) >= Self.muchNews
    }

    private static let fewLists = 24
    private static let muchNews = 1.5
    private static let rateFactor = 1.3
    private static let rarityFactor = 4.0
    /// Standard errors.
    private static let doubt = 1.5
    /// What a page may lead to where none of its like was looked at.
    private static let unknownNews = 3.0

    /// To how many new pages one leads at most, on average. The first that were chosen lead to everything that is in a site's
    /// navigation, and the later ones no more.
    private func highestNews(_ choice: Choice) -> Double {
        var counts = news.filter { $0.choice == choice }.map { Double($0.count) }
        guard !counts.isEmpty else { return Self.unknownNews }
        if counts.count > 16 { counts.removeFirst(counts.count / 2) }
        let count = Double(counts.count)
        let mean = counts.reduce(0, +) / count
        let squares = counts.reduce(0) { $0 + ($1 - mean) * ($1 - mean) }
        return mean + Self.doubt * (squares / max(1, count - 1) / count).squareRoot() + 1.5 / count
    }

    private var rarelyLinked: Double {
        let once = Double(linkers.values.count { $0 == 1 })
        let twice = Double(linkers.values.count { $0 == 2 })
        let known = Double(pages.count + waiting.lists + waiting.others)
        return once * once / (2 * max(twice, 0.5)) * (1 - Double(pages.count) / max(known, Double(pages.count) + 1))
    }
}
