internal import Digest
internal import Glibc

/// Where a larder is that a PostgreSQL keeps, as people and programs write it:
/// `postgres://USER@HOST:PORT/DB?schema=larder`. Whatever else libpq knows may stand behind the question mark.
///
/// What is this machine's own (bodies on their way, copies of large ones, what servers note, the index of the
/// search, logins) is in a folder: the one that `folder=` names, else one below the user's data. The larger bodies are
/// where `bodies=` says.
package struct ServerAddress: Sendable, Hashable {
    /// For libpq, and the same for a session that writes: of several servers it wants the one that may be
    /// written to, whichever may be read.
    let words: String
    let writerWords: String
    /// For people: without a password.
    package let shown: String
    package let schema: String
    let folder: String
    /// Where the larger bodies are; nil where the PostgreSQL has them.
    package let bodies: DepotPlace?
    /// Which larder it is, however its bodies are named.
    let identity: String
    /// Why it is none.
    let fault: String?
    /// Whether it has a password, or something that may be meant as one: libpq repeats that in messages.
    let hasSecret: Bool

    /// Nil for the path of a folder.
    package init?(_ text: String) {
        let schemes = ["postgres://", "postgresql://"]
        guard let scheme = schemes.first(where: { text.prefix($0.count).lowercased() == $0 }) else {
            return nil
        }
        // libpq knows them in small letters alone.
        let text = scheme + text.dropFirst(scheme.count)
        let place = String(text.prefix { $0 != "?" })
        let settings = text.dropFirst(place.count + 1).split(separator: "&").map(String.init)
        var (schema, folder): (String, String?) = ("larder", nil)
        var rest: [String] = []
        var shown: [String] = []
        var fault: String?
        var bodies: [String: String] = [:]
        // Without them a machine that is gone without a word is waited for until the system gives up, and is not seen to
        // be gone while it is thought to be at work.
        for (name, value) in [
            ("connect_timeout", "10"), ("tcp_user_timeout", "20000"), ("keepalives_idle", "2"),
            ("keepalives_interval", "1"),
        ]
        where !settings.contains(where: { $0.hasPrefix(name + "=") }) {
            rest.append("\(name)=\(value)")
        }
        for setting in settings {
            let value = Self.decoded(Array(setting.utf8.drop { $0 != UInt8(ascii: "=") }.dropFirst()))
            // libpq decodes the names, too.
            switch Self.name(of: setting) {
            case let name where DepotPlace.words.contains(name): bodies[name] = value
            case "schema":
                schema = value
                shown.append(setting)
            case "folder": folder = value
            case let name where Self.secretSettings.contains(name): rest.append(setting)
            default:
                rest.append(setting)
                // A password with a question mark in it goes on here.
                if !setting.contains("@") { shown.append(setting) }
            }
        }
        if !Self.isName(schema) {
            fault = "\"\(schema)\" is not the name of a schema: use at most 48 of a-z, 0-9 and _"
        }
        if let folder, !folder.hasPrefix("/") { fault = "\"\(folder)\" is not the absolute path of a folder" }
        do throws(DepotPlace.Mistake) {
            self.bodies = try DepotPlace(words: bodies)
        } catch {
            self.bodies = nil
            fault = fault ?? error.text
        }
        self.fault = fault
        self.schema = schema
        words = place + "?" + rest.joined(separator: "&")
        let choice = "target_session_attrs="
        let isChosen = rest.contains { $0.hasPrefix(choice) }
        let hosts = place.dropFirst(scheme.count).prefix { $0 != "/" }
        let hasSeveral = hosts.contains(",") || rest.contains { $0.hasPrefix("host=") && $0.contains(",") }
        let writers =
            rest.filter { !$0.hasPrefix(choice) }
            + (isChosen || hasSeveral ? [choice + "read-write"] : [])
        writerWords = place + "?" + writers.joined(separator: "&")
        let shownPlace = Self.withoutPassword(
            place.dropFirst(scheme.count), hasMore: settings.contains { $0.contains("@") })
        func isSecret(_ setting: String) -> Bool {
            setting.contains("@") || Self.secretSettings.contains(Self.name(of: setting))
        }
        func address(_ shown: [String]) -> String {
            scheme + shownPlace + (shown.isEmpty ? "" : "?" + shown.joined(separator: "&"))
        }
        let ofBodies = settings.filter {
            DepotPlace.words.contains(String($0.prefix { $0 != "=" })) && !$0.contains("@")
        }
        self.shown = address(shown + ofBodies)
        hasSecret = scheme + shownPlace != place || settings.contains(where: isSecret)
        identity = address(shown) + " " + schema
        self.folder = folder ?? Self.usualFolder(for: identity)
    }

    /// Throws where it cannot be meant so.
    func check() throws(StoreError) {
        if let fault {
            throw StoreError(
                .request, doing: "open", path: shown, detail: fault,
                advice: "write it as postgres://USER@HOST/DATABASE?schema=larder")
        }
    }

    /// The address without its password, for a command that somebody else may type too; the path of a folder as
    /// it is.
    package static func withoutSecret(_ text: String) -> String {
        guard let address = ServerAddress(text) else { return text }
        let settings = text.drop { $0 != "?" }.dropFirst().split(separator: "&")
        guard let folder = settings.first(where: { $0.hasPrefix("folder=") }) else { return address.shown }
        return address.shown + (address.shown.contains("?") ? "&" : "?") + folder
    }

    private static func isName(_ text: String) -> Bool {
        guard let first = text.utf8.first, text.utf8.count <= 48 else { return false }
        return !(0x30...0x39).contains(first)
            && text.utf8.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x5F }
    }

    /// Settings of libpq that are passwords or keys.
    private static let secretSettings = [
        "password", "sslpassword", "scram_client_key", "scram_server_key", "oauth_client_secret",
    ]

    /// Without what is between the first colon and the last "@". A slash in a password is written as `%2F`;
    /// where it is not, the address is wrong, and its password is withheld all the same.
    ///
    /// - Parameter hasMore: an "@" follows behind a question mark.
    private static func withoutPassword(_ place: Substring, hasMore: Bool) -> String {
        guard let at = place.lastIndex(of: "@") else {
            return hasMore ? String(place.prefix { $0 != ":" }) : String(place)
        }
        guard let colon = place[..<at].firstIndex(of: ":") else { return String(place) }
        return String(place[..<colon] + place[at...])
    }

    private static func name(of setting: String) -> String {
        decoded(Array(setting.utf8.prefix { $0 != UInt8(ascii: "=") }))
    }

    private static func decoded(_ text: [UInt8]) -> String {
        var bytes: [UInt8] = []
        var pending: [UInt8] = []
        for byte in text {
            if pending.isEmpty, byte != UInt8(ascii: "%") {
                bytes.append(byte)
                continue
            }
            pending.append(byte)
            guard pending.count == 3 else { continue }
            let value = UInt8(String(decoding: pending[1...], as: UTF8.self), radix: 16)
            bytes += value.map { [$0] } ?? pending
            pending = []
        }
        return String(decoding: bytes + pending, as: UTF8.self)
    }

    private static func usualFolder(for name: String) -> String {
        func variable(_ name: String) -> String? {
            getenv(name).map { String(cString: $0) }.flatMap { $0.hasPrefix("/") ? $0 : nil }
        }
        let data = variable("XDG_DATA_HOME") ?? (variable("HOME") ?? "/tmp") + "/.local/share"
        return data + "/larder-servers/" + DigestStream.digest(.sha256, of: name.utf8.span).hex.prefix(16)
    }

    /// What sessions of this larder agree on is known to the server by numbers and names that hold for the
    /// whole database, or more.
    func key(_ number: Int64) -> Int64 {
        let digest = DigestStream.digest(.sha256, of: "larder \(schema) \(number)".utf8.span)
        return digest.bytes.prefix(8).reduce(0) { $0 << 8 | Int64($1) }
    }

    /// As SQL has it: the name may be one of its words.
    var quotedSchema: String { "\"\(schema)\"" }

    /// Where sessions say that something has changed.
    var channel: String { "larder_\(schema)" }
}
