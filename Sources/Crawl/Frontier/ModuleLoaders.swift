internal import Markup
internal import Store
internal import Web

/// The module loader configurations in the pages of a crawl and their scripts, and the modules that these
/// request (for example with RequireJS).
///
/// A configuration applies to a page, and is often in another body than the names that it resolves. Therefore
/// each page with a configuration or with names has one environment. A script belongs to the page that led to
/// it first, possibly through other scripts. Pages that share a script rarely give its names different
/// meanings, and so its names are resolved for one page only.
///
/// A body whose environment has no configuration yet waits with its module names. They are resolved when a
/// configuration is read, or else by `settle` relative to the page.
struct ModuleLoaders: Sendable {
    /// A body that requests modules. Their URLs may change when more of the configuration is read.
    private struct ModuleRequester {
        let number: UInt32
        let url: WebURL
        let notes: [LoaderNote]
        /// Whether its links are withheld until a configuration is read.
        var waits: Bool
    }

    /// The links of one body.
    struct ModuleLinks: Sendable {
        let number: UInt32
        let links: [FoundLink]
    }

    private var environments: [UInt32: LoaderEnvironment] = [:]
    private var requesters: [UInt32: [ModuleRequester]] = [:]
    private var requesterNumbers: Set<UInt32> = []
    private var waitingCount = 0
    /// The number of times that the names of each page were resolved again.
    private var rounds: [UInt32: Int] = [:]

    /// Limits to the memory and time that hostile pages can use.
    private enum Limit {
        /// The maximum number of pages with an environment that is kept. Above it, each body of a page is
        /// resolved without the page's other bodies.
        static let environments = 65_536
        static let requesters = 16_384
        static let rounds = 32
        /// The maximum number of links of a body whose links are kept. Above it, later links are not passed
        /// to the store.
        static let links = 4096
    }

    /// The links that the store has of each body to which more links may be added.
    private var storedLinks: [UInt32: NewLinks] = [:]

    /// Whether names wait for a configuration.
    var hasOpenNames: Bool { waitingCount > 0 }

    /// Whether the entry is a page with an environment.
    func hasEnvironment(_ number: UInt32) -> Bool { environments[number] != nil }

    /// Reads the configurations and module names in a body, and returns the links that follow from them: first
    /// those of earlier bodies of the page, and then those of this one.
    ///
    /// - Parameter document: the page to which the body belongs, with its base URL.
    mutating func read(
        _ notes: [LoaderNote], of number: UInt32, at url: WebURL, document: (number: UInt32, base: WebURL)
    ) -> [ModuleLinks] {
        guard !notes.isEmpty else { return [] }
        var environment = environments[document.number] ?? LoaderEnvironment(document: document.base)
        let hasChanged = environment.apply(notes)
        if environments.count < Limit.environments || environments[document.number] != nil {
            environments[document.number] = environment
        }
        var found: [ModuleLinks] = []
        if hasChanged, environment.isConfigured { found = readAgain(document.number, environment) }
        let modules = notes.filter(\.needsLoader)
        let waits = !modules.isEmpty && !environment.isConfigured
        if !modules.isEmpty, requesterNumbers.count < Limit.requesters {
            requesters[document.number, default: []].append(
                ModuleRequester(number: number, url: url, notes: modules, waits: waits))
            requesterNumbers.insert(number)
            if waits { waitingCount += 1 }
        }
        let resolvable = waits ? notes.filter { !$0.needsLoader } : notes
        let links = environment.links(of: resolvable, in: url)
        if !links.isEmpty { found.append(ModuleLinks(number: number, links: links.map(FoundLink.init))) }
        return found
    }

    /// Removes and returns the links that the store has of a body; nil if they were not kept.
    mutating func takeLinks(of number: UInt32) -> NewLinks? { storedLinks.removeValue(forKey: number) }

    /// Keeps the links that the store has of a body, if it requests modules.
    mutating func keepLinks(_ links: NewLinks, of number: UInt32) {
        guard requesterNumbers.contains(number),
            links.pages.count + links.assets.count + links.guesses.count <= Limit.links
        else { return }
        storedLinks[number] = links.withoutTexts
    }

    /// Resolves all names of a page again after a change of its configuration.
    private mutating func readAgain(_ document: UInt32, _ environment: LoaderEnvironment) -> [ModuleLinks] {
        guard let known = requesters[document], rounds[document, default: 0] < Limit.rounds else { return [] }
        rounds[document, default: 0] += 1
        waitingCount -= known.count { $0.waits }
        for index in known.indices { requesters[document]?[index].waits = false }
        return known.map { requester in
            ModuleLinks(
                number: requester.number,
                links: environment.links(of: requester.notes, in: requester.url).map(FoundLink.init))
        }
    }

    /// Resolves the waiting names relative to their page, because no configuration was found.
    mutating func settle() -> [ModuleLinks] {
        var found: [ModuleLinks] = []
        for (document, known) in requesters.sorted(by: { $0.key < $1.key }) {
            guard let environment = environments[document] else { continue }
            for index in known.indices where known[index].waits {
                requesters[document]?[index].waits = false
                let links = environment.links(of: known[index].notes, in: known[index].url).map(
                    FoundLink.init)
                if !links.isEmpty { found.append(ModuleLinks(number: known[index].number, links: links)) }
            }
        }
        waitingCount = 0
        return found
    }
}

extension NewLinks {
    /// A copy for the second time that the store is given the links: it knows their numbers, and needs no
    /// URLs.
    fileprivate var withoutTexts: NewLinks {
        func withoutURLs(_ targets: [Target]) -> [Target] {
            targets.map { Target(href: nil, number: $0.number) }
        }
        var links = NewLinks(from: Target(href: nil, number: source.number))
        (links.pages, links.assets, links.guesses) = (
            withoutURLs(pages), withoutURLs(assets), withoutURLs(guesses)
        )
        return links
    }
}

extension LoaderNote {
    /// Whether a loader and its configuration decide which URL this is.
    fileprivate var needsLoader: Bool { kind == .request || kind == .dependency || kind == .resource }
}

extension FoundLink {
    fileprivate init(_ link: LoaderEnvironment.Link) {
        let role = Frontier.Role(link.kind) ?? .asset
        // Loaders do not navigate, so that everything they request is an asset.
        self.init(
            url: link.url.key, role: role == .page ? .asset : role, isGuess: link.isGuess,
            isCORS: link.kind.isCORS([]))
    }
}

// MARK: - In the frontier

extension Frontier {
    /// The links that loaders request because of a scanned body: its own, and further ones of earlier bodies.
    mutating func readLoaderNotes(of result: ScanResult) -> (
        own: [FoundLink], others: [ModuleLoaders.ModuleLinks]
    ) {
        guard !result.notes.isEmpty else { return ([], []) }
        let url = url(result.number)
        let document = document(of: result.number)
        let base = document == result.number ? result.base ?? url : self.url(document)
        let found = loaders.read(result.notes, of: result.number, at: url, document: (document, base))
        // Some of the names are URLs, which the scan has found as well.
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

    /// The page to which a script belongs, found by following the referrers.
    private func document(of number: UInt32) -> UInt32 {
        var place = number
        if records[Int(number)].flags.contains(.isDocument) || loaders.hasEnvironment(number) {
            return number
        }
        for _ in 0..<Self.maxReferrerSteps {
            let record = records[Int(place)]
            if place != number, record.role == .page || loaders.hasEnvironment(place) { return place }
            guard record.referrer != EntryRecord.noEntry else { return place }
            place = record.referrer
        }
        return place
    }

    private static let maxReferrerSteps = 64
}
