internal import CCodings

/// Makes members of files in gzip's form (RFC 1952) out of bytes that are all at hand, by libdeflate: twice as fast as zlib, and
/// smaller. The same bytes give the same member. It belongs to one thread.
package final class WholeDeflater {
    private let library: CodingLibrary.LibDeflate
    private let compressor: UnsafeMutableRawPointer

    /// Nil where libdeflate is not there, or no memory is left.
    ///
    /// - Parameter level: from 0, which copies, to 12, which takes the longest.
    package init?(level: Int32) {
        guard let library = CodingLibrary.libdeflate, let compressor = library.create(level) else { return nil }
        (self.library, self.compressor) = (library, compressor)
    }

    deinit { library.free(compressor) }

    /// Appends a member.
    package func add(_ bytes: [UInt8], to made: inout [UInt8]) {
        let room = library.bound(compressor, bytes.count)
        made += [UInt8](unsafeUninitializedCapacity: room) { to, count in
            bytes.withUnsafeBytes { from in
                count = library.pack(compressor, from.baseAddress, from.count, to.baseAddress, room)
            }
            // It has the room that it asked for.
            precondition(count > 0, "libdeflate stopped")
        }
    }
}
