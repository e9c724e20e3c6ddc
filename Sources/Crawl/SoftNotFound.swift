internal import Web

/// Tells pages of a host that say "not found" with a status that says the contrary, by what the host answers
/// to an URL that cannot exist.
struct SoftNotFound: Sendable {
    /// An answer as far as it tells.
    struct Answer: Sendable, Equatable {
        var status: Int
        /// Where it redirects to.
        var target: WebURL?
        /// Nil without a body.
        var content: ContentPrint?
    }

    enum Judgement: Sendable, Equatable {
        /// The host has not been asked yet.
        case unknown
        case found
        case notFound
    }

    private enum Manner: Sendable {
        case unknown
        /// It says so when there is nothing.
        case honest
        /// It answers everything in the same way, since its pages are made in the browser: that says nothing
        /// about any of them.
        case sameForAll
        case redirecting(WebURL)
        case page(ContentPrint)
    }

    private var manner = Manner.unknown

    private static let nameLength = 24
    private static let differingBits = 6
    /// For a page whose title says that there is nothing: of few words the address among them is a part that
    /// counts. Pages that have nothing in common differ in half of 64.
    private static let differingBitsWhereSaid = 16
    private static let differingSize = 0.1

    /// An URL beside the given one that no server has: its last name replaced by letters made from the seed,
    /// its ending kept.
    static func probe(beside url: WebURL, seed: UInt64) -> WebURL? {
        let name = url.path.utf8.suffix(while: { $0 != UInt8(ascii: "/") })
        let ending = name.lastIndex(of: UInt8(ascii: ".")).map { name[$0...].prefix(8) } ?? name.suffix(0)
        var letters: [UInt8] = []
        var state = seed
        while letters.count < nameLength {
            state = Mixing.mix(state)
            letters.append(UInt8(ascii: "a") + UInt8(state % 26))
        }
        return WebURL(String(decoding: letters + ending, as: UTF8.self), base: url)
    }

    /// Tells what the host answered to the probe. `start` is what it answers to a page that exists, best the
    /// start page.
    mutating func probed(_ answer: Answer, start: Answer?) {
        if let target = answer.target {
            manner = .redirecting(target)
        } else if (200..<300).contains(answer.status), let content = answer.content {
            let isStart = start?.content.map { Self.isAlike($0, content) } ?? false
            manner = isStart ? .sameForAll : .page(content)
        } else {
            manner = .honest
        }
    }

    /// Whether the host was asked.
    var isKnown: Bool {
        if case .unknown = manner { false } else { true }
    }

    /// `saysSo` when the page's title says that there is nothing.
    func judgement(of answer: Answer, saysSo: Bool = false) -> Judgement {
        switch manner {
        case .unknown: .unknown
        case .honest, .sameForAll: .found
        case .redirecting(let target): answer.target == target ? .notFound : .found
        case .page(let content):
            answer.content.map {
                Self.isAlike($0, content, saysSo ? Self.differingBitsWhereSaid : Self.differingBits)
            }
                ?? false ? .notFound : .found
        }
    }

    private static func isAlike(
        _ one: ContentPrint, _ other: ContentPrint, _ differingBits: Int = differingBits
    ) -> Bool {
        one.isAlike(other, differingBits: differingBits, differingSize: differingSize)
    }
}

extension String.UTF8View {
    /// The longest end all of whose bytes are so.
    fileprivate func suffix(while isSo: (UInt8) -> Bool) -> Substring.UTF8View {
        var start = endIndex
        while start > startIndex, isSo(self[index(before: start)]) { start = index(before: start) }
        return self[start...]
    }
}

/// Watches the pages of one host for those that say "not found" with a status that says the contrary. Only
/// when some look so, or repeat each other, is the host asked for what it cannot have, once.
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

/// Words by which pages say that there is nothing.
enum NotFoundWords {
    private static let phrases = [
        "not found", "page missing", "no such page", "does not exist", "doesn't exist", "nicht gefunden",
        "introuvable",
        "non trouvée", "no encontrada", "no encontrado", "non trovata", "não encontrada", "niet gevonden",
        "не найдена", "未找到", "見つかりません",
    ].map { Array($0.utf8) }
    private static let longestTitle = 512

    /// Whether a page's title says so: by words, or by the number of the status.
    static func areSaid(in title: String) -> Bool {
        let bytes = title.utf8.prefix(longestTitle).map(\.lowercasedASCII)
        return saysNumber(bytes) || phrases.contains { isFound($0, in: bytes) }
    }

    /// 404 as a word of its own.
    private static func saysNumber(_ bytes: [UInt8]) -> Bool {
        bytes.split { !$0.isASCIIAlphanumeric }.contains { $0.elementsEqual("404".utf8) }
    }

    private static func isFound(_ phrase: [UInt8], in bytes: [UInt8]) -> Bool {
        guard bytes.count >= phrase.count else { return false }
        return (0...bytes.count - phrase.count).contains { bytes[$0...].starts(with: phrase) }
    }
}
