internal import Glibc
internal import Markup
internal import Store
internal import Web

/// A body that has just come, with its links.
struct LoadedBody {
    let content: BodyContent
    let bytes: [UInt8]
    var reading = BodyReading()

    func newBody(in folder: StoreFolder) throws(StoreError) -> NewBody {
        try NewBody(
            content, form: reading.form, title: reading.table.title, links: reading.table.encoded(), in: folder)
    }

    /// The same, without the file that it may have come in.
    var inMemory: LoadedBody { LoadedBody(content: .bytes([]), bytes: bytes, reading: reading) }

    /// Removes a file that the store did not take.
    func discard() {
        if case .file(let path) = content { unlink(path) }
    }
}

extension BodyFormat {
    /// Nothing in it is ever replaced.
    var isShownAsItIs: Bool { self == .opaque || self == .plainText }
}
