internal import Glibc
internal import Web

/// Parses a form with files (`multipart/form-data`, RFC 7578) incrementally. A pure value.
///
/// Call `parse` with each piece of the body. It buffers at most a delimiter, the head of a part, and a field of limited
/// length; the bytes of files pass through. `isDone` becomes true at the last delimiter, `isBroken` at the first error.
///
/// The input is divided at `\r\n--BOUNDARY`. A match can span two calls of `parse`, so the last bytes of a part are
/// kept until it is clear that they are not the start of a delimiter. The initial `\r\n` in `pending` makes the first
/// delimiter look like all others.
struct MultipartReader {
    /// A parsed piece of the form. A file is `file`, then any number of `bytes`, then `end`.
    enum FormEvent: Equatable {
        /// A whole field. A value longer than `PortalRequest.maxFieldBytes` is truncated.
        case field(name: String, value: String)
        /// The start of a file; its bytes follow.
        case file(name: String, fileName: String)
        case bytes([UInt8])
        /// The end of the file.
        case end
    }

    /// The part of the input that is expected next.
    private enum ParseStep {
        /// The preamble before the first delimiter, which is skipped.
        case before
        /// The two bytes after a delimiter: `--` ends the form, a line break starts a part.
        case delimiter
        /// The header lines of a part.
        case head
        /// The value of a field, with its bytes so far.
        case field(name: String, [UInt8])
        /// The bytes of a file.
        case file
        /// The epilogue after the last delimiter, which is skipped.
        case done
    }

    private var step = ParseStep.before
    /// Received bytes that are not parsed yet.
    private var pending = Array("\r\n".utf8)
    /// The line break, `--` and the boundary that separate parts.
    private let delimiter: [UInt8]
    private var partCount = 0
    /// Whether the input is not a valid form.
    private(set) var isBroken = false

    /// The maximum number of parts. A form with more is invalid.
    static let maxParts = 32
    /// The maximum size of the head of a part. A form with a longer one is invalid.
    private static let maxHeadBytes = 8192

    /// Creates a reader for a body.
    ///
    /// - Parameter type: the Content-Type; the result is nil if it is not `multipart/form-data`.
    init?(type: String) {
        let parts = type.utf8.split(separator: UInt8(ascii: ";")).map {
            String(decoding: $0, as: UTF8.self).trimmingBlanks
        }
        guard let first = parts.first, HTTPGrammar.matches(first, "multipart/form-data") else { return nil }
        let name = "boundary="
        guard let field = parts.dropFirst().first(where: { $0.lowercased().hasPrefix(name) }) else {
            return nil
        }
        var boundary = field.dropFirst(name.utf8.count)
        if boundary.hasPrefix("\""), boundary.hasSuffix("\""), boundary.utf8.count > 1 {
            boundary = boundary.dropFirst().dropLast()
        }
        // RFC 2046, section 5.1.1: a boundary has 1 to 70 characters.
        guard (1...70).contains(boundary.utf8.count), boundary.utf8.allSatisfy({ (0x20..<0x7f).contains($0) })
        else { return nil }
        delimiter = Array("\r\n--\(boundary)".utf8)
    }

    /// Whether the last delimiter was read.
    var isDone: Bool { if case .done = step { true } else { false } }

    /// Parses more bytes.
    mutating func parse(_ bytes: [UInt8]) -> [FormEvent] {
        guard !isBroken else { return [] }
        pending += bytes
        var events: [FormEvent] = []
        while !isBroken, advance(&events) {}
        return events
    }

    /// Parses one step. Returns false if it needs more bytes.
    private mutating func advance(_ events: inout [FormEvent]) -> Bool {
        switch step {
        case .done:
            pending = []
            return false
        case .delimiter:
            guard pending.count >= 2 else { return false }
            if pending.starts(with: [dash, dash]) {
                step = .done
            } else if pending.starts(with: [cr, lf]), partCount < Self.maxParts {
                partCount += 1
                step = .head
            } else {
                isBroken = true
            }
            pending.removeFirst(2)
            return true
        case .head: return parseHead(&events)
        case .before, .field, .file:
            guard let index = firstIndex(of: delimiter) else {
                // The last bytes can be the beginning of a delimiter.
                let count = max(0, pending.count - delimiter.count + 1)
                emit(count, &events)
                return false
            }
            emit(index, &events)
            pending.removeFirst(delimiter.count)
            switch step {
            case .field(let name, let value):
                events.append(.field(name: name, value: String(decoding: value, as: UTF8.self)))
            case .file: events.append(.end)
            case .before, .delimiter, .head, .done: break
            }
            step = .delimiter
            return true
        }
    }

