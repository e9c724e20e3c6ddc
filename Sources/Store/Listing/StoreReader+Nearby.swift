extension StoreReader {
    /// Addresses that are held, begin with `prefix` and stand next to this one in the order of addresses: at most `count`
    /// before it and as many behind it.
    package func neighbours(
        of href: String, below prefix: String, count: Int
    ) throws(StoreError) -> [String] {
        let isHeld = "EXISTS (SELECT 1 FROM response WHERE response.url = url.id)"
        var before: [String] = []
        var behind: [String] = []
        try eachRow(
            "SELECT href FROM url WHERE href >= ? AND href < ? AND \(isHeld) ORDER BY href DESC LIMIT ?",
            .text(prefix), .text(href), .integer(Int64(count))
        ) { before.append($0.text(0)) }
        // Addresses are ASCII: nothing that begins with the prefix is beyond it with this behind it.
        try eachRow(
            "SELECT href FROM url WHERE href > ? AND href < ? AND \(isHeld) ORDER BY href LIMIT ?",
            .text(href), .text(prefix + "\u{7f}"), .integer(Int64(count))
        ) { behind.append($0.text(0)) }
        return before.reversed() + behind
    }
}
