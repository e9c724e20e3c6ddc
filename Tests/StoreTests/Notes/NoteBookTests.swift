import Testing

@testable import Store

@Suite struct NoteBookTests {
    private let store: StockedFolder

    init() throws {
        store = try StockedFolder()
        try store.folder.create()
    }

    @Test func `the latest time counts, in whatever order the notes come`() throws {
        let book = try NoteBook(store.folder)
        try book.note(served: [(1, 10), (2, 20), (1, 5)])
        try book.note(served: [(2, 30), (3, 1)])
        try book.note(served: [(2, 25)])
        #expect(try book.servedTimes() == [1: 10, 2: 30, 3: 1])
        try book.forget([2, 7])
        #expect(try NoteBook(store.folder).servedTimes() == [1: 10, 3: 1])
    }

    @Test func `many take notes at once, in threads and processes, from the first moment on`() throws {
        let folder = store.folder
        let failures = Gate<[String]>([])
        let children = try (0..<3).map { try Child("note", folder.path, "\(100 + $0)") }
        let threads = try (0..<5).map { number in
            try NamedThread.start("notes-\(number)") {
                do throws(StoreError) {
                    let book = try NoteBook(folder)
                    for round in 0..<20 as Range<Int64> {
                        try book.note(
                            served: (0..<10).map { ($0, Int64(number) + round) } + [(Int64(number + 50), round)])
                    }
                } catch {
                    failures.change { $0.append(error.description) }
                }
            }
        }
        for thread in threads { thread.join() }
        for child in children {
            let ending = child.wait()
            #expect(ending.status == 0, "\(ending.errors)")
        }
        #expect(failures.change { $0 } == [])
        var expected: [Int64: Int64] = [:]
        for url in 0..<10 as Range<Int64> { expected[url] = 23 }
        for number in 0..<5 as Range<Int64> { expected[number + 50] = 19 }
        for number in 100..<103 as Range<Int64> { expected[number] = 19 }
        #expect(try NoteBook(folder).servedTimes() == expected)
    }

    @Test func `readers of the store see no change when notes are taken`() throws {
        try store.visit([store.response("/a")])
        let reader = try store.reader()
        let version = try reader.dataVersion()
        try NoteBook(store.folder).note(served: [(1, 10)])
        #expect(try reader.dataVersion() == version)
    }
}
