/// The options of the command line.
struct Options {
    var target = ""
    var corpus: [String] = []
    var seconds = 20
    var seed: UInt64 = 1
    var keep: String?
    var replay: String?

    init(_ arguments: ArraySlice<String>) throws(FuzzError) {
        var arguments = arguments
        target = arguments.popFirst() ?? ""
        while let name = arguments.popFirst() {
            guard let value = arguments.popFirst() else { throw FuzzError("\(name) needs a value") }
            switch name {
            case "--corpus", "--more": corpus.append(value)
            case "--seconds": seconds = try Self.number(name, value)
            case "--seed": seed = try Self.number(name, value)
            case "--keep": keep = value
            case "--replay": replay = value
            default: throw FuzzError("unknown option: \(name)")
            }
        }
    }

    private static func number<Number: FixedWidthInteger>(
        _ name: String, _ value: String
    ) throws(FuzzError) -> Number {
        guard let number = Number(value) else { throw FuzzError("\(name) needs a number, not \(value)") }
        return number
    }
}
