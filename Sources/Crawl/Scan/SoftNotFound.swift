internal import Web

/// Recognises soft 404s: pages of a host that say "not found" with a status of success. They are compared
/// with the response to a URL that cannot exist, the probe.
struct SoftNotFound: Sendable {
    /// The properties of a response that are compared.
    struct Answer: Sendable, Equatable {
        var status: Int
        /// The target of a redirect.
        var target: WebURL?
        /// Nil if there is no body.
        var content: ContentPrint?
    }

    /// Whether a page exists.
    enum Judgement: Sendable, Equatable {
        /// The host has not been probed yet.
        case unknown
        case found
        case notFound
    }

    /// The way in which a host responds for missing pages.
    private enum MissingPageBehavior: Sendable {
        case unknown
        /// With an error status.
        case honest
        /// With the same page as for everything else, which is filled in by scripts, so that nothing can be
        /// said about any page.
        case sameForAll
        /// With a redirect to this URL.
        case redirecting(WebURL)
        /// With a page like this, and a status of success.
        case page(ContentPrint)
    }

    private var behavior = MissingPageBehavior.unknown

    /// The number of random letters in the URL of the probe.
    private static let nameLength = 24
    /// The maximum number of differing bits of two fingerprints, of 64, for the same error page.
    private static let differingBits = 6
    /// The maximum number of differing bits for a page whose title says "not found". On pages with few words,
    /// the URL among them matters. Unrelated pages differ in about half of 64 bits.
    private static let differingBitsWhereSaid = 16
    /// The maximum difference in size of the same error page, as a fraction.
    private static let differingSize = 0.1

    /// Returns a URL in the same folder that cannot exist: the last path component is replaced by letters
    /// derived from the seed, with the same file extension.
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

    /// Sets the response to the probe.
    ///
    /// - Parameter start: the response for a page that exists, preferably the start page.
    mutating func didProbe(_ answer: Answer, start: Answer?) {
        if let target = answer.target {
            behavior = .redirecting(target)
        } else if (200..<300).contains(answer.status), let content = answer.content {
            let isStart = start?.content.map { Self.isAlike($0, content) } ?? false
            behavior = isStart ? .sameForAll : .page(content)
        } else {
            behavior = .honest
        }
    }

    /// Whether the host was probed.
    var isKnown: Bool {
        if case .unknown = behavior { false } else { true }
    }

    /// Returns whether a response is a soft 404.
    ///
    /// - Parameter saysSo: whether the page's title says "not found".
    func judgement(of answer: Answer, saysSo: Bool = false) -> Judgement {
        switch behavior {
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
    /// The longest suffix of which all bytes satisfy the predicate.
    fileprivate func suffix(while isSo: (UInt8) -> Bool) -> Substring.UTF8View {
        var start = endIndex
        while start > startIndex, isSo(self[index(before: start)]) { start = index(before: start) }
        return self[start...]
    }
}

/// Watches the pages of one host for soft 404s. The host is probed once, when a page's title says "not found"
/// or several pages repeat others. Until there is a response, such pages are suspects.
struct SoftNotFoundDetector: Sendable {
    private var host = SoftNotFound()
    private var start: SoftNotFound.Answer?
    private var probe: WebURL?
    /// Whether pages are suspects, so that their text is compared.
    private(set) var hasDoubts = false
    private var repeats = 0
    /// The pages that were read and not judged yet.
    private var suspects: [(number: UInt32, content: ContentPrint, saysNotFound: Bool)] = []

    private static let repeatsToDoubt = 3
    /// The maximum number of suspects. Further pages count as found.
    private static let maxSuspects = 1024

    /// Notes the content of a start page, which exists for sure.
    mutating func noteStart(_ content: ContentPrint) {
        start = start ?? SoftNotFound.Answer(status: 200, target: nil, content: content)
    }

    /// Notes a page. Returns true if the host has to be probed now, which happens once.
    mutating func read(
        _ number: UInt32, _ url: WebURL, _ content: ContentPrint, isRepeat: Bool, saysNotFound: Bool
    ) -> Bool {
        if isRepeat { repeats += 1 }
        guard hasDoubts || saysNotFound || repeats >= Self.repeatsToDoubt else { return false }
        if suspects.count < Self.maxSuspects { suspects.append((number, content, saysNotFound)) }
        guard !hasDoubts else { return false }
        hasDoubts = true
        probe = SoftNotFound.probe(beside: url, seed: Mixing.mix(url.origin.utf8.map { $0 }[...]))
        return probe != nil
    }

    /// Removes and returns the URL of the probe.
    mutating func startProbe() -> WebURL? {
        defer { probe = nil }
        return probe
    }

    /// Sets the response to the probe. Nil if there was none; then all pages count as found.
    mutating func didProbe(_ answer: SoftNotFound.Answer?) {
        host.didProbe(answer ?? SoftNotFound.Answer(status: 404, target: nil, content: nil), start: start)
    }

    /// Removes and returns the suspects that are soft 404s.
    mutating func takeMissing() -> [UInt32] {
        guard host.isKnown, !suspects.isEmpty else { return [] }
        defer { suspects = [] }
        return suspects.filter { suspect in
            let answer = SoftNotFound.Answer(status: 200, target: nil, content: suspect.content)
            return host.judgement(of: answer, saysSo: suspect.saysNotFound) == .notFound
        }.map(\.number)
    }
}

/// Phrases in the titles or texts of pages that do not exist.
enum NotFoundWords {
    private static let phrases = [
        "not found", "page missing", "no such page", "does not exist", "doesn't exist", "nicht gefunden",
        "introuvable",
        "non trouvée", "no encontrada", "no encontrado", "non trovata", "não encontrada", "niet gevonden",
        "не найдена", "未找到", "見つかりません",
    ].map { Array($0.utf8) }
    private static let maxTitleBytes = 512

    /// Whether a page's title says "not found", in words or by the number 404.
    static func areSaid(in title: String) -> Bool {
        let bytes = title.utf8.prefix(maxTitleBytes).map(\.lowercasedASCII)
        return saysNumber(bytes) || phrases.contains { isFound($0, in: bytes) }
    }

    /// Whether a page shows hardly more than that it is not found.
    static func areAll(of text: String) -> Bool {
        text.utf8.count <= maxPageTextBytes && areSaid(in: text)
    }

    /// The maximum size of the text of a page that says "not found", with its menus.
    private static let maxPageTextBytes = 1024

    /// Whether the title has 404 as a separate word.
    private static func saysNumber(_ bytes: [UInt8]) -> Bool {
        bytes.split { !$0.isASCIIAlphanumeric }.contains { $0.elementsEqual("404".utf8) }
    }

    private static func isFound(_ phrase: [UInt8], in bytes: [UInt8]) -> Bool {
        guard bytes.count >= phrase.count else { return false }
        return (0...bytes.count - phrase.count).contains { bytes[$0...].starts(with: phrase) }
    }
}
