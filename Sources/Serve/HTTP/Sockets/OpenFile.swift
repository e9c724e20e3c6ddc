internal import Glibc
internal import Markup

/// A file on its way out; closed with the last reference.
final class OpenFile {
    let descriptor: Int32
    let patch: Patch?

    /// Nil when it is not there any more, or is not as long as the head of its answer says.
    init?(_ body: Answer.FileBody) {
        descriptor = open(body.path, O_RDONLY | O_CLOEXEC)
        patch = body.patch
        guard descriptor >= 0 else { return nil }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_size == body.patch?.sourceByteCount ?? body.byteCount else {
            return nil
        }
    }

    /// Nil when the file does not have its bytes any more.
    func read(_ range: Range<Int>) -> [UInt8]? {
        var isWhole = true
        let bytes = [UInt8](unsafeUninitializedCapacity: range.count) { buffer, filled in
            while filled < range.count {
                let start = buffer.baseAddress.map { $0 + filled }
                let got = pread(descriptor, start, range.count - filled, off_t(range.lowerBound + filled))
                if got < 0, errno == EINTR { continue }
                guard got > 0 else {
                    isWhole = false
                    return
                }
                filled += got
            }
        }
        return isWhole ? bytes : nil
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }
}
