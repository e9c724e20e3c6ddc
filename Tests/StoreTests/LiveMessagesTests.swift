import Testing
import Web

@testable import Store

/// The recorded messages of a page's sockets, which readers get for the version of the page that they belong to.
@Suite struct LiveMessagesTests {
    private let store: StockedFolder

    init() throws { store = try StockedFolder() }

    private func messages(_ text: String) throws -> NewResponse {
        var messages = try store.response("/a", text)
        messages.request = .liveMessages
        return messages
    }

    private func read() throws -> String? {
        let reader = try store.reader()
        guard let page = try reader.response(for: "/a") else { return nil }
        return try reader.liveMessages(of: page).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func `messages belong to one version of their page`() throws {
        try store.snapshot([store.response("/a", "a")])
        #expect(try read() == nil)
        try store.snapshot([store.response("/a", "a"), messages("[1]")])
        #expect(try read() == "[1]")
        try store.snapshot([store.response("/a", "a")])
        #expect(try read() == "[1]")
        try store.snapshot([store.response("/a", "b")])
        #expect(try read() == nil)
    }

    @Test
    func `messages of a logged-in page are not given for a public one, and are as private as their page`()
        throws
    {
        var secret = try messages("[1]")
        secret.flags.insert(.isPrivate)
        try store.snapshot([store.response("/a", "a"), secret])
        #expect(try read() == nil)
        var page = try store.response("/a", "b")
        page.flags.insert(.isPrivate)
        secret = try messages("[2]")
        secret.flags.insert(.isPrivate)
        try store.snapshot([page, secret])
        #expect(try read() == "[2]")
        let hiding = try StoreReader(store.folder, hidesPrivate: true)
        let seen = try hiding.response(for: "/a")
        #expect(try seen.flatMap { (page) throws in try hiding.liveMessages(of: page) } == nil)
    }

    @Test func `other messages of the same page are no change of the site`() throws {
        try store.snapshot([store.response("/a", "a"), messages("[1]")])
        try store.snapshot([store.response("/a", "a"), messages("[2]")])
        #expect(try store.reader().difference(from: 1, to: 2).isEmpty)
    }
}
