internal import Glibc
package import Web

/// What became of a request.
package struct FetchResult: Sendable {
    package var number: UInt32
    package var url: WebURL
    package var outcome: Outcome
    /// What came over the wire, before any content coding was undone.
    package var wireByteCount: Int
    /// Nil when no request was sent.
    package var exchange: Exchange?
    /// What the request said of itself and by the options for its host, but for what is secret. Other requests may be
    /// answered otherwise where the answer varies by these.
    package var sentFields: HTTPFields
    /// What a later request can go on with: the beginning of a body that broke off, or, unchanged, what the request was
    /// to resume and did not get to. Whoever gets it owns the file.
    package var partial: PartialBody?
    /// The rest was asked for, and the server sent a part of it, whole.
    package var isShortPart = false

    package enum Outcome: Sendable {
        case response(FetchedResponse)
        case failure(FetchFailure)
    }
}

package struct FetchedResponse: Sendable {
    package var status: Int
    package var fields: HTTPFields
    package var body: FetchedBody
}

/// A body without its content coding.
package enum FetchedBody: Sendable {
    case bytes([UInt8])
    /// Larger than `FetchOptions.spoolThreshold`, or resumed; whoever gets it owns the file.
    case file(path: String, byteCount: Int)

    package var byteCount: Int {
        switch self {
        case .bytes(let bytes): bytes.count
        case .file(_, let byteCount): byteCount
        }
    }

    /// Removes the file of a body that nobody wants.
    package func discard() {
        if case .file(let path, _) = self { unlink(path) }
    }
}
