internal import Web

extension CheckReport {
    /// The report for programs.
    public var json: String {
        var writer = JSONWriter(.pretty)
        writer.object { object in
            switch subject {
            case .manifest(let name): object.member("manifest", name)
            case .site(let name): object.member("site", name)
            }
            object.member("clean", isClean)
            object.member("places", places)
            object.member("failOn", Verdict.allCases.filter(failsOn.contains).map(\.rawValue))
            if !notes.isEmpty { object.member("notes", notes) }
            object.member(isOfSite ? "urls" : "bundles") { list in
                list.array { array in for item in items { write(item, to: &array) } }
            }
        }
        return writer.text
    }

    private var isOfSite: Bool {
        switch subject {
        case .site: true
        case .manifest: false
        }
    }

    private func write(_ item: Item, to writer: inout JSONWriter) {
        writer.object { object in
            if item.name != item.url { object.member("name", item.name) }
            object.member("url", item.url)
            object.member("verdict", item.verdict.rawValue)
            object.memberIfPresent("detail", item.detail)
            object.member("required", item.isRequired)
            object.memberIfPresent("line", item.line)
            if !item.finding.remarks.isEmpty { object.member("remarks", item.finding.remarks) }
            if !item.chain.isEmpty { object.member("chain", item.chain) }
            guard places.count > 1 else { return }
            object.member("places") { list in
                list.array { array in
                    for (place, finding) in zip(places, item.findings) {
                        array.object { object in
                            object.member("place", place)
                            object.member("url", finding.url)
                            object.member("verdict", finding.verdict.rawValue)
                            object.memberIfPresent("detail", finding.detail)
                            if !finding.remarks.isEmpty { object.member("remarks", finding.remarks) }
                        }
                    }
                }
            }
        }
    }
}
