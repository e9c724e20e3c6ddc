internal import System
package import Web

/// Who larder is to whom. Each origin is shown its own and nothing else; descriptions never show any.
package struct Credentials: Sendable {
    package enum Login: Sendable, Equatable {
        /// Sent with the first request.
        case basic(user: String, password: String)
        /// Sent when the server asks, which costs a second request; the password itself does not travel.
        case digest(user: String, password: String)
        /// Digest where the server offers it, else basic; also only when it asks.
        case asked(user: String, password: String)
        case bearer(token: String)
    }

    /// What TLS shows a server that asks for it.
    package struct Certificate: Sendable, Equatable {
        /// PEM files; the key may stand in the certificate's.
        package var certificate: String
        package var key: String?
        package var passphrase: String?

        package init(certificate: String, key: String? = nil, passphrase: String? = nil) {
            self.certificate = certificate
            self.key = key
            self.passphrase = passphrase
        }
    }

    private var logins: [String: Login] = [:]
    private var certificates: [String: Certificate] = [:]
    /// By host, on any port: a netrc file knows no more.
    private var machines: [String: Login] = [:]

    package init() {}

    package var isEmpty: Bool { logins.isEmpty && certificates.isEmpty && machines.isEmpty }

    package mutating func add(_ login: Login, for origin: WebURL) { logins[origin.origin] = login }

    package mutating func add(_ certificate: Certificate, for origin: WebURL) {
        certificates[origin.origin] = certificate
    }

    /// What was written into the address itself; false when nothing was.
    package mutating func add(userInfoOf url: WebURL) -> Bool {
        guard url.hasCredentials else { return false }
        let user = Self.decoded(url.username)
        add(.basic(user: user, password: Self.decoded(url.password)), for: url)
        return true
    }

    /// What a netrc file says; what was added for an origin wins over it.
    package mutating func add(_ netrc: Netrc) {
        for (machine, login) in netrc.logins {
            machines[machine] = .basic(user: login.user, password: login.password)
        }
    }

    package func login(for url: WebURL) -> Login? {
        if logins.isEmpty, machines.isEmpty { return nil }
        return logins[url.origin] ?? machines[url.host]
    }

    package func certificate(for url: WebURL) -> Certificate? {
        certificates.isEmpty ? nil : certificates[url.origin]
    }

    private static func decoded(_ text: String) -> String {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            let pair = Array(rest.prefix(2))
            if byte == 0x25, pair.count == 2, let high = pair[0].hexDigitValue,
                let low = pair[1].hexDigitValue
            {
                bytes.append(high << 4 | low)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension Credentials: Concealed {
    package var description: String {
        "credentials for \(logins.count + certificates.count + machines.count) places"
    }
}

extension Credentials.Login: Concealed {
    package var description: String { "a login" }
}

extension Credentials.Certificate: Concealed {
    package var description: String { "a client certificate" }
}

// MARK: - Netrc

/// The logins of a netrc file, by host.
///
/// Its `default` is not taken: a crawler would show it to every host that a page names.
package struct Netrc: Sendable {
    package struct Login: Sendable, Equatable {
        package var user: String
        package var password: String
    }

    package private(set) var logins: [String: Login] = [:]

    private static let mostBytes = 1024 * 1024

    /// Reads a file. Throws where it cannot, or when a word of it has no meaning; never shows what stands in
    /// it.
    package init(file path: String) throws(FetchFailure) {
        let bytes = try FetchFailure.wrapping { () throws(SystemError) in
            try WholeFile.read(path, atMost: Self.mostBytes)
        }
        if let line = read(bytes) {
            throw FetchFailure(.machine, "\(path):\(line): not valid in a netrc file")
        }
    }

    /// Nil when a word has no meaning.
    package init?(_ text: [UInt8]) {
        guard read(text) == nil else { return nil }
    }

    /// The number of the line that has no meaning; nil when all have.
    private mutating func read(_ bytes: [UInt8]) -> Int? {
        var words = Words(bytes: bytes)
        var machine: String?
        var user: String?
        var password: String?
        func entry() -> (String, Login)? {
            guard let machine, let password else { return nil }
            return (machine, Login(user: user ?? "", password: password))
        }
        func keep(_ found: (String, Login)?) {
            // The first of several counts, as everywhere.
            if let (machine, login) = found, logins[machine] == nil { logins[machine] = login }
        }
        while let word = words.next() {
            switch word {
            case "machine", "default":
                keep(entry())
                (machine, user, password) = (nil, nil, nil)
                if word == "machine" {
                    guard let name = words.next() else { return words.line }
                    machine = name.lowercased()
                }
            case "login", "password", "account":
                guard let value = words.next() else { return words.line }
                if word == "login" { user = value }
                if word == "password" { password = value }
            case "macdef":
                words.skipMacro()
            default:
                return words.line
            }
        }
        keep(entry())
        return nil
    }
}

extension Netrc: Concealed {
    package var description: String { "a netrc file" }
}

extension Netrc.Login: Concealed {
    package var description: String { "a login" }
}

extension Netrc {
    /// Between spaces and line ends; in double quotes a word may hold them, with backslashes before what is
    /// meant itself.
    private struct Words {
        let bytes: [UInt8]
        var position = 0
        var line = 1

        init(bytes: [UInt8]) { self.bytes = bytes }

        private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

        private mutating func take() -> UInt8? {
            guard position < bytes.count else { return nil }
            defer { position += 1 }
            if bytes[position] == 0x0A { line += 1 }
            return bytes[position]
        }

        mutating func next() -> String? {
            while position < bytes.count {
                if Self.isSpace(bytes[position]) {
                    _ = take()
                } else if bytes[position] == UInt8(ascii: "#") {
                    while let byte = take(), byte != 0x0A {}
                } else {
                    break
                }
            }
            guard position < bytes.count else { return nil }
            var word: [UInt8] = []
            if bytes[position] == UInt8(ascii: "\"") {
                position += 1
                while let byte = take(), byte != UInt8(ascii: "\"") {
                    word.append(byte == UInt8(ascii: "\\") ? take() ?? byte : byte)
                }
            } else {
                while position < bytes.count, !Self.isSpace(bytes[position]) {
                    word.append(bytes[position])
                    position += 1
                }
            }
            return String(decoding: word, as: UTF8.self)
        }

        /// A macro ends with an empty line.
        mutating func skipMacro() {
            var isEmpty = false
            while let byte = take() {
                if byte == 0x0A, isEmpty { return }
                isEmpty = byte == 0x0A || isEmpty && byte == 0x0D
            }
        }
    }
}

/// A value whose parts no interpolation, dump or debugger's print may show: only its description.
package protocol Concealed: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension Concealed {
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}
