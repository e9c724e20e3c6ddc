internal import Check
internal import Glibc
internal import Reports
internal import Store
internal import System
internal import Web

extension Larder {
    /// Keeps an URL, what a pattern matches, or a site from being evicted, with everything that it needs.
    ///
    /// - Parameter kind: nil finds out: what contains a star is a pattern, what names a held site is that
    ///   site, and anything else is a URL. What is not held yet is kept from when it is.
    /// - Throws: `LarderError` of kind `.input` for what cannot be pinned, `.machine` when there is no
    ///   larder, or the store fails.
    @discardableResult
    public func pin(_ name: String, as kind: PinKind? = nil) async throws(LarderError) -> PinChange {
        let folder = folder
        return try await Self.onThread("larder-pin") { () throws(LarderError) in
            let reader = try storing { () throws(StoreError) in try StoreReader(folder) }
            let sites = try storing { () throws(StoreError) in try reader.sites().map(\.name) }
            let pin = try PinName.pin(name, kind, sites: sites)
            // Whoever says nothing of the kind may have meant the page alone.
            let other = kind == nil && pin.kind == .site ? (try? WebURL.start(name))?.href : nil
            return try storing { () throws(StoreError) in
                let isNew = try !reader.pins().contains(pin)
                if isNew { try StoreWriter(folder).add(pin, now: SystemClock.secondsSinceEpoch()) }
                let alsoNamesURL = try other.map { (href) throws(StoreError) in
                    try reader.response(for: href) != nil
                }
                return try PinChange(pin, isNew: isNew, alsoNamesURL: alsoNamesURL ?? false, reader)
            }
        }
    }

    /// Takes a pin away; what it kept may be evicted from here on.
    ///
    /// - Throws: `LarderError` of kind `.input` when there is no such pin, or several and no kind says which;
    ///   `.machine` when there is no larder, or the store fails.
    @discardableResult
    public func unpin(_ name: String, as kind: PinKind? = nil) async throws(LarderError) -> PinChange {
        let folder = folder
        return try await Self.onThread("larder-unpin") { () throws(LarderError) in
            let reader = try storing { () throws(StoreError) in try StoreReader(folder) }
            let pins = try storing { () throws(StoreError) in try reader.pins() }
            let pin = try PinName.held(name, kind, among: pins)
            return try storing { () throws(StoreError) in
                let isGone = try StoreWriter(folder).remove(pin)
                return try PinChange(pin, isNew: isGone, reader)
            }
        }
    }

    /// Every pin, with what it covers of what is held now.
    ///
    /// - Throws: `LarderError` of kind `.machine` when there is no larder, or it cannot be read.
    public func pins() async throws(LarderError) -> PinsReport {
        try await reading("larder-pins") { (reader) throws(StoreError) in try PinsReport(reader) }
    }
}

/// What a person means by the word behind `pin`.
enum PinName {
    /// The pin that the word asks for, whether or not anything is held for it.
    ///
    /// Without a kind, what contains a star is a pattern; what names a held site is that site, with all its
    /// pages; anything else is a URL.
    static func pin(_ text: String, _ kind: PinKind?, sites: [String]) throws(LarderError) -> Pin {
        switch kind ?? likelyKind(text, sites) {
        case .url:
            return Pin(.url, try WebURL.start(text).href)
        case .pattern:
            guard URLGlob(text) != nil else {
                throw LarderError(
                    .input,
                    "\"\(text)\" is no pattern: write it like 'https://example.com/docs/**' or '/fonts/*.woff2'"
                )
            }
            return Pin(.pattern, text)
        case .site:
            guard let place = SiteName.place(of: text, among: sites) else {
                throw LarderError(SiteName.unknown(text, among: sites))
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
        let href = (try? WebURL.start(text))?.href
        let sites = pins.filter { $0.kind == .site }
        let site = SiteName.place(of: text, among: sites.map(\.value)).map { sites[$0] }
        let meant = pins.filter { pin in
            guard kind == nil || kind == pin.kind else { return false }
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
            throw LarderError(
                .input, "\"\(text)\" is pinned in more than one way: say which",
                remedy: .pinKind(meant.map(\.kind)))
        }
        return pin
    }
}
