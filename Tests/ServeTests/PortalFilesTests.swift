import Glibc
import Store
import System
import TestOrigin
import Testing
import Web

@testable import Mirror
@testable import Portal

@Suite struct PortalFilesTests {
    private let scratch: TemporaryFolder
    private let files: PortalFiles

    init() throws {
        scratch = try TemporaryFolder()
        files = PortalFiles(StoreFolder(scratch.path))
    }

    private static let day: Int64 = 86_400

    private func job(_ command: PortalCommand, _ number: Int, _ end: JobEnd, addedAt: Int64 = 0) -> PortalJob
    {
        PortalJob(
            number: number, command: command, principal: .localUser, end: end, outcome: [], addedAt: addedAt)
    }

    /// Uploads a file completely, and returns the number of the upload.
    private func upload(_ name: String) throws -> String {
        let draft = try files.beginUpload(named: name)
        try draft.write(Array("jam".utf8))
        draft.finish(isWanted: true)
        return draft.number
    }

    @Test func `uploads are stored until they are imported, and exports until they expire`() throws {
        let interrupted = try upload("a.har")
        let imported = try upload("b.har")
        let unused = try upload("c.har")
        let restarted = try upload("e.har")
        let unfinished = try files.beginUpload(named: "d.har")
        let place = try files.makeResultPath(ofJob: 3, named: "a.zip")
        try WholeFile.replace(place, with: "zip")
        for number in [4, 5, 6] { _ = try files.makeResultPath(ofJob: number, named: "b.zip") }
        func importCommand(_ upload: String, _ name: String) -> PortalCommand {
            .importArchive(upload: upload, name: name, site: nil, base: nil)
        }
        let export = PortalCommand.export(site: "a", snapshot: nil, form: "zip")
        let jobs = [
            job(importCommand(interrupted, "a.har"), 1, .interrupted),
            job(importCommand(imported, "b.har"), 2, .done),
            job(importCommand(restarted, "e.har"), 2, .interrupted),
            job(importCommand(restarted, "e.har"), 2, .done),
            job(export, 3, .done), job(export, 4, .stopped), job(export, 5, .done, addedAt: -8 * Self.day),
        ]
        files.removeUnusedFiles({ jobs }, now: 6 * Self.day)
        #expect(files.uploadPath(interrupted, named: "a.har") != nil)
        #expect(files.uploadPath(imported, named: "b.har") == nil)
        #expect(files.uploadPath(restarted, named: "e.har") == nil)
        #expect(files.uploadPath(unused, named: "c.har") == nil)
        #expect(files.uploadPath(unfinished.number, named: "d.har") != nil)
        #expect(files.resultFile(ofJob: 3) == .init(path: place, name: "a.zip", byteCount: 3))
        #expect((4...6).allSatisfy { files.resultFile(ofJob: $0) == nil })
        unfinished.finish(isWanted: false)
        #expect(files.uploadPath(unfinished.number, named: "d.har") == nil)
        #expect(files.uploadCount == 0)
        files.removeUnusedFiles({ [] }, now: 0)
        #expect(Folder.names(in: StoreFolder(scratch.path).portalFiles) == [])
    }

    @Test(
        arguments: [
            ("a.har", "a.har"), ("/etc/passwd", "passwd"), ("C:\\x\\a.zip", "a.zip"), ("..", nil),
            ("../..", nil),
            (".htaccess", "htaccess"), ("-rf", "rf"), ("", nil), ("/", nil), ("a\u{0}\nb", "ab"),
            ("果酱.zip", "果酱.zip"),
            (
                String(repeating: "x", count: 300) + ".warc.gz",
                String(repeating: "x", count: 112) + ".warc.gz"
            ),
        ] as [(String, String?)])
    func `the name of an uploaded file is made safe`(given: String, name: String?) {
        #expect(PortalFiles.safeName(given) == name)
    }

    @Test func `an invalid upload number finds no file`() throws {
        let number = try upload("a.har")
        #expect(files.uploadPath(number, named: "../a.har") == nil)
        #expect(files.uploadPath("../upload-\(number)", named: "a.har") == nil)
        #expect(files.uploadPath(number, named: "b.har") == nil)
    }
}
