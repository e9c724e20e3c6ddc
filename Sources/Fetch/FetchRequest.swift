internal import Glibc
package import Web

/// One GET that the loop is to make. The number comes back with the result.
package struct FetchRequest: Sendable {
    package var number: UInt32
    package var url: WebURL
    package var fields: HTTPFields

    package init(number: UInt32, url: WebURL, fields: HTTPFields = HTTPFields()) {
        self.number = number
        self.url = url
        self.fields = fields
    }
}

/// What became of a request.
package struct FetchResult: Sendable {
    package var number: UInt32
    package var url: WebURL
    package var outcome: Outcome
    /// What came over the wire, before any content coding was undone.
    package var wireByteCount: Int

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
    /// Larger than `FetchOptions.spoolThreshold`; whoever gets it owns the file.
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

/// Why no whole response came.
package struct FetchFailure: Error, Sendable, Equatable, CustomStringConvertible {
    package enum Kind: String, Sendable, Equatable {
        case unknownHost = "host not found"
        case unreachable = "cannot connect"
        case timeout = "timed out"
        case insecure = "TLS failed"
        case broken = "connection broke"
        case nonsense = "not HTTP"
        case tooLarge = "too large"
        case refused = "refused"
        case machine = "this machine failed"
    }

    package var kind: Kind
    package var detail: String

    package init(_ kind: Kind, _ detail: String) {
        self.kind = kind
        self.detail = detail
    }

    /// Whether the same request may succeed a little later.
    package var mayPass: Bool {
        switch kind {
        case .unreachable, .timeout, .broken: true
        case .unknownHost, .insecure, .nonsense, .tooLarge, .refused, .machine: false
        }
    }

    package var description: String { kind == .refused ? detail : "\(kind.rawValue) (\(detail))" }
}
