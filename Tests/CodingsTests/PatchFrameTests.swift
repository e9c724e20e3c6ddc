import Codings
import Glibc
import System
import TestOrigin
import Testing

@Suite(.enabled(if: PatchFrame.isAvailable, "libzstd is not installed")) struct PatchFrameTests {
    /// A file of a build, with a few changed bytes in each release.
    static func release(_ number: Int, _ byteCount: Int) -> [UInt8] {
        var state = UInt64(7)
        var bytes = (0..<byteCount).map { _ -> UInt8 in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return UInt8(truncatingIfNeeded: state >> 56)
        }
        for place in stride(from: number * 100, to: byteCount, by: max(1, byteCount / 3)) {
            bytes[place] = UInt8(truncatingIfNeeded: number)
        }
        return bytes
    }

    static func base(_ bytes: [UInt8]) -> FrameBase {
        let base = FrameBase(byteCount: bytes.count)
        base.append(bytes.span)
        return base
    }

    static func compress(_ bytes: [UInt8], base: [UInt8]?) throws -> [UInt8] {
        var frame: [UInt8] = []
        #expect(PatchFrame.compress(Self.base(bytes), base: base.map(Self.base)) { frame += $0 })
        return frame
    }

    /// Decompresses a frame that arrives in pieces of a size.
    static func decompress(
        _ frame: [UInt8], base: [UInt8]?, maxWindowLog: Int = PatchFrame.maxWindowLog,
        maxBytes: Int = 1 << 28,
        pieceBytes: Int = 1000
    ) -> (outcome: PatchFrame.Outcome?, bytes: [UInt8]) {
        var rest = frame[...]
        var bytes: [UInt8] = []
        let outcome = PatchFrame.decompress(
            base: base.map(Self.base), maxWindowLog: maxWindowLog, maxBytes: maxBytes
        ) {
            guard !rest.isEmpty else { return nil }
            defer { rest = rest.dropFirst(pieceBytes) }
            return Array(rest.prefix(pieceBytes))
        } _: {
            bytes += $0
        }
        return (outcome, bytes)
    }

    @Test(arguments: [0, 1, 1000, 300_000], [0, 1, 1000, 300_000])
    func `a frame gives the file again, with its base and without one`(byteCount: Int, baseCount: Int) throws
    {
        let (old, new) = (Self.release(1, baseCount), Self.release(2, byteCount))
        for base in [old, nil] {
            let frame = try Self.compress(new, base: base)
            for pieceBytes in [1, 1000, 1 << 20] where frame.count < 10_000 || pieceBytes > 1 {
                let result = Self.decompress(frame, base: base, pieceBytes: pieceBytes)
                #expect(result.outcome == .complete && result.bytes == new)
            }
        }
    }

    @Test func `a frame contains only the differences from its base`() throws {
        let (old, new) = (Self.release(1, 6_000_000), Self.release(2, 6_000_000))
        let frame = try Self.compress(new, base: old)
        #expect(frame.count < 2000, "\(frame.count) bytes")
        #expect(Self.decompress(frame, base: old) == (.complete, new))
    }

    @Test func `a frame with another base, a changed byte or another length is not complete`() throws {
        let (old, new) = (Self.release(1, 20_000), Self.release(2, 20_000))
        let frame = try Self.compress(new, base: old)
        #expect(Self.decompress(frame, base: Self.release(3, 20_000)).bytes != new)
        #expect(Self.decompress(frame, base: nil).bytes != new)
        for count in 0..<frame.count {
            #expect(Self.decompress(Array(frame.prefix(count)), base: old).outcome != .complete, "\(count)")
        }
        #expect(Self.decompress(frame + [0], base: old).outcome == .incomplete)
        #expect(Self.decompress(frame + frame, base: old).outcome == .incomplete)
        for index in frame.indices {
            var changed = frame
            changed[index] ^= 1
            let result = Self.decompress(changed, base: old, maxBytes: new.count)
            // A digest detects a change of the content. Some bits of the header have no meaning.
            #expect(result.bytes.count <= new.count + 128 * 1024)
        }
    }

    @Test func `a frame with a larger window or content than allowed is rejected`() throws {
        let new = Self.release(2, 3_000_000)
        let frame = try Self.compress(new, base: Self.release(1, 3_000_000))
        #expect(
            Self.decompress(frame, base: Self.release(1, 3_000_000), maxWindowLog: 20).outcome == .invalid)
        let limited = Self.decompress(frame, base: Self.release(1, 3_000_000), maxBytes: 2_999_999)
        #expect(limited.outcome == .tooLarge && limited.bytes.count < 2_999_999 + 128 * 1024)
        let zeros = try Self.compress([UInt8](repeating: 0, count: 10_000_000), base: nil)
        #expect(zeros.count < 2000)
        #expect(Self.decompress(zeros, base: nil, maxBytes: 1000).outcome == .tooLarge)
    }

    @Test(.enabled(if: access("/usr/bin/zstd", X_OK) == 0, "zstd is not installed"))
    func `zstd reads the frames, and its frames are read`() throws {
        let folder = try TemporaryFolder()
        let (old, new) = (Self.release(1, 200_000), Self.release(2, 200_000))
        let oldFile = try folder.write(old, to: "old")
        let frameFile = try folder.write(try Self.compress(new, base: old), to: "frame.zst")
        let ending = try ChildProcess(
            "/usr/bin/zstd", ["-d", "-q", "--patch-from=\(oldFile)", frameFile, "-o", folder.file("new")]
        ).wait()
        #expect(ending.status == 0, "\(ending)")
        #expect(try WholeFile.read(folder.file("new"), atMost: 1 << 20) == new)
        let made = try ChildProcess(
            "/usr/bin/zstd",
            ["-q", "--patch-from=\(oldFile)", folder.file("new"), "-o", folder.file("made.zst")]
        ).wait()
        #expect(made.status == 0, "\(made)")
        #expect(
            Self.decompress(try WholeFile.read(folder.file("made.zst"), atMost: 1 << 20), base: old) == (
                .complete, new
            ))
    }
}
