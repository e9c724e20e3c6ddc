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
            if byte == 0x25, pair.count == 2, let high = pair[0].hexDigitValue, let low = pair[1].hexDigitValue {
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
    package var description: String { "credentials for \(logins.count + certificates.count + machines.count) places" }
}

extension Credentials.Login: Concealed {
    package var description: String { "a login" }
}

extension Credentials.Certificate: Concealed {
    package var description: String { "a client certificate" }
}
