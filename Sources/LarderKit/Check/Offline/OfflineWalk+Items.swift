extension OfflineWalk {
    /// What the walk found, in the order of the URLs.
    ///
    /// - Parameter faults: of the walk's bodies, in their order.
    func items(_ faults: [OfflineFault?]) -> [CheckReport.Item] {
        var items: [CheckReport.Item] = []
        for (number, node) in nodes.enumerated() {
            guard let found = finding(on: node, faults) else { continue }
            items.append(
                CheckReport.Item(
                    name: node.href, line: nil, isRequired: !node.isGuess,
                    chain: found.verdict == .verified ? [] : chain(to: number),
                    findings: [found]))
        }
        return items.sorted { $0.name < $1.name }
    }

    /// Nil for what is not of the site.
    private func finding(on node: OfflineNode, _ faults: [OfflineFault?]) -> CheckReport.Finding? {
        func found(_ verdict: CheckReport.Verdict, _ detail: String? = nil) -> CheckReport.Finding {
            CheckReport.Finding(url: node.href, verdict: verdict, detail: detail)
        }
        switch node.state {
        case .waiting, .ignored: return nil
        case .held(let place): return faults[place].map { found($0.verdict, $0.detail) } ?? found(.verified)
        case .redirects: return found(.verified)
        case .gone(let status): return found(.gone, "the server answered \(status)")
        case .missing(let reason): return found(.missing, reason)
        case .leftOut(let reason): return found(.leftOut, reason)
        case .unlisted(let place):
            return faults[place].map { found($0.verdict, $0.detail) }
                ?? found(.unverifiable, "it is held, and what it needs was never written down; prefetch it again")
        }
    }

    /// A report shows no longer way than this.
    private static let longestChain = 32

    /// From a start to the page that led there first; of a very long way its beginning and its end.
    private func chain(to number: Int) -> [String] {
        var chain: [String] = []
        var next = nodes[number].parent
        while next >= 0 {
            chain.append(nodes[next].href)
            next = nodes[next].parent
        }
        if chain.count > Self.longestChain { chain.removeSubrange(Self.longestChain - 1..<chain.count - 1) }
        return chain.reversed()
    }
}
