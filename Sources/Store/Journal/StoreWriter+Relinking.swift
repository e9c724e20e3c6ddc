extension StoreWriter {
    /// Bodies whose links nobody knows any more get them: what `links` makes of their form and their bytes.
    package func relink(_ links: (_ form: String, _ bytes: [UInt8]) -> [UInt8]) throws(StoreError) {
        let reader = try StoreReader(folder)
        var bodies: [StoredBody] = []
        try eachRow(
            "SELECT \(StoredBody.columns) FROM body JOIN content ON content.body = body.id WHERE length(links) = 0"
        ) { row in
            if let body = StoredBody(row, from: 0) { bodies.append(body) }
        }
        let keep = try prepare("UPDATE content SET links = ? WHERE body = ?")
        var rest = bodies[...]
        while !rest.isEmpty {
            var found: [(body: Int64, links: [UInt8])] = []
            for body in rest.prefix(Self.bodiesAtOnce) {
                let bytes = try reader.content(of: body)?.load() ?? []
                found.append((body.id, links(body.form, bytes)))
            }
            rest = rest.dropFirst(Self.bodiesAtOnce)
            try transaction { () throws(StoreError) in
                for (body, links) in found { try keep.run(.blob(links), .integer(body)) }
            }
        }
    }

    private static let bodiesAtOnce = 256
}