    /// Parses the head of a part. Returns false if it needs more bytes.
    private mutating func parseHead(_ events: inout [FormEvent]) -> Bool {
        guard let end = firstIndex(of: Array("\r\n\r\n".utf8)) else {
            isBroken = pending.count > Self.maxHeadBytes
            return false
        }
        guard end <= Self.maxHeadBytes, let (name, fileName) = Self.disposition(pending[..<end]) else {
            isBroken = true
            return false
        }
        pending.removeFirst(end + 4)
        if let fileName {
            step = .file
            events.append(.file(name: name, fileName: fileName))
        } else {
            step = .field(name: name, [])
        }
        return true
    }

    /// Emits `count` bytes of the current part.
    private mutating func emit(_ count: Int, _ events: inout [FormEvent]) {
        guard count > 0 else { return }
        switch step {
        case .field(let name, var value):
            // The rest of an overlong field is discarded.
            value += pending.prefix(min(count, max(0, PortalRequest.maxFieldBytes - value.count)))
            step = .field(name: name, value)
        case .file: events.append(.bytes(Array(pending[..<count])))
        case .before, .delimiter, .head, .done: break
        }
        pending.removeFirst(count)
    }

    /// The index of the first occurrence in the pending bytes.
    private func firstIndex(of needle: [UInt8]) -> Int? {
        pending.withUnsafeBytes { haystack in
            needle.withUnsafeBytes { needle in
                guard let start = haystack.baseAddress, let needleStart = needle.baseAddress else {
                    return nil
                }
                var position = 0
                while position + needle.count <= haystack.count {
                    let left = haystack.count - needle.count + 1 - position
                    guard let match = memchr(start + position, Int32(needle[0]), left) else { return nil }
                    position = UnsafeRawPointer(match) - start
                    if memcmp(start + position, needleStart, needle.count) == 0 { return position }
                    position += 1
                }
                return nil
            }
        }
    }

    /// The name and file name of a part, from its `Content-Disposition`; nil if the part is not form data.
    private static func disposition(_ head: ArraySlice<UInt8>) -> (name: String, fileName: String?)? {
        for line in head.split(separator: lf) {
            let line = line.last == cr ? line.dropLast() : line
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")),
                HTTPGrammar.matches(String(decoding: line[..<colon], as: UTF8.self), "content-disposition")
            else { continue }
            let fields = Self.parameters(line[line.index(after: colon)...])
            guard fields.kind == "form-data", let name = fields.values["name"] else { return nil }
            return (name, fields.values["filename"])
        }
        return nil
    }

    /// Parses parameters. Browsers percent-encode quotes and line breaks in names; other programs escape
    /// quotes with a backslash.
    private static func parameters(_ text: ArraySlice<UInt8>) -> (kind: String, values: [String: String]) {
        var rest = text.drop { $0 == 0x20 || $0 == 0x09 }
        let kind = String(decoding: rest.prefix { $0 != semicolon && $0 != 0x20 }, as: UTF8.self).lowercased()
        var values: [String: String] = [:]
        while let start = rest.firstIndex(of: semicolon) {
            rest = rest[start...].dropFirst().drop { $0 == 0x20 || $0 == 0x09 }
            guard let equals = rest.firstIndex(of: UInt8(ascii: "=")) else { break }
            let name = String(decoding: rest[..<equals], as: UTF8.self).lowercased()
            rest = rest[equals...].dropFirst()
            var value: [UInt8] = []
            if rest.first == quote {
                rest = rest.dropFirst()
                while let byte = rest.popFirst(), byte != quote {
                    if byte == backslash, let next = rest.first, next == quote || next == backslash {
                        value.append(next)
                        rest = rest.dropFirst()
                    } else {
                        value.append(byte)
                    }
                }
            } else {
                value = Array(rest.prefix { $0 != semicolon && $0 != 0x20 })
            }
            if values[name] == nil { values[name] = String(decoding: value, as: UTF8.self) }
        }
        return (kind, values)
    }

    private static let cr = UInt8(ascii: "\r")
    private static let lf = UInt8(ascii: "\n")
    private static let semicolon = UInt8(ascii: ";")
    private static let quote = UInt8(ascii: "\"")
    private static let backslash = UInt8(ascii: "\\")
    private var cr: UInt8 { Self.cr }
    private var lf: UInt8 { Self.lf }
    private var dash: UInt8 { UInt8(ascii: "-") }
}

extension String {
    /// The text without spaces and tabs at its ends.
    fileprivate var trimmingBlanks: String {
        let bytes = utf8.drop { $0 == 0x20 || $0 == 0x09 }
        let end = bytes.lastIndex { $0 != 0x20 && $0 != 0x09 }.map(bytes.index(after:)) ?? bytes.startIndex
        return String(decoding: bytes[..<end], as: UTF8.self)
    }
}
