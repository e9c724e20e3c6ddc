internal import Fetch
internal import System
internal import Web

extension MirrorService {
    /// Fetches the copy of an original URL over the wire, as a browser would, redirects followed.
    ///
    /// - Throws: `LarderError` of kind `.input` for what is no http or https URL, `.machine` when the mirror does not
    ///   answer it with a page, `.interrupted` when the task is cancelled.
    public func visit(_ url: String) async throws(LarderError) -> [UInt8] {
        guard let address = address(of: url), let target = WebURL(address) else {
            throw LarderError(.input, "\"\(url)\" is not a URL: write it like https://example.com/")
        }
        let interruption = Interruption()
        return try await Larder.onThread("larder-visit", onCancel: interruption.request) { () throws(LarderError) in
            try OneFetch.load(target, interruption: interruption)
        }
    }
}
