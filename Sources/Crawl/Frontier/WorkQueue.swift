/// First in, first out, without moving what is left.
struct WorkQueue: Sendable {
    private var numbers: [UInt32] = []
    private var head = 0

    mutating func append(_ number: UInt32) {
        numbers.append(number)
    }

    mutating func popFirst() -> UInt32? {
        guard head < numbers.count else { return nil }
        defer { head += 1 }
        if head > 1024, head * 2 > numbers.count {
            numbers.removeFirst(head)
            head = 0
        }
        return numbers[head]
    }
}
