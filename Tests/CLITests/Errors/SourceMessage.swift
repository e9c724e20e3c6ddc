import Glibc
import Testing

/// An error message in the source code, with `…` for each interpolation.
struct SourceMessage: CustomTestStringConvertible, Sendable {
    let file: String
    let maker: String
    let text: String

    var testDescription: String { "\(file): \(text)" }

    /// The functions and types whose arguments are error messages.
    private static let makers = [
        "UsageError", "LarderError", "NetworkOptionError", "URLInputError", "ServerError", "StoreError",
        "SystemError",
        "terminal.fail", "invalidValue",
    ]

    /// All messages in `Sources`.
    static let all: [SourceMessage] = files(below: sources).flatMap { path in
        let text = Array(SourceText.read(path).utf8)
        return makers.flatMap { maker in
            calls(of: maker, in: text).map {
                SourceMessage(file: String(path.dropFirst(sources.count + 1)), maker: maker, text: $0)
            }
        }
    }

    private static let sources = SourceText.root + "/Sources"

    private static func files(below folder: String) -> [String] {
        guard let entries = opendir(folder) else { return folder.hasSuffix(".swift") ? [folder] : [] }
        defer { closedir(entries) }
        var found: [String] = []
        while let entry = readdir(entries) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name.first != "." { found += files(below: folder + "/" + name) }
        }
        return found.sorted()
    }

    /// Returns the joined literals of each call. Calls without a literal pass on another message.
    private static func calls(of maker: String, in text: [UInt8]) -> [String] {
        let head = Array((maker + "(").utf8)
        var found: [String] = []
        var end = 0
        while let start = place(of: head, in: text, from: end) {
            end = start + head.count
            var scanner = LiteralScanner(text, at: end)
            let message = scanner.scanCall()
            let before = start > 0 ? text[start - 1] : 0x20
            let isCall = before == 0x20 || before == UInt8(ascii: "(") || before == 0x0A
            // A call that only combines other messages has no letters of its own.
            if isCall, message.contains(where: \.isLetter), message.contains(" ") { found.append(message) }
        }
        return found
    }

    private static func place(of part: [UInt8], in text: [UInt8], from start: Int) -> Int? {
        text.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return nil }
            var at = start
            while let hit = memchr(base + at, Int32(part[0]), text.count - at) {
                at = UnsafeRawPointer(hit) - base
                if text.count - at >= part.count, memcmp(hit, part, part.count) == 0 { return at }
                at += 1
            }
            return nil
        }
    }
}

/// Collects the string literals in the arguments of a call.
private struct LiteralScanner {
    private let text: [UInt8]
    private var place: Int
    private var message: [UInt8] = []

    init(_ text: [UInt8], at place: Int) {
        self.text = text
        self.place = place
    }

    /// Returns the string literals in the arguments of the call.
    mutating func scanCall() -> String {
        skip(keeps: true)
        return String(decoding: message, as: UTF8.self)
    }

    /// Moves after the closing parenthesis.
    private mutating func skip(keeps: Bool) {
        var depth = 1
        while place < text.count, depth > 0 {
            switch text[place] {
            case UInt8(ascii: "("): depth += 1
            case UInt8(ascii: ")"): depth -= 1
            case UInt8(ascii: "\""):
                if keeps, !message.isEmpty, message.last != 0x20 { message.append(0x20) }
                literal(keeps: keeps && depth <= 2)
                continue
            default: break
            }
            place += 1
        }
    }

    /// Reads a string literal. Each interpolation becomes `…`.
    private mutating func literal(keeps: Bool) {
        place += 1
        while place < text.count, text[place] != UInt8(ascii: "\"") {
            if text[place] == UInt8(ascii: "\\"), place + 1 < text.count {
                if text[place + 1] == UInt8(ascii: "(") {
                    place += 2
                    skip(keeps: false)
                    if keeps { message += "…".utf8 }
                    continue
                }
                if keeps { message.append(text[place + 1]) }
                place += 2
                continue
            }
            if keeps { message.append(text[place]) }
            place += 1
        }
        place += 1
    }
}

/// Reads source files of the project.
enum SourceText {
    static let root = #filePath.split(separator: "/").dropLast(4).reduce(into: "") { $0 += "/" + $1 }

    static func read(_ path: String) -> String {
        guard let file = fopen(path, "r") else { return "" }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65536)
        while case let count = fread(&piece, 1, piece.count, file), count > 0 { bytes += piece[..<count] }
        return String(decoding: bytes, as: UTF8.self)
    }
}
