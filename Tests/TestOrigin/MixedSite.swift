/// A deterministic site with finite parts that have content (`isReal`), and infinite parts without content,
/// which are traps for crawlers.
package struct MixedSite: Sendable {
    /// A part of the site. Its raw value is the first path segment.
    package enum Part: String, Sendable, CaseIterable {
        /// Lists of 50 products each, and a page for each product.
        case shop
        /// Lists of 30 topics each, and up to three pages of posts for each topic. Numbers in the query
        /// identify the pages.
        case forum
        /// The months of ten years, and a page for each day with an event.
        case events
        /// The items of a list that can be filtered by colour, size and maker.
        case facets
        /// Views: the list of these items, filtered by every combination.
        case filters
        /// Trap: an infinite sequence of months, with days.
        case calendar
        /// Trap: an infinite sequence of weeks, identified by a time in seconds.
        case agenda
        /// Trap: objects with hexadecimal keys, which link to more objects.
        case keys
        /// Trap: nested folders whose names are words.
        case words
        /// Trap: nested folders whose names repeat.
        case loops

        package var isReal: Bool {
            switch self {
            case .shop, .forum, .events, .facets: true
            case .filters, .calendar, .agenda, .keys, .words, .loops: false
            }
        }

        var start: String {
            switch self {
            case .shop: "/shop/list?page=0"
            case .forum: "/forum/index?start=0"
            case .events: "/events/2015-01"
            case .facets: "/facets/item-0"
            case .filters: "/filters/list"
            case .calendar: "/calendar/2024-01"
            case .agenda: "/agenda/week?t=1700000000"
            case .keys: "/keys/0a1b2c3d4e5f6071.html"
            case .words: "/words/"
            case .loops: "/loops/a/b/"
            }
        }
    }

    package let productCount: Int
    package let topicCount: Int
    package let parts: [Part]

    package init(products: Int, topics: Int, parts: [Part] = Part.allCases) {
        productCount = products
        topicCount = topics
        self.parts = parts
    }

    /// The part that a target belongs to; nil for the start page.
    package static func part(of target: String) -> Part? {
        Part(rawValue: String(target.dropFirst().prefix { $0 != "/" && $0 != "?" }))
    }

    /// The number of pages of a finite part.
    package func count(of part: Part) -> Int {
        switch part {
        case .shop: productCount + (productCount + 49) / 50
        case .forum: (topicCount + 29) / 30 + (0..<topicCount).reduce(0) { $0 + Self.postPages(of: $1) }
        case .events: 120 + (0..<120).reduce(0) { $0 + Self.days(of: $1).count }
        case .facets: Self.facetItems
        case .filters, .calendar, .agenda, .keys, .words, .loops: 0
        }
    }

    package func answer(to target: String) -> OriginAnswer? {
        page(target).map { page in
            let links = page.links.map { "<a href='\($0)'>\($0)</a> " }.joined()
            return .page("<!doctype html><title>\(page.title)</title><p>\(page.text)<p>\(links)")
        }
    }

    /// The content and links of a page; nil if there is no such page.
    package func page(_ target: String) -> (title: String, text: String, links: [String])? {
        if target == "/" { return ("Home", "Welcome", parts.map(\.start)) }
        guard let part = Self.part(of: target), parts.contains(part) else { return nil }
        let rest = target.dropFirst(part.rawValue.utf8.count + 2)
        return switch part {
        case .shop: shop(rest)
        case .forum: forum(rest)
        case .events: Self.events(rest)
        case .facets, .filters: Self.facets(rest)
        case .calendar, .agenda, .keys, .words, .loops: Self.trap(part, target, rest)
        }
    }

    // MARK: - Finite parts

    private func shop(_ rest: Substring) -> (String, String, [String])? {
        if rest.hasPrefix("list?page=") {
            let page = Self.number(rest)
            let items = (page * 50..<min(productCount, page * 50 + 50)).map { "/shop/item-\($0).html" }
            let next = page * 50 + 50 < productCount ? ["/shop/list?page=\(page + 1)"] : []
            return items.isEmpty ? nil : ("Products, page \(page)", "All that we have", items + next)
        }
        let number = Self.number(rest)
        guard number < productCount else { return nil }
        let others = (1...3).map { "/shop/item-\((number * 7 + $0 * 131) % productCount).html" }
        return ("Product \(number)", Self.text("product", number, 40), others)
    }

    private static func postPages(of topic: Int) -> Int { 1 + topic % 3 }

    private func forum(_ rest: Substring) -> (String, String, [String])? {
        if rest.hasPrefix("index") {
            let start = Self.number(rest)
            let topics = (start..<min(topicCount, start + 30)).map { "/forum/viewtopic.php?t=\($0)&start=0" }
            let next = start + 30 < topicCount ? ["/forum/index?start=\(start + 30)"] : []
            return topics.isEmpty ? nil : ("Topics from \(start)", "Pick one", topics + next)
        }
        let values = rest.split { !$0.isNumber }.compactMap { Int($0) }
        guard values.count == 2, values[0] < topicCount, values[1] / 20 < Self.postPages(of: values[0]) else {
            return nil
        }
        let next = values[1] / 20 + 1 < Self.postPages(of: values[0]) ? [values[1] + 20] : []
        return (
            "Topic \(values[0])", Self.text("posts", values[0] * 100 + values[1], 60),
            next.map { "/forum/viewtopic.php?t=\(values[0])&start=\($0)" } + ["/forum/index?start=0"]
        )
    }

    /// The days with events of a month, whose number counts from the first month.
    private static func days(of month: Int) -> [Int] {
        (1...28).filter { hash("day \(month) \($0)") % 3 == 0 }
    }

    private static func month(_ number: Int) -> String {
        "\(2015 + number / 12)-\(number % 12 < 9 ? "0" : "")\(number % 12 + 1)"
    }

    private static func events(_ rest: Substring) -> (String, String, [String])? {
        let values = rest.split(separator: "-").compactMap { Int($0) }
        guard values.count >= 2 else { return nil }
        let month = (values[0] - 2015) * 12 + values[1] - 1
        guard (0..<120).contains(month) else { return nil }
        let days = days(of: month)
        if values.count == 3 {
            guard days.contains(values[2]) else { return nil }
            return (
                "Event on \(rest)", text("event", month * 31 + values[2], 50),
                ["/events/\(self.month(month))"]
            )
        }
        let beside = [month - 1, month + 1].filter { (0..<120).contains($0) }.map {
            "/events/\(self.month($0))"
        }
        return (
            "Events of \(rest)", text("month", month, 30),
            beside + days.map { "/events/\(self.month(month))-\($0 < 10 ? "0" : "")\($0)" }
        )
    }

    private static let values = [("colour", 8), ("size", 6), ("maker", 5)]
    private static let facetItems = 300

    private static func facets(_ rest: Substring) -> (String, String, [String])? {
        if rest.hasPrefix("item-") {
            return ("Item \(rest)", text("item", number(rest), 40), ["/filters/list"])
        }
        var chosen = [0, 0, 0]
        for pair in rest.drop(while: { $0 != "?" }).dropFirst().split(separator: "&") {
            let words = pair.split(separator: "=")
            guard let place = values.firstIndex(where: { $0.0 == words[0] }) else { return nil }
            chosen[place] = Int(words[1]) ?? 0
        }
        func address(_ chosen: [Int]) -> String {
            let pairs = zip(values, chosen).filter { $1 > 0 }.map { "\($0.0)=\($1)" }
            return "/filters/list" + (pairs.isEmpty ? "" : "?" + pairs.joined(separator: "&"))
        }
        var links: [String] = []
        for place in 0..<3 {
            for value in 0...values[place].1 where value != chosen[place] {
                var other = chosen
                other[place] = value
                links.append(address(other))
            }
        }
        let key = chosen.reduce(0) { $0 * 10 + $1 }
        let items = (0..<12).map { "/facets/item-\((key * 13 + $0 * 29) % facetItems)" }
        // The list without a filter contains all items.
        let all = key == 0 ? (0..<facetItems).map { "/facets/item-\($0)" } : []
        let words = items.map { text("goods", number($0[...]), 4) }.joined(separator: " ")
        return ("Goods \(key)", words, links + items + all)
    }

    // MARK: - Traps

    private static func trap(_ part: Part, _ target: String, _ rest: Substring) -> (String, String, [String])
    {
        switch part {
        case .calendar:
            let date = rest.split(separator: "-").compactMap { Int($0) }
            guard date.count == 2 else {
                return ("Day", "Nothing happens on \(rest)", ["/calendar/\(rest.dropLast(3))"])
            }
            func month(_ step: Int) -> String {
                let count = date[0] * 12 + date[1] - 1 + step
                return "\(count / 12)-\(count % 12 < 9 ? "0" : "")\(count % 12 + 1)"
            }
            let days = (1...28).map { "/calendar/\(month(0))-\($0 < 10 ? "0" : "")\($0)" }
            return ("Month", "Month \(month(0))", ["/calendar/\(month(-1))", "/calendar/\(month(1))"] + days)
        case .agenda:
            let time = number(rest)
            return (
                "Week", "Week of \(time)",
                ["/agenda/week?t=\(time + 604_800)", "/agenda/week?t=\(time - 604_800)"]
            )
        case .keys:
            return (
                "Object", "Object \(rest)",
                (0..<5).map { "/keys/0a1b\(String(hash("\(target)\($0)") | 1 << 63, radix: 16)).html" }
            )
        case .words:
            return (
                "Choose", "Choose one of these", (0..<5).map { "\(target)\(word(hash("\(target)\($0)")))/" }
            )
        case .loops:
            return ("Folder", "Folder", ["\(target)a/", "\(target)b/", "\(target)a/b/"])
        case .shop, .forum, .events, .facets, .filters:
            return ("", "", [])
        }
    }

    private static let names = [
        "apple", "pear", "fig", "plum", "grape", "melon", "lemon", "quince", "cherry", "peach",
    ]

    private static func word(_ hash: UInt64) -> String {
        names[Int(hash % 10)] + names[Int(hash / 10 % 10)] + names[Int(hash / 100 % 10)]
    }

    private static func text(_ kind: String, _ number: Int, _ count: Int) -> String {
        (0..<count).map { word(hash("\(kind) \(number) \($0)")) }.joined(separator: " ")
    }

    private static func number(_ text: Substring) -> Int { Int(text.filter(\.isNumber)) ?? 0 }

    private static func hash(_ text: String) -> UInt64 {
        var value: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in text.utf8 { value = (value ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        value = (value ^ value >> 31) &* 0xBF58_476D_1CE4_E5B9
        return value ^ value >> 29
    }
}
