internal import CCurl
internal import Codings
internal import Glibc
package import System
internal import Web

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
        /// It is on the air, or no more than begun after a long time: there is no whole of it.
        case endless = "no end in sight"
        /// It would take what is left of the disk.
        case noRoom = "no room on the disk"
        /// What is held of the body and what the server has of it do not fit: to be fetched anew.
        case mismatch = "cannot be resumed"
        /// Ended by `FetchLoop.abandon`.
        case interrupted = "interrupted"
        case machine = "this machine failed"
    }

    package var kind: Kind
    package var detail: String

    package init(_ kind: Kind, _ detail: String) {
        self.kind = kind
        self.detail = detail
    }

    package init(_ error: SystemError) {
        // What came of it makes room again when it goes.
        let isFull = error.code == ENOSPC || error.code == EDQUOT
        self.init(isFull ? .noRoom : .machine, error.problem)
    }

    /// What the system refuses, as a transfer's failure.
    static func wrapping<Value: ~Copyable>(
        _ body: () throws(SystemError) -> Value
    ) throws(FetchFailure) -> Value {
        do throws(SystemError) { return try body() } catch { throw FetchFailure(error) }
    }

    /// Whether the same request may succeed a little later; one that was to resume, without what it resumes.
    package var mayPass: Bool {
        switch kind {
        case .unreachable, .timeout, .broken, .mismatch, .interrupted: true
        case .unknownHost, .insecure, .nonsense, .tooLarge, .refused, .endless, .noRoom, .machine: false
        }
    }

    package var description: String { kind == .refused ? detail : "\(kind.rawValue) (\(detail))" }
}

extension FetchFailure {
    init(_ fault: CodingFault) {
        let kind: Kind =
            switch fault {
            case .unknown, .damaged: .nonsense
            case .nested: .tooLarge
            case .cut: .broken
            }
        self.init(kind, fault.description)
    }

    /// What undoes the codings of a body; nil where it is in none.
    static func decoder(of fields: HTTPFields) throws(FetchFailure) -> BodyDecoder? {
        do throws(CodingFault) { return try BodyDecoder(fields) } catch { throw FetchFailure(error) }
    }
}

extension CURLcode {
    /// For calls that fail only when libcurl cannot do what was asked, or has no memory left.
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
