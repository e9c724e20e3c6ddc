/// An error of the fuzzer, or a fault that it found.
struct FuzzError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
