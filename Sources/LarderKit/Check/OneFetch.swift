internal import Fetch
internal import Glibc
internal import Store
internal import Web

/// A single body, fetched and read at once. Blocks.
enum OneFetch {
    static func load(_ url: WebURL) throws(LarderError) -> [UInt8] {
        var outcome: Result<FetchedBody, FetchFailure> = .failure(FetchFailure(.broken, "nothing was answered"))
        let body: FetchedBody
        do throws(FetchFailure) {
            try FetchBatch.run([url], options: .forReading) { outcome = $1 }
            body = try outcome.get()
        } catch {
            throw LarderError(.machine, "\(url.href): \(error)")
        }
        defer { body.discard() }
        do throws(StoreError) {
            return try BodyContent(body).load()
        } catch {
            throw LarderError(error)
        }
    }
}

extension FetchOptions {
    /// For bodies that are read once and not kept.
    static var forReading: FetchOptions {
        let folder = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        return FetchOptions(userAgent: Larder.userAgent, spoolFolder: folder)
    }
}
