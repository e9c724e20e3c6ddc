internal import Fetch
internal import Glibc
internal import Serve
internal import System
internal import Web

extension Larder {
    /// Where a server on the port shows a site, by its name or host, or any http or https URL; without one, what is held.
    ///
    /// - Throws: `LarderError` of kind `.input` for what is neither.
    public func address(of text: String?, at port: UInt16) async throws(LarderError) -> String {
        guard let text else { return "http://localhost:\(port)/" }
        let sites = try await visits().sites.map(\.name)
        let url = SiteName.place(of: text, among: sites).map { sites[$0] } ?? text
        guard let address = MirrorServer.address(of: try Self.startURL(url).href, at: port) else {
            throw LarderError(.input, "\(text) cannot be shown: only http and https can")
        }
        return address
    }

    /// Whether a larder serves on the port of this machine.
    public static func answers(at port: UInt16) async -> Bool {
        guard let url = WebURL("http://localhost:\(port)/?format=json") else { return false }
        let interruption = Interruption()
        return
            (try? await onThread("larder-look") { () throws(LarderError) in
                let body = try OneFetch.load(url, limit: 1 << 20, interruption: interruption)
                return (try? JSONValue.parse(body.span))?["sites"] != nil
            }) ?? false
    }
}
