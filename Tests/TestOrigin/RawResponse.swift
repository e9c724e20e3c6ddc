/// A response as it was received.
package struct RawResponse: Sendable {
    package var status: Int
    package var reason: String
    package var fields: [(name: String, value: String)] = []
    package var body: [UInt8] = []

    package var text: String { String(decoding: body, as: UTF8.self) }

    /// The first value of a header.
    package subscript(name: String) -> String? {
        let name = name.lowercased()
        return fields.first { $0.name.lowercased() == name }?.value
    }

    init?(head: ArraySlice<UInt8>) {
        let lines = head.split(separator: UInt8(ascii: "\n")).map {
            String(decoding: $0.filter { $0 != 0x0d }, as: UTF8.self)
        }
        guard let words = lines.first?.split(separator: " ", maxSplits: 2), words.count >= 2,
            words[0].hasPrefix("HTTP/1."),
            let status = Int(words[1])
        else { return nil }
        self.status = status
        reason = words.count > 2 ? String(words[2]) : ""
        for line in lines.dropFirst() {
            guard let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
            fields.append(
                (String(line[..<colon]), trimmed(Array(line[line.index(after: colon)...].utf8)[...])))
        }
    }
}
