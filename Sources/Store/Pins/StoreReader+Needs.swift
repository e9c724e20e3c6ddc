internal import Web

extension StoreReader {
    /// Adds to some URLs what they need: a page needs a style sheet that needs a font. Where one redirects to another, that
    /// one is needed too, with what it needs.
    func addNeeds(to urls: inout Set<Int64>) throws(StoreError) {
        let needs = try prepare("SELECT requisites FROM link WHERE url = ?")
        let redirects = try prepare(
            """
            SELECT url.href, response.fields FROM response JOIN url ON url.id = response.url
            WHERE response.url = ? AND response.status BETWEEN 300 AND 399
            """)
        let find = try prepare("SELECT id FROM url WHERE href = ?")
        var waiting = Array(urls)
        while let url = waiting.popLast() {
            var needed: [Int64] = []
            try needs.each(.integer(url)) { needed += LinkLists.numbers($0.text(0)) }
            var targets: Set<String> = []
            try redirects.each(.integer(url)) { row in
                let location = HTTPFields(block: row.text(1).utf8.span)["Location"]
                let target = location.flatMap { WebURL($0, base: WebURL(row.text(0))) }
                if let target { targets.insert(target.withoutFragment.href) }
            }
            for target in targets {
                if let row = try find.first(.text(target), read: { $0.integer(0) }) { needed.append(row) }
            }
            for url in needed where urls.insert(url).inserted { waiting.append(url) }
        }
    }
}
