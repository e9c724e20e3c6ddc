internal import Glibc
internal import Web

/// What a configuration file says, and on which line: names with values, and names of commands with such.
///
/// ```json
/// {"per-host": 8, "exclude": ["*.pdf"], "serve": {"port": 9000}}
/// ```
public struct ConfigFile: Sendable, Equatable {
    public enum Value: Sendable, Equatable {
        case flag(Bool)
        /// A text, or a number as it is written.
        case text(String)
        case texts([String])
    }

    public struct Entry: Sendable, Equatable {
        /// The command that it is for; nil for all of them.
        public let section: String?
        public let key: String
        public let value: Value
        public let line: Int
        /// The line on which the section begins.
        public let sectionLine: Int
    }

    public let path: String
    public let entries: [Entry]

    private static let mostBytes = 1 << 20

    /// What is there, which may be nothing.
    public enum Finding: Sendable, Equatable {
        case read(ConfigFile)
        case absent
        /// It is another user's, and could make larder do what that user wants.
        case foreign
    }

    /// - Throws: `LarderError` of kind `.input` for a file that cannot be read or says what it must not.
    public static func look(at path: String) throws(LarderError) -> Finding {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else {
            let code = errno
            if code == ENOENT || code == ENOTDIR { return .absent }
            throw unreadable(path, code)
        }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0 else { throw unreadable(path, errno) }
        guard status.st_uid == geteuid() || status.st_uid == 0 else { return .foreign }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 16 * 1024)
        while bytes.count <= mostBytes {
            let count = Glibc.read(file, &piece, piece.count)
            if count == 0 { break }
            if count > 0 { bytes += piece[..<count] } else if errno != EINTR { throw unreadable(path, errno) }
        }
        return .read(try ConfigFile(bytes, path: path))
    }

    private static func unreadable(_ path: String, _ code: Int32) -> LarderError {
        LarderError(
            .input,
            "cannot read the configuration file \(path): \(String(cString: strerror(code))); make it readable, or remove it"
        )
    }

    /// - Throws: `LarderError` of kind `.input` that names the file, the line and the key.
    public init(_ bytes: [UInt8], path: String) throws(LarderError) {
        self.path = path
        let advice = "write it like {\"per-host\": 8, \"serve\": {\"port\": 9000}}"
        guard bytes.count <= Self.mostBytes else {
            throw LarderError(.input, "\(path) is larger than a configuration may be (1 MiB): \(advice)")
        }
        let json: JSONValue
        do throws(JSONError) {
            json = try JSONValue.parse(bytes.span)
        } catch {
            throw LarderError(
                .input, "\(path):\(error.line): this is no JSON: expected \(error.expected), found \(error.found)")
        }
        guard let members = json.members else {
            throw LarderError(.input, "\(path):1: expected an object of options: \(advice)")
        }
        var entries: [Entry] = []
        for member in members {
            let line = TextPosition(of: member.keyOffset, in: bytes.span).line
            if let own = member.value.members {
                for inner in own {
                    let innerLine = TextPosition(of: inner.keyOffset, in: bytes.span).line
                    entries.append(
                        Entry(
                            section: member.key, key: inner.key,
                            value: try Self.value(inner, "\(path):\(innerLine)"), line: innerLine, sectionLine: line))
                }
            } else {
                entries.append(
                    Entry(
                        section: nil, key: member.key, value: try Self.value(member, "\(path):\(line)"), line: line,
                        sectionLine: line))
            }
        }
        self.entries = entries
    }

    private static func value(_ member: JSONValue.Member, _ place: String) throws(LarderError) -> Value {
        switch member.value.content {
        case .bool(let flag): return .flag(flag)
        case .string(let text): return .text(text)
        case .number(let number): return .text(number.text)
        case .array(let items):
            let texts = items.compactMap { $0.string ?? $0.number?.text }
            if texts.count == items.count { return .texts(texts) }
        case .null, .object:
            break
        }
        throw LarderError(
            .input,
            "\(place): \"\(member.key)\" wants a text, a number, true, false, or a list of texts; "
                + "leave it out for what is usual")
    }
}
