internal import Store

extension StoredBody {
    /// Raised when the same body is shown in other bytes than before.
    private static let showingVersion = 5

    /// Another one when other bytes are shown, whichever store and visit they come from: by the body itself, and by what
    /// its splice and its reading depend on.
    ///
    /// - Parameter shim: nil where pages do without; else whether a browser shows it.
    func entityTag(type: String?, layout: OriginLayout, shim: Bool?) -> String {
        let digits = Array("0123456789abcdef".utf8)
        let digest = sha256.prefix(8).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        let place = layout.root.map { "\n\(layout.authority ?? "") \($0.origins[0]) \(layout.folder)" } ?? ""
        // FNV-1a tells the few types and manners that one body may have apart.
        let reading = "\(form)\n\(type ?? "")\n\(shim.map(String.init) ?? "")\(place)".utf8.reduce(
            0x811c_9dc5 as UInt32
        ) {
            ($0 ^ UInt32($1)) &* 0x0100_0193
        }
        return "\"\(String(decoding: digest, as: UTF8.self))-\(reading)-\(layout.port)-\(Self.showingVersion)\""
    }
}

extension StoredResponse {
    /// It was confirmed not to be there.
    var isTombstone: Bool { status == 404 || status == 410 }
}

extension [(String, String)] {
    /// The body goes out in UTF-8, whatever it was stored in.
    mutating func sayUTF8() {
        for index in indices where self[index].0.lowercased() == "content-type" {
            let essence = self[index].1.utf8.prefix { $0 != UInt8(ascii: ";") }
            self[index].1 = "\(Substring(essence)); charset=utf-8"
        }
    }
}
