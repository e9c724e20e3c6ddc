package import Database
internal import Digest
internal import Glibc
internal import Web

/// The address of a store on a PostgreSQL server: `postgres://USER@HOST:PORT/DB?schema=larder`. The query may
/// also contain settings of libpq.
///
/// Data that belongs to this machine (bodies being stored, copies of large bodies, notes of servers, the
/// search index, logins) is in a local folder: the one in the setting `folder=`, or one below the user's data
/// folder. The setting `bodies=` says where the larger bodies are.
package struct PostgreSQLStoreAddress: Sendable, Hashable {
    /// The server and the schema that connections use.
    package let database: PostgreSQLAddress
    let folder: String
    /// The place of the larger bodies, or nil if they are in the database.
    package let bodies: BodyStorageLocation?
    /// A name for the store that does not depend on where its bodies are.
    let identity: String

    /// The address without its password, for messages.
    package var shown: String { database.shown }
    package var schema: String { database.schema }
    /// The reason why the address is invalid, or nil if it is valid.
    var fault: String? { database.fault }

    /// Parses an address. Returns nil if `text` does not begin with `postgres://` or `postgresql://`, and so
    /// is the path of a folder.
    package init?(_ text: String) {
        let schemes = ["postgres://", "postgresql://"]
        guard let scheme = schemes.first(where: { text.prefix($0.count).lowercased() == $0 }) else {
            return nil
        }
        // libpq knows the schemes only in lower case.
        let text = scheme + text.dropFirst(scheme.count)
        let place = String(text.prefix { $0 != "?" })
        let settings = text.dropFirst(place.count + 1).split(separator: "&").map(String.init)
        var (schema, folder): (String, String?) = ("larder", nil)
        var rest: [String] = []
        var shown: [String] = []
        var fault: String?
        var bodies: [String: String] = [:]
        // Without these settings, a connection to a machine that disappeared ends only after the system's
        // long time limits, and such a machine looks like one that is still working on a statement.
        for (name, value) in [
            ("connect_timeout", "10"), ("tcp_user_timeout", "20000"), ("keepalives_idle", "2"),
            ("keepalives_interval", "1"),
        ]
        where !settings.contains(where: { $0.hasPrefix(name + "=") }) {
            rest.append("\(name)=\(value)")
        }
        for setting in settings {
            let value = Self.decode(Array(setting.utf8.drop { $0 != UInt8(ascii: "=") }.dropFirst()))
            // libpq also decodes names.
            switch Self.name(of: setting) {
            case let name where BodyStorageLocation.settingNames.contains(name): bodies[name] = value
            case "schema":
                schema = value
                shown.append(setting)
            case "folder": folder = value
            case let name where Self.secretSettings.contains(name): rest.append(setting)
            default:
                rest.append(setting)
                // This may be the rest of a password that contains a question mark.
                if !setting.contains("@") { shown.append(setting) }
            }
        }
        if !Self.isName(schema) {
            fault = "\"\(schema)\" is not the name of a schema: use at most 48 of a-z, 0-9 and _"
        }
        if let folder, !folder.hasPrefix("/") { fault = "\"\(folder)\" is not the absolute path of a folder" }
        do throws(BodyStorageLocation.SettingError) {
            self.bodies = try BodyStorageLocation(settings: bodies)
        } catch {
            self.bodies = nil
            fault = fault ?? error.text
        }
        let connectionString = place + "?" + rest.joined(separator: "&")
        // A standby server can answer readers. Writers need a server that accepts writes, so if the address names several
        // servers, or chooses by attributes, their connections ask for one. A single server is used as it is.
        let choice = "target_session_attrs="
        let isChosen = rest.contains { $0.hasPrefix(choice) }
        let hosts = place.dropFirst(scheme.count).prefix { $0 != "/" }
        let hasSeveral = hosts.contains(",") || rest.contains { $0.hasPrefix("host=") && $0.contains(",") }
        let writers =
            rest.filter { !$0.hasPrefix(choice) }
            + (isChosen || hasSeveral ? [choice + "read-write"] : [])
        let writerConnectionString = place + "?" + writers.joined(separator: "&")
        let shownPlace = Self.withoutPassword(
            place.dropFirst(scheme.count), queryHasAt: settings.contains { $0.contains("@") })
        func isSecret(_ setting: String) -> Bool {
            setting.contains("@") || Self.secretSettings.contains(Self.name(of: setting))
        }
        func address(_ shown: [String]) -> String {
            scheme + shownPlace + (shown.isEmpty ? "" : "?" + shown.joined(separator: "&"))
        }
        let bodySettings = settings.filter {
            BodyStorageLocation.settingNames.contains(String($0.prefix { $0 != "=" })) && !$0.contains("@")
        }
        let hasSecret = scheme + shownPlace != place || settings.contains(where: isSecret)
        database = PostgreSQLAddress(
            connectionString: connectionString, writerConnectionString: writerConnectionString,
            shown: address(shown + bodySettings), schema: schema,
            fault: fault, hasSecret: hasSecret)
        identity = address(shown) + " " + schema
        self.folder = folder ?? Self.usualFolder(for: identity)
    }

    /// Returns the address without its password, for a command that other users may see. Returns the path of
    /// a folder unchanged.
    package static func withoutSecret(_ text: String) -> String {
        guard let address = PostgreSQLStoreAddress(text) else { return text }
        let settings = text.drop { $0 != "?" }.dropFirst().split(separator: "&")
        guard let folder = settings.first(where: { $0.hasPrefix("folder=") }) else { return address.shown }
        return address.shown + (address.shown.contains("?") ? "&" : "?") + folder
    }

    private static func isName(_ text: String) -> Bool {
        guard let first = text.utf8.first, text.utf8.count <= 48 else { return false }
        return !(0x30...0x39).contains(first)
            && text.utf8.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x5F }
    }

    /// The settings of libpq that are passwords or keys.
    private static let secretSettings = [
        "password", "sslpassword", "scram_client_key", "scram_server_key", "oauth_client_secret",
    ]

    /// Removes the text between the first colon and the last "@". A slash in a password must be written as
    /// `%2F`. If it is not, the address is invalid, but the password is still removed.
    ///
    /// - Parameter queryHasAt: whether the query contains an "@". If so, the password may contain a question mark and
    ///   continue in the query, so that everything from the first colon on is removed.
    private static func withoutPassword(_ place: Substring, queryHasAt: Bool) -> String {
        guard let at = place.lastIndex(of: "@") else {
            return queryHasAt ? String(place.prefix { $0 != ":" }) : String(place)
        }
        guard let colon = place[..<at].firstIndex(of: ":") else { return String(place) }
        return String(place[..<colon] + place[at...])
    }

    private static func name(of setting: String) -> String {
        decode(setting.utf8.prefix { $0 != UInt8(ascii: "=") })
    }

    private static func decode(_ text: some Sequence<UInt8>) -> String {
        String(decoding: [UInt8](percentDecoding: Array(text).span), as: UTF8.self)
    }

    /// The folder below the user's data folder for the store with this identity.
    private static func usualFolder(for identity: String) -> String {
        func variable(_ name: String) -> String? {
            getenv(name).map { String(cString: $0) }.flatMap { $0.hasPrefix("/") ? $0 : nil }
        }
        let data = variable("XDG_DATA_HOME") ?? (variable("HOME") ?? "/tmp") + "/.local/share"
        return data + "/larder-servers/" + DigestStream.digest(.sha256, of: identity.utf8.span).hex.prefix(16)
    }
}
