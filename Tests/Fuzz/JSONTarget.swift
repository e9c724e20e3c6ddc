internal import Web

/// The JSON parser, and the writer, whose output must parse to the same value.
struct JSONTarget: Target {
    let name = "json"
    let suffixes = [".json"]
    let pieces = [
        "{", "}", "[", "]", "\"", ":", ",", "\\", "\\u", "\\uD83D", "\\uDE00", "\\u0000", "null", "true",
        "false", "0",
        "-0", "1e9", "1E-400", "1.5", "9007199254740993", "-", ".", "{\"a\":", "[[[[[[[[", "\u{FEFF}", " ",
        "\n",
    ]

    func fault(_ input: [UInt8]) -> String? {
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONValue.parse(input.span)
        } catch {
            return error.offset <= input.count && error.line > 0 && error.column > 0
                ? nil : "where it fails: \(error)"
        }
        if let fault = rangeFault(value, within: 0..<input.count) { return fault }
        for style in [JSONWriter.Style.compact, .pretty] {
            var writer = JSONWriter(style)
            writer.value(value)
            do throws(JSONError) {
                let again = try JSONValue.parse(writer.bytes.span)
                guard again == value else { return "what was written: \(writer.text)" }
            } catch {
                return "what was written: \(error) in \(writer.text)"
            }
        }
        return nil
    }

    private func rangeFault(_ value: JSONValue, within range: Range<Int>) -> String? {
        guard value.range.lowerBound >= range.lowerBound, value.range.upperBound <= range.upperBound,
            !value.range.isEmpty
        else { return "a place: \(value.range) within \(range)" }
        let children = value.array ?? value.members?.map(\.value) ?? []
        for child in children {
            if let fault = rangeFault(child, within: value.range) { return fault }
        }
        return nil
    }
}
