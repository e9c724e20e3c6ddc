internal import Glibc
package import Store
internal import System
package import Web

/// A response of a release, from which an update is made.
package struct UpdateItem {
    /// The URL as the manifest refers to it.
    package var url: String
    package var status = 200
    /// Whether it is a page of the site, and not an asset.
    package var isPage = false
    package var fields = HTTPFields()
    /// The body; nil for a redirect, and for a URL that is gone.
    package var body: UpdateList.Blob?
    /// Loads the body, or returns nil if it is lost. The writer calls it when it needs the bytes.
    package var content: () throws(StoreError) -> BodyContent?

    package init(
        url: String, body: UpdateList.Blob?,
        content: @escaping () throws(StoreError) -> BodyContent? = { () throws(StoreError) in nil }
    ) {
        (self.url, self.body, self.content) = (url, body, content)
    }

    /// Whether a machine that has the other response needs nothing of this one. Fields such as `Date` differ at each request.
    func isSame(as other: UpdateItem) -> Bool {
        status == other.status && body == other.body
            && ["Content-Type", "Location"].allSatisfy { fields[$0] == other.fields[$0] }
    }
}

extension BodyContent {
    /// Writes the bytes to a new file.
    package func copy(to path: String) throws(UpdateError) {
        do throws(SystemError) {
            let output = try File(path, O_WRONLY | O_CREAT | O_EXCL, doing: "write")
            switch self {
            case .bytes(let bytes): try output.write(bytes)
            case .file(let source):
                let input = try File(source, O_RDONLY)
                var offset: Int64 = 0
                while true {
                    let piece = try input.read(from: offset, byteCount: 1 << 20)
                    guard !piece.isEmpty else { break }
                    try output.write(piece)
                    offset += Int64(piece.count)
                }
            }
            try output.close()
        } catch {
            throw UpdateError(error)
        }
    }
}
