internal import System
package import Web

/// The user's logins and client certificates. Each origin receives only its own, and each host that of the
/// netrc file. Descriptions show none of them.
package struct Credentials: Sendable {
    /// A login, and how it is sent.
    package enum Login: Sendable, Equatable {
        /// Basic authentication, sent with the first request.
        case basic(user: String, password: String)
        /// Digest authentication, sent only if the server asks for it, which costs a second request. The
        /// password itself is never sent.
        case digest(user: String, password: String)
        /// Digest authentication if the server offers it, else basic; sent only if the server asks for it.
        case digestOrBasic(user: String, password: String)
        /// A bearer token, sent with the first request.
        case bearer(token: String)
    }

    /// A client certificate, which TLS sends to a server that asks for it.
    package struct Certificate: Sendable, Equatable {
        /// The path of a PEM file, which may contain the key, too.
        package var certificate: String
        /// The path of a PEM file; nil if the key is in the file of the certificate.
        package var key: String?
        package var passphrase: String?

        package init(certificate: String, key: String? = nil, passphrase: String? = nil) {
            self.certificate = certificate
            self.key = key
            self.passphrase = passphrase
        }
    }

    /// Logins by origin.
    private var logins: [String: Login] = [:]
    /// Certificates by origin.
    private var certificates: [String: Certificate] = [:]
    /// Logins of netrc files, by host. They apply to any port, since a netrc file names none.
    private var netrcLogins: [String: Login] = [:]

    package init() {}

    package var isEmpty: Bool { logins.isEmpty && certificates.isEmpty && netrcLogins.isEmpty }

    package mutating func add(_ login: Login, for origin: WebURL) { logins[origin.origin] = login }

    package mutating func add(_ certificate: Certificate, for origin: WebURL) {
        certificates[origin.origin] = certificate
    }

    /// Adds the logins of a netrc file. Logins that were added for an origin take precedence.
    package mutating func addLogins(of netrc: Netrc) {
        for (machine, login) in netrc.logins {
            netrcLogins[machine] = .basic(user: login.user, password: login.password)
        }
    }

    /// The login to use for a URL; nil if there is none.
    package func login(for url: WebURL) -> Login? {
        if logins.isEmpty, netrcLogins.isEmpty { return nil }
        return logins[url.origin] ?? netrcLogins[url.host]
    }

    /// The client certificate to use for a URL; nil if there is none.
    package func certificate(for url: WebURL) -> Certificate? {
        certificates.isEmpty ? nil : certificates[url.origin]
    }
}

extension Credentials: Redacted {
    package var description: String {
        "credentials for \(logins.count + certificates.count + netrcLogins.count) places"
    }
}

extension Credentials.Login: Redacted {
    package var description: String { "a login" }
}

extension Credentials.Certificate: Redacted {
    package var description: String { "a client certificate" }
}

// MARK: - Netrc

/// The logins of a netrc file, by host.
///
/// The `default` entry is ignored: a crawler would send it to every host that a page names.
package struct Netrc: Sendable {
    package struct Login: Sendable, Equatable {
        package var user: String
        package var password: String
    }

    package private(set) var logins: [String: Login] = [:]

    /// The maximum size of a netrc file in bytes. Reading a larger one fails.
    private static let maxFileBytes = 1024 * 1024

    /// Reads a file. Throws if it cannot be read or has an unknown word. The message shows nothing of its
    /// contents.
    package init(file path: String) throws(FetchFailure) {
        let bytes = try FetchFailure.wrapping { () throws(SystemError) in
            try WholeFile.read(path, atMost: Self.maxFileBytes)
        }
        if let line = read(bytes) {
            throw FetchFailure(.machine, "\(path):\(line): not valid in a netrc file")
        }
    }

    /// Parses the contents of a file; nil if it has an unknown word.
    package init?(_ text: [UInt8]) {
        guard read(text) == nil else { return nil }
    }

    /// Parses the contents of a file, and returns the number of the first invalid line; nil if all are valid.
    private mutating func read(_ bytes: [UInt8]) -> Int? {
        var tokenizer = Tokenizer(bytes: bytes)
        var machine: String?
        var user: String?
        var password: String?
        func entry() -> (String, Login)? {
            guard let machine, let password else { return nil }
            return (machine, Login(user: user ?? "", password: password))
        }
        func addIfFirst(_ parsed: (String, Login)?) {
            // The first entry for a host wins, as in other tools.
            if let (machine, login) = parsed, logins[machine] == nil { logins[machine] = login }
        }
        while let word = tokenizer.next() {
            switch word {
            case "machine", "default":
                addIfFirst(entry())
                (machine, user, password) = (nil, nil, nil)
                if word == "machine" {
                    guard let name = tokenizer.next() else { return tokenizer.line }
                    machine = name.lowercased()
                }
            case "login", "password", "account":
                guard let value = tokenizer.next() else { return tokenizer.line }
                if word == "login" { user = value }
                if word == "password" { password = value }
            case "macdef":
                tokenizer.skipMacro()
            default:
                return tokenizer.line
            }
        }
        addIfFirst(entry())
        return nil
    }
}

extension Netrc: Redacted {
    package var description: String { "a netrc file" }
}

extension Netrc.Login: Redacted {
    package var description: String { "a login" }
}

extension Netrc {
    /// The words of a netrc file. They end at white space. A word in double quotes may contain white space,
    /// and `\` takes the next character literally.
    private struct Tokenizer {
        let bytes: [UInt8]
        var position = 0
        var line = 1

        init(bytes: [UInt8]) { self.bytes = bytes }

        private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

        private mutating func advance() -> UInt8? {
            guard position < bytes.count else { return nil }
            defer { position += 1 }
            if bytes[position] == 0x0A { line += 1 }
            return bytes[position]
        }

        /// Returns the next word, after white space and comments; nil at the end.
        mutating func next() -> String? {
            while position < bytes.count {
                if Self.isSpace(bytes[position]) {
                    _ = advance()
                } else if bytes[position] == UInt8(ascii: "#") {
                    while let byte = advance(), byte != 0x0A {}
                } else {
                    break
                }
            }
            guard position < bytes.count else { return nil }
            var word: [UInt8] = []
            if bytes[position] == UInt8(ascii: "\"") {
                position += 1
                while let byte = advance(), byte != UInt8(ascii: "\"") {
                    word.append(byte == UInt8(ascii: "\\") ? advance() ?? byte : byte)
                }
            } else {
                while position < bytes.count, !Self.isSpace(bytes[position]) {
                    word.append(bytes[position])
                    position += 1
                }
            }
            return String(decoding: word, as: UTF8.self)
        }

        /// Skips a macro, which ends with an empty line.
        mutating func skipMacro() {
            var isEmpty = false
            while let byte = advance() {
                if byte == 0x0A, isEmpty { return }
                isEmpty = byte == 0x0A || isEmpty && byte == 0x0D
            }
        }
    }
}

/// A value with secrets. String interpolation, `dump` and the debugger show only its description, and none of
/// its parts.
protocol Redacted: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension Redacted {
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}
