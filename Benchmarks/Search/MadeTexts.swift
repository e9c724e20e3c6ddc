internal import Digest
internal import Store
internal import Web

/// Generates texts from the lines of other texts, so that the frequency and order of words are natural. Each text also
/// has a unique line.
struct MadeTexts {
    private var titles: [String] = []
    private var lines: [[UInt8]] = []
    private var random = Chance(state: 20_261_124)

    private static let siteCount = 20
    private static let batchSize = 256
    private static let snapshotTime: Int64 = 1_700_000_000

    init(of source: StoreFolder) throws(StoreError) {
        guard let index = try SearchIndex.openIfExists(source) else {
            SearchBenchmark.stop("\(source.path) has no index")
        }
        var id = Int64.min
        while let text = try index.text(after: id) {
            id = text.id
            if !text.title.isEmpty { titles.append(text.title) }
            for line in text.body.split(separator: 0x0A)
            where (20...800).contains(line.count) && lines.count < 600_000 {
                lines.append(Array(line))
            }
        }
        guard !lines.isEmpty, !titles.isEmpty else { SearchBenchmark.stop("\(source.path) has no text") }
    }

    // MARK: - Texts

    func fill(_ folder: StoreFolder, count: Int) throws(StoreError) {
        var made = self
        try folder.create()
        let index = try SearchIndex.openOrCreate(folder)
        let writer = try StoreWriter(folder)
        let share = count / Self.siteCount + 1
        for site in 0..<Self.siteCount {
            let name = "https://site\(site).example/"
            let snapshot = try writer.begin(site: name, start: [name], now: Self.snapshotTime)
            let numbers = site * share..<min(count, (site + 1) * share)
            for first in stride(from: numbers.lowerBound, to: numbers.upperBound, by: Self.batchSize) {
                let batch = first..<min(first + Self.batchSize, numbers.upperBound)
                let texts = batch.map { made.text($0, site: name) }
                var responses: [NewResponse] = []
                var bodies: [IndexedBody] = []
                for text in texts {
                    let bytes = Array(text.href.utf8)
                    let body = try NewBody(
                        .bytes(bytes), form: "html;utf-8", title: text.document.title, links: [], in: folder)
                    var response = NewResponse(
                        href: text.href, referrer: nil, status: 200, role: 0,
                        fields: "Content-Type: text/html\r\n",
                        fetched: Self.snapshotTime, body: .new(body))
                    response.type = "text/html"
                    responses.append(response)
                    bodies.append(
                        IndexedBody(
                            sha256: Self.digest(of: bytes), form: "html;utf-8", hrefs: [text.href],
                            sites: [name]))
                }
                try writer.add(responses, to: snapshot)
                try writer.commit()
                try index.withTransaction { () throws(StoreError) in
                    for (text, body) in zip(texts, bodies) {
                        try index.add(text.document, of: body, prior: text.prior)
                    }
                }
            }
            try writer.end(snapshot, .publish(now: Self.snapshotTime + 1))
        }
        try index.mergeAndCheckpoint()
    }

    private static func digest(of bytes: [UInt8]) -> [UInt8] {
        var stream = DigestStream(.sha256)
        stream.update(bytes.span)
        return Array(stream.finish().bytes)
    }

    private struct Made {
        let href: String
        let document: DocumentText
        let prior: Double
    }

    private mutating func text(_ number: Int, site: String) -> Made {
        var document = DocumentText()
        // On most sites, a title contains the name of the site.
        let own = random.of(titles)
        document.title = random.below(3) == 0 ? "\(own) — site" : "\(own) \(words(of: random.of(lines), 1))"
        document.language = "en"
        let count = 2 + random.below(6) * random.below(4)
        for place in 0..<count {
            if place % 5 == 1 {
                let title = words(of: random.of(lines), 3)
                document.sections.append(
                    DocumentText.Section(start: document.body.count, anchor: "part-\(place)", title: title))
                document.body += title.utf8
                document.body.append(0x0A)
            }
            document.body += random.of(lines)
            document.body.append(0x0A)
        }
        document.body += "This text has the number \(number).\n".utf8
        document.aside = Array("Home Search Contents Index About this site\n".utf8)
        let name = words(of: random.of(lines), 2).replacing(" ", with: "-")
        let depth = (0..<random.below(4)).map { _ in words(of: random.of(lines), 1) + "/" }.joined()
        // Few pages have many incoming links.
        let prior = Double((random.below(1 << 16) | 1).leadingZeroBitCount - (Int.bitWidth - 16))
        return Made(
            href: WebURL("\(site)\(depth)\(name)-\(number).html")?.href ?? "\(site)\(number)",
            document: document, prior: prior)
    }

    /// A sequence of `count` words of a line.
    private mutating func words(of line: [UInt8], _ count: Int) -> String {
        let words = String(decoding: line, as: UTF8.self).split(separator: " ").filter { word in
            word.utf8.allSatisfy { $0 | 0x20 >= 0x61 && $0 | 0x20 <= 0x7A }
        }
        guard words.count >= count else { return "page" }
        let start = random.below(words.count - count + 1)
        return words[start..<start + count].joined(separator: " ")
    }

    // MARK: - Queries

    /// Queries of different kinds: adjacent words, titles, single words, incomplete words, words of two subjects, and
    /// words with typing errors.
    func questions(_ count: Int) -> [String] {
        var made = self
        return (0..<count).map { _ in made.question() }
    }

    private mutating func question() -> String {
        switch random.below(20) {
        case 0..<6: return words(of: random.of(lines), 2 + random.below(3))
        case 6..<10: return random.of(titles).split(separator: " ").prefix(5).joined(separator: " ")
        case 10..<14: return words(of: random.of(lines), 1)
        case 14..<17:
            let words = words(of: random.of(lines), 1 + random.below(2))
            return String(words.dropLast(words.utf8.count > 4 ? 1 + random.below(3) : 0))
        case 17..<19: return "\(words(of: random.of(lines), 1)) \(words(of: random.of(lines), 1))"
        default:
            var word = Array(words(of: random.of(lines), 1).utf8)
            if word.count > 3 { word.swapAt(1, 2) }
            return String(decoding: word, as: UTF8.self)
        }
    }
}

/// Pseudorandom numbers, which are the same in each run.
struct Chance {
    var state: UInt64

    /// A number below `limit`, by SplitMix64.
    mutating func below(_ limit: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((mixed ^ (mixed >> 31)) % UInt64(limit))
    }

    mutating func of<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }
}
