internal import Glibc
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
            let reader = try Self.storing { () throws(StoreError) in try StoreReader(folder) }
            let sites = try Self.storing { () throws(StoreError) in try reader.sites().map(\.name) }
            let pin = try PinName.pin(name, kind, sites: sites)
            // Whoever says nothing of the kind may have meant the page alone.
            let other = kind == nil && pin.kind == .site ? (try? Self.startURL(name))?.href : nil
            return try Self.storing { () throws(StoreError) in
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
            let reader = try Self.storing { () throws(StoreError) in try StoreReader(folder) }
            let pins = try Self.storing { () throws(StoreError) in try reader.pins() }
            let pin = try PinName.held(name, kind, among: pins)
            return try Self.storing { () throws(StoreError) in
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
            try Self.storing { () throws(StoreError) in
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

    private static func storing<Value>(_ body: () throws(StoreError) -> Value) throws(LarderError) -> Value {
        do throws(StoreError) {
            return try body()
        } catch {
            throw LarderError(lookingUp: error)
        }
    }
}
