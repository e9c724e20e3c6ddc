import Codings
import Digest
import Glibc
import Store
import System
import TestOrigin
import Testing
import Web

@testable import Updates

@Suite(.enabled(if: PatchFrame.isAvailable, "libzstd is not installed")) struct UpdateFileTests {
    private let scratch: TemporaryFolder

    init() throws {
        scratch = try TemporaryFolder()
    }

    private static func items(_ files: [(String, [UInt8])]) -> [UpdateItem] {
        files.map { name, bytes in
            var item = UpdateItem(url: name, body: UpdateList.Blob(bytes)) { () throws(StoreError) in
                .bytes(bytes)
            }
            item.fields = ["Content-Type": "text/javascript"]
            return item
        }
    }

    private static func script(_ number: Int, _ lines: Int) -> [UInt8] {
        Array((0..<lines).map { "export const value\($0) = \($0 == 3 ? number : $0 * 37);\n" }.joined().utf8)
    }

    private static let old: [(String, [UInt8])] = [
        ("app.11aa22bb.js", script(1, 400)), ("same.js", script(7, 30)), ("logo.png", [1, 2, 3, 4]),
        ("gone.js", script(9, 9)),
    ]
    private static let new: [(String, [UInt8])] = [
        ("app.33cc44dd.js", script(2, 400)), ("copy.js", script(2, 400)), ("img/logo.png", [1, 2, 3, 4]),
        ("new.js", Array("export default 'quite another file';".utf8)), ("same.js", script(7, 30)),
        ("empty.js", []),
    ]

    /// Writes an update from the old to the new files.
    private func write(_ name: String = "update.tar", signature: String? = nil) throws -> UpdateWriter.Report
    {
        let writer = UpdateWriter(
            Self.items(Self.old), Self.items(Self.new), manifest: Array("{}".utf8),
            created: HTTPDate(secondsSinceEpoch: 1_800_000_000), Interruption())
        return try writer.write(to: scratch.file(name), sign: { _ in signature })
    }

    /// Reads an update as a receiver does, and returns the bodies with frames.
    private func unpack(_ path: String) throws -> [String: [UInt8]] {
        let reader = try UpdateReader(path)
        try reader.verifyFrames(Interruption())
        var bodies: [String: [UInt8]] = [:]
        for (index, file) in reader.list.files.enumerated() where file.frame != nil {
            let base = file.base.flatMap { base in Self.old.first { $0.0 == base.url }?.1 }
            let target = scratch.file("body\(index)")
            unlink(target)
            let frameBase = base.map { bytes in
                let base = FrameBase(byteCount: bytes.count)
                base.append(bytes.span)
                return base
            }
            try reader.unpack(index, base: frameBase, to: target)
            bodies[file.url] = try WholeFile.read(target, atMost: 1 << 20)
        }
        return bodies
    }

    @Test func `an update contains only new bodies, and refers to the most similar files`() throws {
        let report = try write()
        #expect(report.files == 6 && report.changed == 5 && report.patched == 1)
        let path = scratch.file("update.tar")
        #expect(UpdateReader.isUpdateFile(path))
        let list = try UpdateReader(path).list
        #expect(
            list.files.map(\.url) == ["app.33cc44dd.js", "copy.js", "img/logo.png", "new.js", "empty.js"])
        #expect(list.files.map { $0.base?.url } == ["app.11aa22bb.js", nil, "logo.png", nil, nil])
        #expect(list.files.map { $0.frame != nil } == [true, false, false, true, true])
        let bodies = try unpack(path)
        for (name, bytes) in Self.new where bodies[name] != nil { #expect(bodies[name] == bytes, "\(name)") }
        #expect(bodies.count == 3)
        #expect(scratch.names().sorted().filter { $0.hasSuffix(".part") || $0.hasPrefix(".larder") } == [])
    }

    @Test func `the same releases give the same bytes`() throws {
        _ = try write("one.tar", signature: "text")
        _ = try write("two.tar", signature: "text")
        #expect(
            try WholeFile.read(scratch.file("one.tar"), atMost: 1 << 20)
                == WholeFile.read(scratch.file("two.tar"), atMost: 1 << 20))
    }

    @Test(arguments: [nil, "untrusted comment: a\nb\ntrusted comment: c\nd\n"])
    func `a file with any byte changed, removed or added is refused`(signature: String?) throws {
        _ = try write(signature: signature)
        let bytes = try WholeFile.read(scratch.file("update.tar"), atMost: 1 << 20)
        let intact = try unpack(scratch.file("update.tar"))
        func isRefused(_ bytes: [UInt8]) throws -> Bool {
            let path = try scratch.write(bytes, to: "changed.tar")
            do {
                _ = try unpack(path)
                return false
            } catch let error as UpdateError {
                return error.kind == .refused
            }
        }
        for index in bytes.indices {
            var changed = bytes
            changed[index] ^= UInt8(1 << (index % 8))
            #expect(try isRefused(changed), "byte \(index)")
        }
        for count in stride(from: 0, to: bytes.count, by: 101) {
            #expect(try isRefused(Array(bytes.prefix(count))), "\(count) bytes")
        }
        #expect(try isRefused(bytes + [0]))
        #expect(try isRefused(bytes + [UInt8](repeating: 0, count: 512)))
        #expect(try unpack(try scratch.write(bytes, to: "changed.tar")) == intact)
    }

    @Test func `a file that is not an update is not taken for one`() throws {
        for bytes in [[], Array("{\"bundles\": []}".utf8), [UInt8](repeating: 0, count: 2048)] {
            let path = try scratch.write(bytes, to: "other")
            #expect(!UpdateReader.isUpdateFile(path))
            #expect(throws: UpdateError.self) { try UpdateReader(path) }
        }
        #expect(!UpdateReader.isUpdateFile(scratch.file("missing")))
        #expect(!UpdateReader.isUpdateFile(scratch.path))
    }

    /// Writes an update with a list that `UpdateWriter` would not write.
    private func forge(_ files: [UpdateList.File], frames: [[UInt8]]) throws -> String {
        let manifest = Array("{}".utf8)
        let list = Array(
            UpdateList(
                created: HTTPDate(secondsSinceEpoch: 0), manifest: UpdateList.Blob(manifest), files: files
            ).text.utf8)
        var bytes: [UInt8] = []
        func add(_ name: String, _ content: [UInt8]) {
            bytes += UpdateArchive.header(name, content.count) + content
            bytes += [UInt8](repeating: 0, count: TarHeader.padding(after: content.count))
        }
        add(UpdateArchive.listName, list)
        add(UpdateArchive.sumsName, UpdateArchive.sums(list, signature: nil))
        add(UpdateArchive.manifestName, manifest)
        for (index, frame) in frames.enumerated() { add(UpdateList.frameName(ofFile: index), frame) }
        bytes += [UInt8](repeating: 0, count: UpdateArchive.endBytes)
        return try scratch.write(bytes, to: "forged.tar")
    }

    private static func frame(_ bytes: [UInt8]) -> [UInt8] {
        let file = FrameBase(byteCount: bytes.count)
        file.append(bytes.span)
        var frame: [UInt8] = []
        _ = PatchFrame.compress(file, base: nil) { frame += $0 }
        return frame
    }

    @Test func `a frame that expands to more than it announces is refused before it fills the disk`() throws {
        let zeros = [UInt8](repeating: 0, count: 50_000_000)
        let frame = Self.frame(zeros)
        var file = UpdateList.File(url: "app.js", fields: HTTPFields())
        file.body = UpdateList.Blob([1, 2, 3])
        file.frame = UpdateList.Blob(frame)
        let error = #expect(throws: UpdateError.self) { try unpack(forge([file], frames: [frame])) }
        #expect(
            error?.kind == .refused && error?.description.contains("more bytes than it announces") == true)
        #expect(BodyContent.file(path: scratch.file("body0")).byteCount ?? 0 < 1_000_000)
    }

    @Test func `a list whose bodies are far larger than the file is refused before anything is unpacked`()
        throws
    {
        let frame = Self.frame([1])
        let files = (0..<200).map { number in
            var file = UpdateList.File(url: "\(number).js", fields: HTTPFields())
            file.body = UpdateList.Blob(byteCount: 1 << 30, sha256: UpdateList.Blob([]).sha256)
            file.frame = UpdateList.Blob(frame)
            return file
        }
        let path = try forge(files, frames: files.map { _ in frame })
        let error = #expect(throws: UpdateError.self) { try UpdateReader(path) }
        #expect(error?.description.contains("are allowed for its size") == true)
    }

    @Test func `a frame of other bytes than the list names is refused`() throws {
        let frame = Self.frame(Array("other".utf8))
        var file = UpdateList.File(url: "app.js", fields: HTTPFields())
        file.body = UpdateList.Blob(Array("bytes".utf8))
        file.frame = UpdateList.Blob(frame)
        let error = #expect(throws: UpdateError.self) { try unpack(forge([file], frames: [frame])) }
        #expect(error?.description.contains("does not have the digest") == true)
    }

    @Test func `files with more bytes than a base may have are stored whole, and read again`() throws {
        let most = UpdateList.maxBaseBytes
        let large = [UInt8](repeating: 7, count: most + 1)
        let writer = UpdateWriter(
            Self.items([("large.bin", [UInt8](repeating: 8, count: most + 2))]),
            Self.items([("large.bin", large)]),
            manifest: [], created: HTTPDate(secondsSinceEpoch: 0), Interruption())
        let report = try writer.write(to: scratch.file("large.tar"), sign: { _ in nil })
        #expect(report.patched == 0 && report.byteCount < 1_000_000)
        let reader = try UpdateReader(scratch.file("large.tar"))
        try reader.unpack(0, base: nil, to: scratch.file("large"))
        #expect(BodyContent.file(path: scratch.file("large")).byteCount == large.count)
    }

    @Test(arguments: [nil, 0, 1] as [UInt8?])
    func `a large file that was lost or changed ends the writing`(byte: UInt8?) throws {
        let size = UpdateList.maxBaseBytes + 1
        let body = UpdateList.Blob(byteCount: size, sha256: UpdateList.Blob([]).sha256)
        let item = UpdateItem(url: "large.bin", body: body) { () throws(StoreError) in
            byte.map { .bytes([UInt8](repeating: $0, count: size - Int($0))) }
        }
        let writer = UpdateWriter(
            [], [item], manifest: [], created: HTTPDate(secondsSinceEpoch: 0), Interruption())
        let error = #expect(throws: UpdateError.self) {
            try writer.write(to: scratch.file("u.tar"), sign: { _ in nil })
        }
        #expect(error?.description.contains("large.bin was changed or lost") == true)
        #expect(scratch.names().isEmpty)
    }

    @Test(.enabled(if: access("/usr/bin/zstd", X_OK) == 0, "zstd is not installed"))
    func `tar, sha256sum and zstd unpack an update without Larder`() throws {
        _ = try write()
        for (name, bytes) in Self.old where !name.contains("/") { try scratch.write(bytes, to: name) }
        let script = """
            cd "$0" && tar xf update.tar && sha256sum -c --quiet SHA256SUMS \
            && zstd -d -q --patch-from=app.11aa22bb.js files/000001.zst -o app.new && zstd -d -q files/000004.zst -o new.new
            """
        let ending = try ChildProcess(
            "/bin/sh", ["-c", script, scratch.path], environment: ["PATH": "/usr/bin:/bin"]
        ).wait()
        #expect(ending.status == 0 && ending.errors.isEmpty, "\(ending)")
        #expect(try WholeFile.read(scratch.file("app.new"), atMost: 1 << 20) == Self.new[0].1)
        #expect(try WholeFile.read(scratch.file("new.new"), atMost: 1 << 20) == Self.new[3].1)
    }

    @Test func `a missing or changed source ends the writing, and leaves no file`() throws {
        var items = Self.items(Self.new)
        items[3].content = { () throws(StoreError) in
            .bytes(Array("changed meanwhile, same length 36 ch".utf8))
        }
        let writer = UpdateWriter(
            Self.items(Self.old), items, manifest: [], created: HTTPDate(secondsSinceEpoch: 0), Interruption()
        )
        let error = #expect(throws: UpdateError.self) {
            try writer.write(to: scratch.file("u.tar"), sign: { _ in nil })
        }
        #expect(error?.description.contains("new.js was changed or lost") == true)
        #expect(scratch.names().isEmpty)
    }
}
