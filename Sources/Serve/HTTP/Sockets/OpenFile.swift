internal import Glibc

/// A file on its way out; closed with the last reference.
final class OpenFile {
    let descriptor: Int32
    let splice: SpliceList?

    /// Nil when it is not there any more, or is not as long as the head of its answer says.
    init?(_ body: Answer.FileBody) {
        descriptor = open(body.path, O_RDONLY | O_CLOEXEC)
        splice = body.splice
        guard descriptor >= 0 else { return nil }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_size == body.splice?.sourceByteCount ?? body.byteCount else {
            return nil
        }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }
}
