import Testing

@testable import Store
@testable import StoreFaults

extension StockedFolder {
    /// The store is sound, and every visit of the site that is complete has all its pages, as they were written.
    func expectWhole(_ stock: Stock, _ note: Comment) throws {
        let findings = try inspect()
        #expect(findings.isSound, "\(note): \(findings)")
        let reader = try reader()
        guard let site = try reader.sites().first(where: { $0.name == stock.site }) else { return }
        for visit in site.visits where visit.finished != nil {
            var pages: [String: StoredResponse] = [:]
            try reader.eachResponse(ofVisit: visit.id) { pages[$0.href] = $0 }
            #expect(pages.count == Stock.pageCount, note)
            for page in 0..<Stock.pageCount {
                let response = try #require(pages[stock.href(page)], note)
                let content = try #require(try response.body.flatMap(reader.content), note)
                #expect(try content.load() == stock.body(page, visit: visit.id), note)
                #expect(try reader.storedLinks(of: response)?.requisites == [stock.href(0)], note)
            }
        }
        if let published = site.published {
            #expect(site.visits.contains { $0.id == published && $0.finished != nil }, note)
            #expect(try reader.response(for: stock.href(1))?.visit == published, note)
        }
    }
}
