import Codings
import Digest
import Glibc
import System
import Updates

/// Update files. An input is the text of a list, a zero byte, and a frame. The digests that the list has to contain are
/// computed: `@M` is that of the manifest, `@F` that of the frame, `@B` that of the base, and `@S` the size of the frame.
struct UpdateTarget: Target {
    let name = "update"
    let suffixes = [".update"]
    let pieces = [
        "{", "}", "[", "]", "\"", ":", ",", "\\u0000", "0", "-1", "1e9", "99999999999999999999", "null", "@M",
        "@F",
        "@B",
        "@S", "\"larderUpdate\":1", "\"windowLog\":27", "\"windowLog\":31",
        "\"created\":\"2026-01-31T12:00:00Z\"",
        "\"manifest\":{\"size\":2,\"sha256\":\"@M\"}", "\"files\":", "\"url\":\"../a\"", "\"%2e%2e/\"",
        "\"status\":404",
        "\"headers\":[\"A: b\"]", "\"size\":4294967296", "\"from\":", "\"frame\":", "files/000001.zst",
        "files/000002.zst",
        "\u{0}", "\u{28}", "zstd",
    ]

    private static let base = Array(String(repeating: "export default 1;\n", count: 20).utf8)

    /// The file with the input, which the system removes from /tmp, and the one that is unpacked.
    private static let files: (input: String, output: String)? = {
        var path = Array("/tmp/larder-fuzz-XXXXXX".utf8CString)
        let descriptor = mkstemp(&path)
        guard descriptor >= 0 else { return nil }
        close(descriptor)
        let name = String(decoding: path.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return (name, name + ".body")
    }()

    func fault(_ input: [UInt8]) -> String? {
        guard let files = Self.files else { return "a file: none" }
        let frame = Array(input.drop { $0 != 0 }.dropFirst())
        let list = Self.list(Array(input.prefix { $0 != 0 }), frame)
        if let problem = fault(in: list) { return problem }
        do throws(FuzzError) {
            try InputFile(files.input).write(Self.archive(list, frame))
        } catch {
            return "a file: \(error)"
        }
        guard let reader = try? UpdateReader(files.input) else { return nil }
        do throws(UpdateError) { try reader.verifyFrames(Interruption()) } catch { return nil }
        for (index, file) in reader.list.files.enumerated() where file.frame != nil {
            var base: FrameBase?
            if file.base != nil {
                base = FrameBase(byteCount: Self.base.count)
                base?.append(Self.base.span)
            }
            unlink(files.output)
            let isUnpacked = (try? reader.unpack(index, base: base, to: files.output)) != nil
            var status = stat()
            guard stat(files.output, &status) == 0 else { return "the unpacked file: none" }
            let most = file.body?.byteCount ?? 0
            if status.st_size > most { return "the size: \(status.st_size) of \(most) bytes" }
            if isUnpacked, status.st_size != most {
                return "the unpacked size: \(status.st_size) of \(most) bytes"
            }
        }
        return nil
    }

    /// A list that is read must give the same text when it is read again, and name no file outside its folder.
    private func fault(in source: [UInt8]) -> String? {
        guard let list = try? UpdateList(source) else { return nil }
        guard let again = try? UpdateList(Array(list.text.utf8)), again == list else {
            return "what was written: \(list.text)"
        }
        for file in list.files where file.url.split(separator: "/").contains("..") {
            return "a name: \(file.url)"
        }
        return nil
    }

    private static func list(_ text: [UInt8], _ frame: [UInt8]) -> [UInt8] {
        let values: [UInt8: String] = [
            UInt8(ascii: "M"): sha256([0x7B, 0x7D]), UInt8(ascii: "F"): sha256(frame),
            UInt8(ascii: "B"): sha256(base), UInt8(ascii: "S"): "\(frame.count)",
        ]
        var list: [UInt8] = []
        var isMarked = false
        for byte in text {
            if isMarked, let value = values[byte] {
                list.removeLast()
                list += value.utf8
            } else {
                list.append(byte)
            }
            isMarked = byte == UInt8(ascii: "@")
        }
        return list
    }

    private static func sha256(_ bytes: [UInt8]) -> String {
        DigestStream.digest(.sha256, of: bytes.span).hex
    }

    /// An archive around the list, with one frame.
    private static func archive(_ list: [UInt8], _ frame: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        func add(_ name: String, _ content: [UInt8]) {
            bytes += UpdateArchive.header(name, content.count) + content
            bytes += [UInt8](repeating: 0, count: TarHeader.padding(after: content.count))
        }
        add(UpdateArchive.listName, list)
        add(UpdateArchive.sumsName, UpdateArchive.sums(list, signature: nil))
        add(UpdateArchive.manifestName, [0x7B, 0x7D])
        add(UpdateList.frameName(ofFile: 0), frame)
        return bytes + [UInt8](repeating: 0, count: UpdateArchive.endBytes)
    }
}
