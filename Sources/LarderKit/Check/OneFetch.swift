internal import Fetch
internal import Glibc
internal import Store
internal import System
internal import Web

/// A single body, fetched and read at once. Blocks.
enum OneFetch {
    /// - Parameter limit: the most bytes that the body may have.
    static func load(
        _ url: WebURL, limit: Int = .max, interruption: Interruption
    ) throws(LarderError) -> [UInt8] {
        try answer(url, options: .forReading, limit: limit, interruption: interruption).bytes
    }

    static func answer(
        _ url: WebURL, options: FetchOptions, limit: Int, interruption: Interruption
    ) throws(LarderError) -> (fields: HTTPFields, bytes: [UInt8]) {
        var options = options
        options.maxBody = min(options.maxBody, limit)
        var outcome: Result<FetchedResponse, FetchFailure>?
        do throws(FetchFailure) {
            try FetchBatch.run([url], options: options, interruption: interruption) { outcome = $1 }
        } catch {
            throw LarderError(error, fetching: url)
        }
        switch outcome {
        case nil: throw .interrupted
        case .failure(let failure): throw LarderError(failure, fetching: url)
        case .success(let response):
            let body = response.body
            defer { body.discard() }
            do throws(StoreError) {
                return (response.fields, try BodyContent(body).load())
            } catch {
                throw LarderError(error)
            }
        }
    }
}

extension LarderError {
    init(_ failure: FetchFailure, fetching url: WebURL) {
        // Large bodies are what a machine most often fails at.
        let advice = failure.kind == .machine ? "; set TMPDIR to a folder that can be written, with space for it" : ""
        self.init(.machine, "\(url.href): \(failure)\(advice)")
        isOfServer = failure.kind != .machine && failure.kind != .noRoom
    }
}

extension FetchOptions {
    /// For bodies that are read once and not kept.
    static var forReading: FetchOptions {
        let folder = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var options = FetchOptions(userAgent: Larder.userAgent, spoolFolder: folder)
        // Nearly every bundle: what is read at once does not have to go by way of a file.
        options.spoolThreshold = 2 * 1024 * 1024
        return options
    }
}
