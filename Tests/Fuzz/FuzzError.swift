/// What stopped the fuzzer, or what it was to find: said in one line.
struct FuzzError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
