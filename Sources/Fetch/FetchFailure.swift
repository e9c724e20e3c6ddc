internal import CCurl
internal import Codings
internal import Glibc
package import System
internal import Web

/// The reason why no complete response was received.
package struct FetchFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kind of a failure. The raw values appear in messages.
    package enum Kind: String, Sendable, Equatable {
        case unknownHost = "host not found"
        case unreachable = "cannot connect"
        case timeout = "timed out"
        case insecure = "TLS failed"
        case broken = "connection broke"
        case invalidResponse = "not HTTP"
        /// The URL, the header or the body exceeds a limit.
        case tooLarge = "too large"
        /// Larder did not send the request, for example since the network guard forbids the address.
        case refused = "refused"
        /// A live stream, or a body that is still incomplete after a long time.
        case endless = "endless response"
        /// The body would fill the disk.
        case diskFull = "disk full"
        /// The server's version of the body does not continue the stored part. The body has to be fetched
        /// from the start.
        case mismatch = "cannot be resumed"
        /// Ended by `FetchLoop.cancelAll`, or because the client of the stream is gone.
        case interrupted = "interrupted"
        /// A file, memory or libcurl failed on this machine. The server is not at fault.
        case machine = "failure on this machine"
    }

    package var kind: Kind
    package var detail: String
    /// The status of the response, if that is the reason.
    package var status: Int?

    package init(_ kind: Kind, _ detail: String, status: Int? = nil) {
        self.kind = kind
        self.detail = detail
        self.status = status
    }

    package init(_ error: SystemError) {
        // A full disk is not a failure of the machine: the unfinished download is removed, which frees its
        // space.
        let isFull = error.code == ENOSPC || error.code == EDQUOT
        self.init(isFull ? .diskFull : .machine, error.problem)
    }

    /// Runs `body` and turns its `SystemError` into a `FetchFailure`.
    static func wrapping<Value: ~Copyable>(
        _ body: () throws(SystemError) -> Value
    ) throws(FetchFailure) -> Value {
        do throws(SystemError) { return try body() } catch { throw FetchFailure(error) }
    }

    /// Whether a retry may succeed. A retry of a resumed request starts from the beginning.
    package var canRetry: Bool {
        switch kind {
        case .unreachable, .timeout, .broken, .mismatch, .interrupted: true
        case .unknownHost, .insecure, .invalidResponse, .tooLarge, .refused, .endless, .diskFull, .machine:
            false
        }
    }

    /// Whether no connection was made because this machine has no route to the server, or no network.
    package var hasNoRoute: Bool {
        kind == .unreachable
            && [ENETUNREACH, EHOSTUNREACH, ENETDOWN, EADDRNOTAVAIL].contains { detail == Self.reason($0) }
    }

    /// The operating system's reason why no connection was made, such as "connection refused".
    static func reason(_ code: Int32) -> String { String(cString: strerror(code)).lowercased() }

    package var description: String {
        kind == .refused ? detail : detail.isEmpty ? kind.rawValue : "\(kind.rawValue) (\(detail))"
    }
}

extension FetchFailure {
    init(_ fault: CodingError) {
        let kind: Kind =
            switch fault {
            case .unsupported, .invalidData: .invalidResponse
            case .tooManyCodings: .tooLarge
            case .truncated: .broken
            }
        self.init(kind, fault.description)
    }

    /// The decoder of a body with content codings; nil if there are none.
    static func decoder(
        of fields: HTTPFields, _ dictionary: CompressionDictionary?
    ) throws(FetchFailure) -> BodyDecoder? {
        do throws(CodingError) {
            return try BodyDecoder(fields, dictionary: dictionary)
        } catch {
            throw FetchFailure(error)
        }
    }
}

extension CURLcode {
    /// Throws for an error. For calls that fail only if libcurl lacks a feature or memory.
    func check() throws(FetchFailure) {
        guard self == CURLE_OK else {
            throw FetchFailure(.machine, String(cString: curl_easy_strerror(self)))
        }
    }
}

extension CURLMcode {
    func check() throws(FetchFailure) {
        guard self == CURLM_OK else {
            throw FetchFailure(.machine, String(cString: curl_multi_strerror(self)))
        }
    }
}
