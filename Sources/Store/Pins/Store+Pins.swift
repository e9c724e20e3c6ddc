extension StoreReader {
    /// Every pin, in order.
    package func pins() throws(StoreError) -> [Pin] {
        var pins: [Pin] = []
        try eachRow("SELECT kind, value FROM pin ORDER BY kind, value") { row in
            if let kind = Pin.Kind(rawValue: row.text(0)) { pins.append(Pin(kind, row.text(1))) }
        }
        return pins
    }
}

extension StoreWriter {
    /// A pin that is there already stays as it is.
    package func add(_ pin: Pin, now: Int64) throws(StoreError) {
        try run(
            "INSERT OR IGNORE INTO pin (kind, value, added) VALUES (?, ?, ?)", .text(pin.kind.rawValue),
            .text(pin.value), .integer(now))
        try noteState()
    }

    /// False when there was no such pin.
    package func remove(_ pin: Pin) throws(StoreError) -> Bool {
        var isThere = false
        try transaction { () throws(StoreError) in
            try eachRow(
                "SELECT 1 FROM pin WHERE kind = ? AND value = ?", .text(pin.kind.rawValue), .text(pin.value)
            ) { _ in isThere = true }
            try run("DELETE FROM pin WHERE kind = ? AND value = ?", .text(pin.kind.rawValue), .text(pin.value))
        }
        if isThere { try noteState() }
        return isThere
    }
}
