/// First in, first out, without moving what is left.
struct WorkQueue: Sendable {
    private var numbers: [UInt32] = []
    private var head = 0

    private static let mostBehind = 1024

    var isEmpty: Bool { head == numbers.count }

    var count: Int { numbers.count - head }

    var first: UInt32? { isEmpty ? nil : numbers[head] }

    mutating func append(_ number: UInt32) {
        numbers.append(number)
    }

    var last: UInt32? { isEmpty ? nil : numbers.last }

    mutating func popLast() -> UInt32? { isEmpty ? nil : numbers.removeLast() }

    mutating func popFirst() -> UInt32? {
        guard head < numbers.count else { return nil }
        let number = numbers[head]
        head += 1
        if head == numbers.count {
            numbers.removeAll(keepingCapacity: numbers.count <= Self.mostBehind)
            head = 0
        } else if head > Self.mostBehind, head * 2 > numbers.count {
            numbers.removeFirst(head)
            head = 0
        }
        return number
    }
}
