import TestOrigin

/// `StoreFaults`, a process that writes to a store and may be killed at it. It prints a letter for each thing that it did.
typealias Child = ChildProcess

extension ChildProcess {
    init(_ words: String...) throws(TestError) {
        try self.init(Self.built("StoreFaults"), words)
    }
}
