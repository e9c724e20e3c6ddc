internal import System

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

    /// Reads a file. Throws where it cannot, or when a word of it has no meaning; never shows what stands in it.
    package init(file path: String) throws(FetchFailure) {
        let bytes = try FetchFailure.wrapping { () throws(SystemError) in
            try WholeFile.read(path, atMost: Self.mostBytes)
        }
        if let line = read(bytes) {
            throw FetchFailure(.machine, "\(path):\(line): not what a netrc file says here")
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
    /// Between spaces and line ends; in double quotes a word may hold them, with backslashes before what is meant
    /// itself.
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
