internal import Web

extension MirrorServer {
    /// Where a server on the port would show an http or https URL under its origin's name; nil for anything else.
    package static func address(of url: String, at port: UInt16) -> String? {
        WebURL(url).flatMap(OriginLayout(port: port).address)
    }
}
