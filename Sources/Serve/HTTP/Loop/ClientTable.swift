/// The clients of one event loop, by their descriptors.
struct ClientTable {
    private var places: [ClientConnection?] = []
    private(set) var count = 0

    subscript(descriptor: Int32) -> ClientConnection? {
        let index = Int(descriptor)
        return places.indices.contains(index) ? places[index] : nil
    }

    /// The client that a token was made of, unless it has gone.
    subscript(token token: UInt64) -> ClientConnection? {
        let client = self[Int32(truncatingIfNeeded: token)]
        return client?.token == token ? client : nil
    }

    var all: [ClientConnection] { places.compactMap(\.self) }

    mutating func insert(_ client: ClientConnection) {
        let index = Int(client.descriptor)
        // Descriptors are the smallest free numbers, so the table is no larger than the most clients there ever were.
        if index >= places.count { places += Array(repeating: nil, count: index + 1 - places.count) }
        if places[index] == nil { count += 1 }
        places[index] = client
    }

    mutating func remove(_ client: ClientConnection) {
        guard self[client.descriptor] === client else { return }
        places[Int(client.descriptor)] = nil
        count -= 1
    }
}
