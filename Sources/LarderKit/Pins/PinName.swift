internal import Store
internal import Web

/// What a person means by the word behind `pin`.
enum PinName {
    /// The pin that the word asks for, whether or not anything is held for it.
    ///
    /// Without a kind, what contains a star is a pattern; what names a held site is that site, with all its pages; anything
    /// else is a URL.
    static func pin(_ text: String, _ kind: PinKind?, sites: [String]) throws(LarderError) -> Pin {
        switch kind ?? likelyKind(text, sites) {
        case .url:
            return Pin(.url, try Larder.startURL(text).href)
        case .pattern:
            guard URLGlob(text) != nil else {
                throw LarderError(
                    .input, "\"\(text)\" is no pattern: write it like 'https://example.com/docs/**' or '/fonts/*.woff2'"
                )
            }
            return Pin(.pattern, text)
        case .site:
            guard let place = SiteName.place(of: text, among: sites) else {
                throw LarderError(lookingUp: SiteName.unknown(text, among: sites))
            }
            return Pin(.site, sites[place])
        }
    }

    private static func likelyKind(_ text: String, _ sites: [String]) -> PinKind {
        if text.utf8.contains(UInt8(ascii: "*")) { return .pattern }
        return SiteName.place(of: text, among: sites) == nil ? .url : .site
    }

    /// The one pin that the word names.
    static func held(_ text: String, _ kind: PinKind?, among pins: [Pin]) throws(LarderError) -> Pin {
        let href = (try? Larder.startURL(text))?.href
        let sites = pins.filter { $0.kind == .site }
        let site = SiteName.place(of: text, among: sites.map(\.value)).map { sites[$0] }
        let meant = pins.filter { pin in
            guard kind == nil || kind == PinKind(pin.kind) else { return false }
            return switch pin.kind {
            case .url: pin.value == href
            case .pattern: pin.value == text
            case .site: pin == site
            }
        }
        guard let pin = meant.first else {
            throw LarderError(.input, "\"\(text)\" is not pinned; see what is with: larder pins")
        }
        guard meant.count == 1 else {
            let kinds = meant.map { "--\($0.kind.rawValue)" }.joined(separator: " or ")
            throw LarderError(.input, "\"\(text)\" is pinned in more than one way: say which with \(kinds)")
        }
        return pin
    }
}

extension PinKind {
    init(_ kind: Pin.Kind) {
        switch kind {
        case .url: self = .url
        case .pattern: self = .pattern
        case .site: self = .site
        }
    }
}
