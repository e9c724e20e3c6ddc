/// The options of the commands that have to do with serving.
extension Option {
    static let clear = Option(
        name: "--clear", value: nil, help: "forget them, so that no prefetch fetches them", standard: nil)
}
