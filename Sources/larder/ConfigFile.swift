internal import Glibc
internal import System
internal import Web

/// A parsed configuration file: options for all commands, and sections with options for one command, each
/// with its line number for messages.
///
/// ```json
/// {"per-host": 8, "prefetch": {"exclude": ["*.pdf"]}, "serve": {"port": 9000}}
/// ```
///
/// This type knows the syntax only. `Settings.check()` compares the entries with the options of the
/// commands, so a new option needs no change here.
struct ConfigFile: Sendable, Equatable {
    /// The value of an entry. `null` and objects are errors.
    enum Value: Sendable, Equatable {
        case flag(Bool)
        /// A string, or a number as written in the file.
        case text(String)
        case texts([String])
    }

    /// An option that the file sets, with its line number.
    struct OptionEntry: Sendable, Equatable {
        /// The command of the section; nil for an entry for all commands.
        let section: String?
        let key: String
        let value: Value
        let line: Int
    }

    let path: String
    /// Whether the file is found because it is in the current folder, which may come from another person: a clone, or a pull
    /// request in CI.
    var isOfProject: Bool { Settings.projectFiles.contains(path) }
    /// The entries in the order of the file. If a key is repeated, the last one counts.
    let entries: [OptionEntry]

    /// The key of the schema's URL, which is for editors.
    static let schemaKey = "$schema"

    /// The maximum size of a file. A larger one is an error, because it is probably not a configuration.
    private static let maxBytes = 1 << 20

    /// The result of looking for a configuration file.
    enum ReadResult: Sendable, Equatable {
        /// The file was read and parsed.
        case read(ConfigFile)
        /// No file exists at the path, which is usual.
        case absent
        /// The file belongs to another user, who could change what Larder does with it. It is not read.
        case ownedByOtherUser
    }

    /// Reads the file at a path, unless it belongs to another user.
    ///
    /// - Throws: `UsageError` for a file that cannot be read or parsed.
    static func read(at path: String) throws(UsageError) -> ReadResult {
        let bytes: [UInt8]
        do throws(SystemError) {
            let file = try File(path, O_RDONLY)
            var status = stat()
            guard fstat(file.descriptor, &status) == 0 else { throw SystemError(errno, doing: "read", path) }
            // Checked on the open file, so that it cannot be exchanged in between. git does the same with
            // safe.directory.
            guard status.st_uid == geteuid() || status.st_uid == 0 else { return .ownedByOtherUser }
            bytes = try file.read(atMost: maxBytes + 1)
        } catch {
            if error.code == ENOENT || error.code == ENOTDIR { return .absent }
            throw UsageError(
                "cannot read the configuration file \(path): \(error.reason); make it readable or remove it")
        }
        return .read(try ConfigFile(bytes, path: path))
    }

    /// Parses the content of a configuration file.
    ///
    /// - Throws: `UsageError` that names the file, the line and the key.
    init(_ bytes: [UInt8], path: String) throws(UsageError) {
        self.path = path
        let advice = "write it like {\"per-host\": 8, \"serve\": {\"port\": 9000}}"
        guard bytes.count <= Self.maxBytes else {
            throw UsageError("\(path) is larger than the limit for configuration files (1 MiB); \(advice)")
        }
        let json: JSONValue
        do throws(JSONError) {
            json = try JSONValue.parse(bytes.span)
        } catch {
            throw UsageError(
                "\(path):\(error.line): invalid JSON: expected \(error.expected), found \(error.found)")
        }
        guard let members = json.members else {
            throw UsageError("\(path):1: expected an object with options; \(advice)")
        }
        var entries: [OptionEntry] = []
        for member in members where member.key != Self.schemaKey || member.value.string == nil {
            if let sectionMembers = member.value.members {
                for inner in sectionMembers {
                    let innerLine = TextPosition(of: inner.keyOffset, in: bytes.span).line
                    entries.append(
                        OptionEntry(
                            section: member.key, key: inner.key,
                            value: try Self.value(inner, "\(path):\(innerLine)"), line: innerLine))
                }
            } else {
                let line = TextPosition(of: member.keyOffset, in: bytes.span).line
                entries.append(
                    OptionEntry(
                        section: nil, key: member.key, value: try Self.value(member, "\(path):\(line)"),
                        line: line))
            }
        }
        self.entries = entries
    }

    /// Returns the value of an entry. Numbers stay text, as on the command line.
    ///
    /// - Parameter place: the file and line, for messages.
    private static func value(_ member: JSONValue.Member, _ place: String) throws(UsageError) -> Value {
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
        throw UsageError(
            "\(place): \"\(member.key)\" must be a string, a number, true, false, or a list of strings; "
                + "leave it out to use the default")
    }
}

/// The report of `larder config`: the configuration files, and the options that are set, with their
/// sources.
struct ConfigReport: Sendable, Equatable {
    /// A configuration file that was looked for.
    struct File: Sendable, Equatable {
        let path: String
        /// `read`, `not there`, or why the file is not read.
        let state: String

        static let absent = "does not exist"
        var isAbsent: Bool { state == Self.absent }
    }

    /// An option that is set, with the place where it is set.
    struct Setting: Sendable, Equatable {
        /// The command; nil for all commands that have the option.
        let command: String?
        let option: String
        /// The values in effect; nil for values that may be secret, and for options without a value.
        let values: [String]?
        let source: String
    }

    let files: [File]
    let settings: [Setting]

    /// The report as JSON.
    var json: String { members.text() }
}

extension ConfigReport: JSONObject {
    var members: JSONMembers { ["files": files, "settings": settings] }
}

extension ConfigReport.File: JSONObject {
    var members: JSONMembers { ["path": path, "state": state] }
}

extension ConfigReport.Setting: JSONObject {
    var members: JSONMembers { ["command": command, "option": option, "values": values, "source": source] }
}
