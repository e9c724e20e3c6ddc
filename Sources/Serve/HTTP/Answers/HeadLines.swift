/// The field lines of a head that we wrote ourselves, each with its CRLF.
struct HeadLines: Sequence, IteratorProtocol {
    private var rest: ArraySlice<UInt8>

    init(_ answer: Answer) {
        // Behind the status line, and without the empty line.
        rest = answer.bytes[..<(answer.headCount - 2)]
        _ = next()
    }

    mutating func next() -> ArraySlice<UInt8>? {
        guard let end = rest.firstIndex(of: 0x0a) else { return nil }
        defer { rest = rest[(end + 1)...] }
        return rest[...end]
    }

    /// The line's name is one of these, which are in lower case.
    static func isNamed(_ line: ArraySlice<UInt8>, _ names: [StaticString]) -> Bool {
        let name = line.prefix { $0 != 0x3a }
        return names.contains { text in
            text.withUTF8Buffer { isSameName(name, $0) }
        }
    }

    /// What follows the name, without the line's end.
    static func value(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        line.drop { $0 != 0x3a }.dropFirst().drop { $0 == 0x20 }.dropLast(2)
    }

    /// Compares without regard to the case of `name`; `text` is in lower case.
    static func isSameName(_ name: some Collection<UInt8>, _ text: some Collection<UInt8>) -> Bool {
        name.count == text.count && zip(name, text).allSatisfy { HeadBytes.lowercased($0) == $1 }
    }
}
