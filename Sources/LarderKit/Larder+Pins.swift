internal import Check
internal import Glibc
internal import Reports
internal import Store
internal import System
internal import Web

extension Larder {
    /// Pins a URL, the URLs that a pattern matches, or a site: they are not evicted, nor is anything that they need.
    ///
    /// - Parameters:
    ///   - name: the URL, pattern or site. Content that is stored later is covered too.
    ///   - kind: nil guesses: a text with a star is a pattern, the name of a stored site is that site, and anything
    ///     else is a URL.
    /// - Throws: `LarderError` of kind `.input` if the text is not of that kind, `.machine` if there is no store, or
    ///   it fails.
    @discardableResult
    public func pin(_ name: String, as kind: PinKind? = nil) async throws(LarderError) -> PinChange {
        let folder = folder
        return try await Self.runOnThread("larder-pin") { () throws(LarderError) in
            let reader = try mapStoreError { () throws(StoreError) in try StoreReader(folder) }
            let sites = try mapStoreError { () throws(StoreError) in try reader.sites().map(\.name) }
            let pin = try PinArgument.pin(name, kind, sites: sites)
            // Without a kind, the caller may have meant only the page.
            let startURL = kind == nil && pin.kind == .site ? (try? WebURL.start(name))?.href : nil
            return try mapStoreError { () throws(StoreError) in
                let isNew = try !reader.pins().contains(pin)
                if isNew { try StoreWriter(folder).add(pin, now: SystemClock.secondsSinceEpoch()) }
                let alsoNamesURL = try startURL.map { (href) throws(StoreError) in
                    try reader.response(for: href) != nil
                }
                return try PinChange(pin, isNew: isNew, alsoNamesURL: alsoNamesURL ?? false, reader)
            }
        }
    }

    /// Removes a pin. The content that it protected may be evicted from now on.
    ///
    /// - Throws: `LarderError` of kind `.input` if there is no such pin, or several and no kind chooses one;
    ///   `.machine` if there is no store, or it fails.
    @discardableResult
    public func unpin(_ name: String, as kind: PinKind? = nil) async throws(LarderError) -> PinChange {
        let folder = folder
        return try await Self.runOnThread("larder-unpin") { () throws(LarderError) in
            let reader = try mapStoreError { () throws(StoreError) in try StoreReader(folder) }
            let pins = try mapStoreError { () throws(StoreError) in try reader.pins() }
            let pin = try PinArgument.existingPin(name, kind, among: pins)
            return try mapStoreError { () throws(StoreError) in
                let isGone = try StoreWriter(folder).remove(pin)
                return try PinChange(pin, isNew: isGone, reader)
            }
        }
    }

    /// All pins, with the stored content that each of them protects.
    ///
    /// - Throws: `LarderError` of kind `.machine` if there is no store, or it cannot be read.
    public func pins() async throws(LarderError) -> PinsReport {
        try await readStore("larder-pins") { (reader) throws(StoreError) in try PinsReport(reader) }
    }
}

/// Interprets the argument of `larder pin`.
enum PinArgument {
    /// The pin that a text denotes, whether or not anything is stored for it.
    ///
    /// Without a kind, a text with a star is a pattern, the name of a stored site is that site with all its pages,
    /// and anything else is a URL.
    static func pin(_ text: String, _ kind: PinKind?, sites: [String]) throws(LarderError) -> Pin {
        switch kind ?? likelyKind(text, sites) {
        case .url:
            do throws(URLInputError) { return Pin(.url, try WebURL.parseUserInput(text).href) } catch {
                guard case .singleWord = error.kind, kind == nil else { throw LarderError(error) }
                throw LarderError(SiteName.unknownSiteError(text, among: sites))
            }
        case .pattern:
            guard URLGlob(text) != nil else {
                throw LarderError(
                    .input,
                    "\"\(text)\" is not a pattern; write it like 'https://example.com/docs/**' or '/fonts/*.woff2'"
                )
            }
            return Pin(.pattern, text)
        case .site:
            guard let index = SiteName.index(of: text, among: sites) else {
                throw LarderError(SiteName.unknownSiteError(text, among: sites))
            }
            return Pin(.site, sites[index])
        }
    }

    private static func likelyKind(_ text: String, _ sites: [String]) -> PinKind {
        if text.utf8.contains(UInt8(ascii: "*")) { return .pattern }
        return SiteName.index(of: text, among: sites) == nil ? .url : .site
    }

    /// The existing pin that a text denotes.
    static func existingPin(_ text: String, _ kind: PinKind?, among pins: [Pin]) throws(LarderError) -> Pin {
        let href = (try? WebURL.start(text))?.href
        let sites = pins.filter { $0.kind == .site }
        let site = SiteName.index(of: text, among: sites.map(\.value)).map { sites[$0] }
        let matches = pins.filter { pin in
            guard kind == nil || kind == pin.kind else { return false }
            return switch pin.kind {
            case .url: pin.value == href
            case .pattern: pin.value == text
            case .site: pin == site
            }
        }
        guard let pin = matches.first else {
            throw LarderError(.input, "\"\(text)\" is not pinned; list pins with: larder pin")
        }
        guard matches.count == 1 else {
            throw LarderError(
                .input, "\"\(text)\" is pinned in more than one way; choose one",
                remedy: .pinKind(matches.map(\.kind)))
        }
        return pin
    }
}
