internal import Check
internal import Glibc
internal import Reports
internal import Store
internal import System
internal import Web

extension Larder {
    /// Keeps an URL, what a pattern matches, or a site from being evicted, with everything that it needs.
    ///
    /// - Parameter kind: nil finds out: what contains a star is a pattern, what names a held site is that site, and anything
    ///   else is a URL. What is not held yet is kept from when it is.
    /// - Throws: `LarderError` of kind `.input` for what cannot be pinned, `.machine` when there is no larder, or the store
    ///   fails.
    @discardableResult
    public func pin(_ name: String, as kind: PinKind? = nil) async throws(LarderError) -> PinChange {
        let folder = folder
        return try await Self.onThread("larder-pin") { () throws(LarderError) in
            let reader = try storing { () throws(StoreError) in try StoreReader(folder) }
            let sites = try storing { () throws(StoreError) in try reader.sites().map(\.name) }
            let pin = try PinName.pin(name, kind, sites: sites)
            // Whoever says nothing of the kind may have meant the page alone.
            let other = kind == nil && pin.kind == .site ? (try? Self.startURL(name))?.href : nil
            return try storing { () throws(StoreError) in
                let isNew = try !reader.pins().contains(pin)
                if isNew { try StoreWriter(folder).add(pin, now: SystemClock.secondsSinceEpoch()) }
                return PinChange(
                    pin: try Self.describe([pin], reader)[0], isNew: isNew,
                    alsoNamesURL: try other.map { (href) throws(StoreError) in try reader.response(for: href) != nil }
                        ?? false)
            }
        }
    }

    /// Takes a pin away; what it kept may be evicted from here on.
    ///
    /// - Throws: `LarderError` of kind `.input` when there is no such pin, or several and no kind says which; `.machine` when
    ///   there is no larder, or the store fails.
    @discardableResult
    public func unpin(_ name: String, as kind: PinKind? = nil) async throws(LarderError) -> PinChange {
        let folder = folder
        return try await Self.onThread("larder-unpin") { () throws(LarderError) in
            let reader = try storing { () throws(StoreError) in try StoreReader(folder) }
            let pins = try storing { () throws(StoreError) in try reader.pins() }
            let pin = try PinName.held(name, kind, among: pins)
            return try storing { () throws(StoreError) in
                let isGone = try StoreWriter(folder).remove(pin)
                return PinChange(pin: try Self.describe([pin], reader)[0], isNew: isGone, alsoNamesURL: false)
            }
        }
    }

    /// Every pin, with what it covers of what is held now.
    ///
    /// - Throws: `LarderError` of kind `.machine` when there is no larder, or it cannot be read.
    public func pins() async throws(LarderError) -> PinsReport {
        let folder = folder
        return try await Self.onThread("larder-pins") { () throws(LarderError) in
            try storing { () throws(StoreError) in
                let reader = try StoreReader(folder)
                return PinsReport(pins: try Self.describe(reader.pins(), reader))
            }
        }
    }

    private static func describe(_ pins: [Pin], _ reader: StoreReader) throws(StoreError) -> [HeldPin] {
        zip(pins, try reader.covers(of: pins.map { [$0] })).map { pin, cover in
            HeldPin(kind: PinKind(pin.kind), value: pin.value, urls: cover.urlCount, byteCount: cover.byteCount)
        }
    }
}

/// What came of pinning something, or of taking a pin away.
public struct PinChange: Sendable, Equatable {
    public let pin: HeldPin
    /// False when it was so before.
    public let isNew: Bool
    /// The word names a site, which was taken, and also a URL that is held.
    public let alsoNamesURL: Bool

    /// The report for programs.
    public var json: String {
        var writer = JSONWriter(.pretty)
        writer.object { object in
            object.member("pin") { pin.write(to: &$0) }
            object.member("new", isNew)
        }
        return writer.text
    }
}

/// What is pinned, and how much that is.
public struct PinsReport: Sendable, Equatable {
    public let pins: [HeldPin]

    /// The report for programs.
    public var json: String {
        var writer = JSONWriter(.pretty)
        writer.object { object in
            object.member("pins") { list in
                list.array { array in for pin in pins { pin.write(to: &array) } }
            }
        }
        return writer.text
    }
}

/// A pin, and what it covers of what is held now.
public struct HeldPin: Sendable, Equatable {
    public let kind: PinKind
    /// A URL, a pattern, or the name of a site.
    public let value: String
    /// Held URLs that it keeps, those included that others need.
    public let urls: Int
    /// Their bodies' bytes, each body counted once.
    public let byteCount: Int64

    func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("kind", kind.rawValue)
            object.member("value", value)
            object.member("urls", urls)
            object.member("bytes", byteCount)
        }
    }
}

/// What a pin names.
public enum PinKind: String, Sendable, CaseIterable {
    /// One URL, with what it needs.
    case url
    /// The URLs that a pattern matches, with what they need.
    case pattern
    /// Everything of a site, all its visits included.
    case site
}

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
