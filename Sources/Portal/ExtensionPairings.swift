internal import Digest
package import Store
internal import Synchronization
internal import Web

/// The browser extensions that may save pages, and the code that pairs another one.
///
/// An extension exchanges a code, which the portal shows to its user for some minutes, for a token. A token is valid
/// only together with the `Origin` of that extension, which no page can send. The store has only digests of tokens, so
/// that a copy of the store lets no program act as the extension.
///
/// Any thread may use it. The code exists only in memory, with a mutex; the list of extensions is a file of the store.
package final class ExtensionPairings: Sendable {
    /// A paired extension.
    struct PairedExtension: Equatable, Sendable {
        let number: Int
        /// The name of the browser, as the extension gave it.
        let name: String
        let origin: String
        /// The SHA-256 of the token.
        let digest: [UInt8]
        /// The time of the pairing, in seconds since 1970.
        let since: Int64
    }

    private let folder: StoreFolder
    private let pairingCode = Mutex(PairingCode())
    /// Serializes changes of the stored list, which read the file, change the list and write the file.
    private let listLock = Mutex(())

    /// The maximum number of paired extensions. Beyond it, the oldest pairing ends.
    private static let maxPaired = 32
    /// The maximum length of a browser's name. Longer names are truncated.
    private static let maxNameBytes = 60

    package init(_ folder: StoreFolder) { self.folder = folder }

    // MARK: - Pairing

    /// Makes a new code, in place of an earlier one.
    ///
    /// - Parameter now: seconds of the monotonic clock, as below.
    func offerCode(now: Int64) { pairingCode.withLock { $0.offer(PairingCode.makeCode(), now: now) } }

    /// The code that pairs an extension now; nil if there is none.
    func currentCode(now: Int64) -> String? { pairingCode.withLock { $0.current(now: now) } }

    /// Pairs the extension with this origin. Nil if the code is wrong, has expired or was used.
    ///
    /// - Parameters:
    ///   - given: the code that the user typed.
    ///   - name: the name of the browser, for the list of extensions.
    ///   - date: seconds since 1970.
    /// - Returns: the token, of which only the digest is stored.
    func pair(
        _ given: String, name: String, origin: String, now: Int64, date: Int64
    ) throws(StoreError) -> String? {
        guard pairingCode.withLock({ $0.redeem(given, now: now) }) else { return nil }
        let token = PairingCode.makeToken()
        let name = String(
            decoding: name.utf8.filter { $0 >= 0x20 && $0 != 0x7f }.prefix(Self.maxNameBytes), as: UTF8.self)
        try changeList { paired in
            let number = (paired.map(\.number).max() ?? 0) + 1
            paired.append(
                PairedExtension(
                    number: number, name: name, origin: origin, digest: Self.digest(of: token), since: date))
            paired = Array(paired.suffix(Self.maxPaired))
        }
        return token
    }

    /// Ends the pairing with an extension.
    package func remove(_ number: Int) throws(StoreError) {
        try changeList { $0.removeAll { $0.number == number } }
    }

    /// Whether the token belongs to the extension with this origin.
    func isPaired(_ token: String, origin: String) -> Bool {
        let digest = Self.digest(of: token)
        return paired.contains {
            $0.origin == origin && PasswordHash.isEqualInConstantTime($0.digest, digest)
        }
    }

    private static func digest(of token: String) -> [UInt8] {
        DigestStream.digest(.sha256, of: Array(token.utf8).span).bytes
    }

    /// Whether this is the origin of a browser extension. Only browsers give requests such an origin.
    static func isExtension(_ origin: String) -> Bool {
        for scheme in ["chrome-extension://", "moz-extension://"] where origin.hasPrefix(scheme) {
            let name = origin.utf8.dropFirst(scheme.utf8.count)
            return (1...64).contains(name.count)
                && name.allSatisfy { byte in
                    (0x30...0x39).contains(byte) || (0x61...0x7a).contains(byte) || byte == UInt8(ascii: "-")
                }
        }
        return false
    }

    // MARK: - The stored list

    /// The paired extensions, the earliest first. Read anew each time, since several servers may share the store.
    var paired: [PairedExtension] {
        guard let bytes = folder.portalExtensions, let json = try? JSONValue.parse(bytes.span) else {
            return []
        }
        return (json["extensions"]?.array ?? []).compactMap { entry in
            guard let number = entry["number"]?.int, let name = entry["name"]?.string,
                let origin = entry["origin"]?.string, Self.isExtension(origin),
                let digest = entry["sha256"]?.string.flatMap({ Hex.decode($0) }), digest.count == 32,
                let since = entry["since"]?.int
            else { return nil }
            return PairedExtension(
                number: number, name: name, origin: origin, digest: digest, since: Int64(since))
        }
    }

    /// Changes the stored list.
    private func changeList(_ body: (inout [PairedExtension]) -> Void) throws(StoreError) {
        let result = listLock.withLock { _ -> Result<Void, StoreError> in
            var list = paired
            body(&list)
            let members: JSONMembers = [
                "extensions": list.map { one -> JSONMembers in
                    [
                        "number": one.number, "name": one.name, "origin": one.origin,
                        "sha256": Hex.encode(one.digest), "since": one.since,
                    ]
                }
            ]
            return Result { () throws(StoreError) in
                try folder.storePortalExtensions(members.text(.compact) + "\n")
            }
        }
        try result.get()
    }
}

/// A code that pairs one extension, for some minutes and few attempts.
/// This is a pure value: the caller passes the code and the time, in seconds of the monotonic clock.
struct PairingCode {
    /// The code that is valid now; nil if none was offered or it was used.
    private var offered: (code: String, until: Int64, triesLeft: Int)?

    /// The lifetime of a code in seconds.
    static let lifetime: Int64 = 600
    /// The number of attempts after which a code is void. A code has 40 random bits, so few attempts cannot guess it.
    static let maxTries = 5

    /// Makes a code valid, in place of an earlier one.
    mutating func offer(_ code: String, now: Int64) {
        offered = (code, now + Self.lifetime, Self.maxTries)
    }

    /// The valid code; nil if there is none.
    func current(now: Int64) -> String? {
        offered.flatMap { $0.until > now && $0.triesLeft > 0 ? $0.code : nil }
    }

    /// Whether the code is right. A right code is void afterwards. Case, spaces and hyphens do not matter.
    mutating func redeem(_ given: String, now: Int64) -> Bool {
        guard let code = current(now: now) else { return false }
        offered?.triesLeft -= 1
        guard PasswordHash.isEqualInConstantTime(Self.normalized(given), Self.normalized(code)) else {
            return false
        }
        offered = nil
        return true
    }

    /// The code as it is compared: without spaces and hyphens, in upper case.
    private static func normalized(_ code: String) -> [UInt8] {
        code.utf8.prefix(64).filter { $0 != 0x20 && $0 != UInt8(ascii: "-") }.map { byte in
            (0x61...0x7a).contains(byte) ? byte - 0x20 : byte
        }
    }

    /// Draws a code such as `7K2M-XQ4D`, without letters that look like digits.
    static func makeCode() -> String {
        var source = SystemRandomNumberGenerator()
        let letters = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)
        let code = (0..<8).map { _ in letters[Int.random(in: 0..<32, using: &source)] }
        return String(decoding: code[..<4] + [UInt8(ascii: "-")] + code[4...], as: UTF8.self)
    }

    /// 256 random bits.
    static func makeToken() -> String {
        var source = SystemRandomNumberGenerator()
        return Hex.encode((0..<32).map { _ in UInt8.random(in: 0...255, using: &source) })
    }
}
