internal import CSQLite

/// What a statement's parameters take.
enum SQLValue {
    case null
    case integer(Int64)
    case text(String)
    case blob([UInt8])

    static func optional(_ integer: Int64?) -> SQLValue {
        integer.map(SQLValue.integer) ?? .null
    }

    static func optional(_ text: String?) -> SQLValue {
        text.map(SQLValue.text) ?? .null
    }
}

/// A prepared statement, kept for as long as its owner needs it. The connection outlives it.
final class Statement {
    private let handle: OpaquePointer
    private let connection: Connection

    init(_ handle: OpaquePointer, of connection: Connection) {
        self.handle = handle
        self.connection = connection
    }

    deinit {
        sqlite3_finalize(handle)
    }

    /// Runs the statement to its end.
    func run(_ values: SQLValue..., doing: String = "write to") throws(StoreError) {
        try run(values, doing: doing)
    }

    func run(_ values: [SQLValue], doing: String) throws(StoreError) {
        defer { sqlite3_reset(handle) }
        try bind(values, doing: doing)
        while try step(doing: doing) {}
    }

    /// What `read` makes of the first row of which it makes anything, nil when there is none.
    func first<Result>(_ values: SQLValue..., read: (Row) -> Result?) throws(StoreError) -> Result? {
        try first(values, read: read)
    }

    func first<Result>(_ values: [SQLValue], read: (Row) -> Result?) throws(StoreError) -> Result? {
        defer { sqlite3_reset(handle) }
        try bind(values, doing: "read")
        while try step(doing: "read") {
            if let result = read(Row(handle: handle)) { return result }
        }
        return nil
    }

    /// Calls `read` for each row.
    func each(_ values: SQLValue..., read: (Row) -> Void) throws(StoreError) {
        try each(values, read: read)
    }

    func each(_ values: [SQLValue], read: (Row) -> Void) throws(StoreError) {
        defer { sqlite3_reset(handle) }
        try bind(values, doing: "read")
        while try step(doing: "read") { read(Row(handle: handle)) }
    }

    private func step(doing: String) throws(StoreError) -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW: true
        case SQLITE_DONE: false
        case let code: throw connection.error(code, doing: doing)
        }
    }

    private func bind(_ values: [SQLValue], doing: String) throws(StoreError) {
        for (offset, value) in values.enumerated() {
            let index = Int32(offset + 1)
            let code: Int32
            switch value {
            case .null:
                code = sqlite3_bind_null(handle, index)
            case .integer(let integer):
                code = sqlite3_bind_int64(handle, index, integer)
            case .text(var text):
                code = text.withUTF8 { bytes in
                    bytes.withMemoryRebound(to: CChar.self) { bytes in
                        larder_sqlite_bind_text(handle, index, bytes.baseAddress, UInt64(bytes.count))
                    }
                }
            case .blob(let blob):
                code = blob.withUnsafeBytes { bytes in
                    larder_sqlite_bind_blob(handle, index, bytes.baseAddress, UInt64(bytes.count))
                }
            }
            guard code == SQLITE_OK else { throw connection.error(code, doing: doing) }
        }
    }
}

/// The row a statement stands on; good only inside the closure that was handed it.
struct Row {
    fileprivate let handle: OpaquePointer

    func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }

    func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

    func optionalInteger(_ column: Int32) -> Int64? { isNull(column) ? nil : integer(column) }

    func text(_ column: Int32) -> String {
        guard let bytes = sqlite3_column_text(handle, column) else { return "" }
        let count = Int(sqlite3_column_bytes(handle, column))
        return String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
    }

    func optionalText(_ column: Int32) -> String? { isNull(column) ? nil : text(column) }

    func optionalBlob(_ column: Int32) -> [UInt8]? { isNull(column) ? nil : blob(column) }

    func blob(_ column: Int32) -> [UInt8] {
        guard let bytes = sqlite3_column_blob(handle, column) else { return [] }
        return [UInt8](UnsafeRawBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(handle, column))))
    }
}
