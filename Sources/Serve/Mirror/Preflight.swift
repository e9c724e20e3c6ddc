internal import Web

/// What a browser is told that asks whether a page of one of the larder's origins may send a request to another.
enum Preflight {
    /// Nil when no page of ours asks.
    static func reply(to request: Request, layout: OriginLayout) -> Reply? {
        guard let origin = request.origin, layout.isOurs(origin) else { return nil }
        let asked = request.fields
        guard let method = asked["Access-Control-Request-Method"] else { return nil }
        var fields =
            layout.commonFields + [("Access-Control-Allow-Methods", method), ("Access-Control-Max-Age", "600")]
        if let names = asked.combined("Access-Control-Request-Headers") {
            fields.append(("Access-Control-Allow-Headers", names))
        }
        return Reply(
            answer: Answer(status: 204, fields: fields, body: []), ownFields: layout.crossOriginFields(for: origin))
    }
}
