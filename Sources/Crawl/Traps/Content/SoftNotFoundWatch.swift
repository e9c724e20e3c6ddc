internal import Web

/// Watches the pages of one host for those that say "not found" with a status that says the contrary. Only when some
/// look so, or repeat each other, is the host asked for what it cannot have, once.
struct SoftNotFoundWatch: Sendable {
    private var host = SoftNotFound()
    private var start: SoftNotFound.Answer?
    private var probe: WebURL?
    /// Pages whose words are to be looked at, since something is odd about the host.
    private(set) var hasDoubts = false
    private var repeats = 0
    /// Read, and not judged yet.
    private var suspects: [(number: UInt32, content: ContentPrint, saysNotFound: Bool)] = []

    private static let repeatsToDoubt = 3
    /// Kept back until the probe is answered; further ones are believed.
    private static let mostSuspects = 1024

    /// A page that exists for sure.
    mutating func noteStart(_ content: ContentPrint) {
        start = start ?? SoftNotFound.Answer(status: 200, target: nil, content: content)
    }

    /// True when the host is to be asked for its probe, which happens once.
    mutating func read(
        _ number: UInt32, _ url: WebURL, _ content: ContentPrint, isRepeat: Bool, saysNotFound: Bool
    ) -> Bool {
        if isRepeat { repeats += 1 }
        guard hasDoubts || saysNotFound || repeats >= Self.repeatsToDoubt else { return false }
        if suspects.count < Self.mostSuspects { suspects.append((number, content, saysNotFound)) }
        guard !hasDoubts else { return false }
        hasDoubts = true
        probe = SoftNotFound.probe(beside: url, seed: Mixing.mix(url.origin.utf8.map { $0 }[...]))
        return probe != nil
    }

    /// What to ask the host for.
    mutating func startProbe() -> WebURL? {
        defer { probe = nil }
        return probe
    }

    /// Nil when no answer came: then every page is believed.
    mutating func probed(_ answer: SoftNotFound.Answer?) {
        host.probed(answer ?? SoftNotFound.Answer(status: 404, target: nil, content: nil), start: start)
    }

    /// The numbers of those of which it turned out that there is nothing, each once.
    mutating func takeMissing() -> [UInt32] {
        guard host.isKnown, !suspects.isEmpty else { return [] }
        defer { suspects = [] }
        return suspects.filter { suspect in
            let answer = SoftNotFound.Answer(status: 200, target: nil, content: suspect.content)
            return host.judgement(of: answer, saysSo: suspect.saysNotFound) == .notFound
        }.map(\.number)
    }
}
