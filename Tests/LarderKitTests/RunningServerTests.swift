import Glibc
import Testing

@testable import LarderKit

@Suite struct RunningServerTests {
    private static func server(_ port: UInt16) -> RunningServer {
        RunningServer(
            port: port, processID: getpid(), address: "http://localhost:\(port)/", store: "/a store",
            hasEverySite: true, isScheduled: true)
    }

    @Test func `a server is found as long as it runs, also by its own process`() throws {
        // Tests the record without a server.
        let server = Self.server(1)
        var record = ServerRecord(server)
        #expect(record != nil)
        for _ in 1...2 { #expect(RunningServer.all().contains(server)) }
        #expect(ServerRecord(server) == nil)
        record = nil
        #expect(!RunningServer.all().contains { $0.port == 1 })
    }

    @Test func `a record file without a lock is ignored`() throws {
        let folder = try #require(ServerRecord.folders(createsFirst: true).first)
        let path = "\(folder)/serve-2.lock"
        let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        defer {
            close(file)
            unlink(path)
        }
        let text = "{\"pid\":\(getpid()),\"store\":\"/a store\"}"
        #expect(write(file, text, text.utf8.count) == text.utf8.count)
        #expect(!RunningServer.all().contains { $0.port == 2 })
    }

    @Test func `a server of an earlier version is found without its store`() throws {
        let folder = try #require(ServerRecord.folders(createsFirst: true).first)
        let path = "\(folder)/serve-3.lock"
        let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        defer {
            close(file)
            unlink(path)
        }
        var lock = flock()
        lock.l_type = Int16(F_WRLCK)
        lock.l_whence = Int16(SEEK_SET)
        #expect(fcntl(file, F_SETLK, &lock) == 0)
        let found = try #require(RunningServer.all().first { $0.port == 3 })
        #expect(found.processID == getpid() && found.store == nil && found.hasEverySite)
    }
}
