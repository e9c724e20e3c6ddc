internal import Digest
internal import Web

/// What `md5sum` and its relatives write, a line for each file, and what `-c` reads.
struct ChecksumList {
    private let source: SourceText

    init(_ source: SourceText) {
        self.source = source
    }

    func manifest() throws(ManifestError) -> Manifest {
        var manifest = Manifest(.checksums)
        var list = BundleList()
        for range in Self.lines(source.bytes) {
            let line: ChecksumLine
            do throws(ChecksumLine.Mistake) {
                guard let read = try ChecksumLine(source.bytes[range]) else { continue }
                line = read
            } catch {
                throw source.refuse(at: range.lowerBound, error.detail)
            }
            guard let claim = line.claim else {
                manifest.note("\(line.reference): \(line.algorithm) is not known")
                continue
            }
            let bundle = Bundle(reference: line.reference, claims: [claim])
            if let refusal = list.merge(bundle) { throw source.refuse(at: range.lowerBound, refusal.detail) }
        }
        guard !list.bundles.isEmpty else {
            throw source.refuse(at: 0, "expected a digest and the name of its file on a line, found none")
        }
        manifest.bundles = list.bundles
        return manifest
    }

    /// Whether the first line that is no comment is a known digest with a name.
    static func isRecognised(_ bytes: [UInt8]) -> Bool {
        let head = Array(bytes.prefix(64 * 1024))
        for range in lines(head) {
            do throws(ChecksumLine.Mistake) {
                if let line = try ChecksumLine(head[range]) { return line.claim != nil }
            } catch {
                return error.isNearlyOne
            }
        }
        return false
    }

    /// Without what ends them.
    private static func lines(_ bytes: [UInt8]) -> some Sequence<Range<Int>> {
        let start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        return sequence(state: start) { at -> Range<Int>? in
            guard at < bytes.count else { return nil }
            let end = bytes[at...].firstIndex(of: 0x0A) ?? bytes.endIndex
            let line = at..<(end > at && bytes[end - 1] == 0x0D ? end - 1 : end)
            at = end + 1
            return line
        }
    }
}
