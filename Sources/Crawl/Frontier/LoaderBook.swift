internal import Markup
internal import Store
internal import Web

/// What the pages of a crawl and their scripts say to loaders of modules, put together.
///
/// A configuration belongs to a page, and often stands in another body than the names that need it. So there
/// is one environment for each page whose bodies say anything. A script belongs to the page that was the
/// first to lead to it, over other scripts if need be: pages that share a script hardly ever give its names
/// another meaning, and each script is asked about once, however many pages have it.
struct LoaderBook: Sendable {
    /// A body that asks for modules, whose addresses may turn out to be others once more is known.
    private struct Asker {
        let number: UInt32
        let url: WebURL
        let notes: [LoaderNote]
        /// Its links are not told before somebody has said where modules are.
        var waits: Bool
    }

    /// Links of one body.
    struct Found: Sendable {
        let number: UInt32
        let links: [FoundLink]
    }

    private var environments: [UInt32: LoaderEnvironment] = [:]
    private var askers: [UInt32: [Asker]] = [:]
    private var askingNumbers: Set<UInt32> = []
    private var waitingCount = 0
    /// How often the names of a page were read again.
    private var rounds: [UInt32: Int] = [:]

    private enum Limit {
        /// More pages with settings of their own than these count for themselves alone.
        static let environments = 65_536
        static let askers = 16_384
        static let rounds = 32
        /// A body with more links is not told of again.
        static let links = 4096
    }

    /// What the store was told of bodies to which more may come.
    private var links: [UInt32: NewLinks] = [:]

    /// There are names of which nobody has said where they lead.
    var hasOpenNames: Bool { waitingCount > 0 }

    /// Whether this is the page of its scripts.
    func knows(_ number: UInt32) -> Bool { environments[number] != nil }

    /// Takes in what a body says. Gives what follows for it, which is the last one, and for those before.
    ///
    /// - Parameter document: the page it belongs to, with the base of that.
    mutating func read(
        _ notes: [LoaderNote], of number: UInt32, at url: WebURL, document: (number: UInt32, base: WebURL)
    ) -> [Found] {
        guard !notes.isEmpty else { return [] }
        var environment = environments[document.number] ?? LoaderEnvironment(document: document.base)
        let isNews = environment.apply(notes, of: url)
        if environments.count < Limit.environments || environments[document.number] != nil {
            environments[document.number] = environment
        }
        var found: [Found] = []
        if isNews, environment.isConfigured { found = readAgain(document.number, environment) }
        let modules = notes.filter(\.needsLoader)
        let waits = !modules.isEmpty && !environment.isConfigured
        if !modules.isEmpty, askingNumbers.count < Limit.askers {
            askers[document.number, default: []].append(
                Asker(number: number, url: url, notes: modules, waits: waits))
            askingNumbers.insert(number)
            if waits { waitingCount += 1 }
        }
        let asked = waits ? notes.filter { !$0.needsLoader } : notes
        let links = environment.links(of: asked, in: url)
        if !links.isEmpty { found.append(Found(number: number, links: links.map(FoundLink.init))) }
        return found
    }

    /// What the store was told of a body; nil where nothing more was expected.
    mutating func takeLinks(of number: UInt32) -> NewLinks? { links.removeValue(forKey: number) }

    /// Keeps what the store is told of a body that asks for modules.
    mutating func keep(_ told: NewLinks, of number: UInt32) {
        guard askingNumbers.contains(number),
            told.pages.count + told.assets.count + told.guesses.count <= Limit.links
        else { return }
        links[number] = told.withoutTexts
    }

    /// The names of a page with what has just been said of them.
    private mutating func readAgain(_ document: UInt32, _ environment: LoaderEnvironment) -> [Found] {
        guard let known = askers[document], rounds[document, default: 0] < Limit.rounds else { return [] }
        rounds[document, default: 0] += 1
        waitingCount -= known.count { $0.waits }
        for index in known.indices { askers[document]?[index].waits = false }
        return known.map { asker in
            Found(
                number: asker.number,
                links: environment.links(of: asker.notes, in: asker.url).map(FoundLink.init))
        }
    }

    /// Nothing more comes that could say where modules are: then they are beside the page.
    mutating func settle() -> [Found] {
        var found: [Found] = []
        for (document, known) in askers.sorted(by: { $0.key < $1.key }) {
            guard let environment = environments[document] else { continue }
            for index in known.indices where known[index].waits {
                askers[document]?[index].waits = false
                let links = environment.links(of: known[index].notes, in: known[index].url).map(
                    FoundLink.init)
                if !links.isEmpty { found.append(Found(number: known[index].number, links: links)) }
            }
        }
        waitingCount = 0
        return found
    }
}

extension NewLinks {
    /// As it is told once more: the store knows the numbers.
    fileprivate var withoutTexts: NewLinks {
        func known(_ targets: [Target]) -> [Target] { targets.map { Target(href: nil, number: $0.number) } }
        var links = NewLinks(from: Target(href: nil, number: source.number))
        (links.pages, links.assets, links.guesses) = (known(pages), known(assets), known(guesses))
        return links
    }
}

extension LoaderNote {
    /// Whether a loader and its configuration decide where it leads.
    fileprivate var needsLoader: Bool { kind == .request || kind == .dependency || kind == .resource }
}

extension FoundLink {
    fileprivate init(_ link: LoaderEnvironment.Link) {
        let role = Frontier.Role(link.kind) ?? .asset
        // What a loader asks for it shows nowhere: it is needed, whatever it is.
        self.init(
            url: link.url.key, role: role == .page ? .asset : role, isGuess: link.isGuess,
            isCORS: link.kind.isCORS([]))
    }
}

// MARK: - In the frontier

extension FrontierCore {
    /// What loaders make of what a body says: links of its own come first, then those of others.
    mutating func loaded(_ result: ScanResult) -> (own: [FoundLink], others: [LoaderBook.Found]) {
        guard !result.notes.isEmpty else { return ([], []) }
        let url = url(result.number)
        let document = document(of: result.number)
        let base = document == result.number ? result.base ?? url : self.url(document)
        let found = loaders.read(result.notes, of: result.number, at: url, document: (document, base))
        // Some of the names are addresses, which the scan found as well.
        let known = Set(
            result.links.map { link in
                switch link.target {
                case .url(let url, _): url
                case .number(let number): self.url(number)
                }
            })
        let own = found.filter { $0.number == result.number }.flatMap(\.links).filter { link in
            link.url.map { !known.contains($0) } ?? true
        }
        return (own, found.filter { $0.number != result.number })
    }

    /// The page that a script belongs to, by who led there first.
    private func document(of number: UInt32) -> UInt32 {
        var place = number
        if records[Int(number)].flags.contains(.isDocument) || loaders.knows(number) { return number }
        for _ in 0..<Self.longestChain {
            let record = records[Int(place)]
            if place != number, record.role == .page || loaders.knows(place) { return place }
            guard record.referrer != Record.nobody else { return place }
            place = record.referrer
        }
        return place
    }

    private static let longestChain = 64
}
