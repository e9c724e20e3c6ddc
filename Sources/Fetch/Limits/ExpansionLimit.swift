/// How large a body may become when its content coding is undone. A page of text shrinks to a tenth, a table of zeros
/// to a thousandth; what grows without measure was made to fill a disk.
package struct ExpansionLimit: Sendable {
    /// So many bytes out of one.
    package var factor = 200
    /// Smaller bodies may come from as little as they like.
    package var floor = 1024 * 1024

    package init() {}

    func isExceeded(byteCount: Int, codedByteCount: Int) -> Bool {
        byteCount > floor && byteCount / max(1, factor) > codedByteCount
    }
}
