internal import CPQ
internal import Glibc

/// The functions of libpq that Larder uses. libpq is loaded at run time, because it need not be installed:
/// `library` is nil without it, or if it lacks one of the functions.
///
/// The properties are named by what they do; `init` has the names of the C functions.
struct LibPQ: Sendable {
    static let library = LibPQ()

    let connect: larder_pq_connect
    let finish: larder_pq_finish
    let status: larder_pq_ask
    let consumeInput: larder_pq_ask
    let setSingleRows: larder_pq_ask
    let isBusy: larder_pq_ask
    let flush: larder_pq_ask
    let socket: larder_pq_ask
    let setNonblocking: larder_pq_set
    let message: larder_pq_message
    let parameter: larder_pq_parameter
    let sendCommand: larder_pq_send_command
    let sendPreparation: larder_pq_send_preparation
    let sendValues: larder_pq_send_values
    let sendPrepared: larder_pq_send_prepared
    let next: larder_pq_next
    let notices: larder_pq_notices
    let free: larder_pq_free
    let setHearing: larder_pq_set_hearing
    let clear: larder_pq_clear
    let outcome: larder_pq_figure
    let rowCount: larder_pq_figure
    let field: larder_pq_field
    let changed: larder_pq_changed
    let length: larder_pq_measure
    let isNull: larder_pq_measure
    let value: larder_pq_value

    private init?() {
        guard let library = dlopen("libpq.so.5", RTLD_NOW) else { return nil }
        /// Returns a function by its name in libpq; nil if this version does not have it.
        func find<Call>(_ name: String, _ type: Call.Type) -> Call? {
            dlsym(library, name).map { unsafeBitCast($0, to: type) }
        }
        guard let connect = find("PQconnectdb", larder_pq_connect.self),
            let finish = find("PQfinish", larder_pq_finish.self),
            let status = find("PQstatus", larder_pq_ask.self),
            let consumeInput = find("PQconsumeInput", larder_pq_ask.self),
            let setSingleRows = find("PQsetSingleRowMode", larder_pq_ask.self),
            let isBusy = find("PQisBusy", larder_pq_ask.self),
            let flush = find("PQflush", larder_pq_ask.self),
            let socket = find("PQsocket", larder_pq_ask.self),
            let setNonblocking = find("PQsetnonblocking", larder_pq_set.self),
            let message = find("PQerrorMessage", larder_pq_message.self),
            let parameter = find("PQparameterStatus", larder_pq_parameter.self),
            let sendCommand = find("PQsendQuery", larder_pq_send_command.self),
            let sendPreparation = find("PQsendPrepare", larder_pq_send_preparation.self),
            let sendValues = find("PQsendQueryParams", larder_pq_send_values.self),
            let sendPrepared = find("PQsendQueryPrepared", larder_pq_send_prepared.self),
            let next = find("PQgetResult", larder_pq_next.self),
            let notices = find("PQnotifies", larder_pq_notices.self),
            let free = find("PQfreemem", larder_pq_free.self),
            let setHearing = find("PQsetNoticeProcessor", larder_pq_set_hearing.self),
            let clear = find("PQclear", larder_pq_clear.self),
            let outcome = find("PQresultStatus", larder_pq_figure.self),
            let rowCount = find("PQntuples", larder_pq_figure.self),
            let field = find("PQresultErrorField", larder_pq_field.self),
            let changed = find("PQcmdTuples", larder_pq_changed.self),
            let length = find("PQgetlength", larder_pq_measure.self),
            let isNull = find("PQgetisnull", larder_pq_measure.self),
            let value = find("PQgetvalue", larder_pq_value.self)
        else { return nil }
        (self.connect, self.finish, self.status, self.message) = (connect, finish, status, message)
        (self.consumeInput, self.setSingleRows, self.isBusy) = (consumeInput, setSingleRows, isBusy)
        (self.flush, self.socket, self.setNonblocking) = (flush, socket, setNonblocking)
        (self.parameter, self.sendCommand, self.sendPreparation) = (parameter, sendCommand, sendPreparation)
        (self.sendValues, self.sendPrepared, self.next) = (sendValues, sendPrepared, next)
        (self.notices, self.free, self.setHearing, self.clear) = (notices, free, setHearing, clear)
        (self.outcome, self.rowCount, self.field, self.changed) = (outcome, rowCount, field, changed)
        (self.length, self.isNull, self.value) = (length, isNull, value)
    }
}

/// A result of a statement that libpq returned. Values in rows are in binary format.
final class PostgreSQLResult {
    /// The kind of a result.
    enum Outcome {
        case done
        /// One row of a result that is read row by row.
        case row
        case failure
    }

    private let result: OpaquePointer
    private let library: LibPQ

    init(_ result: OpaquePointer, _ library: LibPQ) {
        self.result = result
        self.library = library
    }

    deinit {
        library.clear(result)
    }

    var outcome: Outcome {
        switch library.outcome(result) {
        case 1, 2: .done
        case 9: .row
        default: .failure
        }
    }

    var changedRowCount: Int { library.changed(result).map { Int(atoi($0)) } ?? 0 }

    var rowCount: Int32 { max(0, library.rowCount(result)) }

    func row<Value>(_ number: Int32, _ read: (PostgreSQLRow) -> Value) -> Value {
        read(PostgreSQLRow(result: result, number: number))
    }

    /// Returns a field of an error result, such as "M" for the message or "C" for the SQLSTATE code.
    func field(_ code: Unicode.Scalar) -> String? {
        library.field(result, Int32(code.value)).map { String(cString: $0) }
    }
}

/// A row of a binary result. It is valid as long as its result exists.
package struct PostgreSQLRow {
    let result: OpaquePointer
    let number: Int32

    package func isNull(_ column: Int32) -> Bool {
        LibPQ.library.map { $0.isNull(result, number, column) != 0 } ?? true
    }

    /// Returns an integer of any size, a numeric value as an integer, or a Boolean as 0 or 1.
    package func integer(_ column: Int32) -> Int64 {
        bytes(column) { bytes in
            switch bytes.count {
            case 0: 0
            case 1, 2, 4, 8:
                // The first byte is signed, so that negative numbers stay negative.
                bytes.dropFirst().reduce(Int64(Int8(bitPattern: bytes[0]))) { $0 << 8 | Int64($1) }
            default: Self.numeric(bytes)
            }
        }
    }

    /// Decodes the integer part of a `numeric`, the type of sums: the number of base-10,000 digits, the
    /// weight of the first digit, the sign and the scale, two bytes each, then the digits.
    private static func numeric(_ bytes: UnsafeBufferPointer<UInt8>) -> Int64 {
        func half(_ place: Int) -> Int64 {
            let start = place * 2
            guard start + 1 < bytes.count else { return 0 }
            return Int64(Int16(truncatingIfNeeded: Int(bytes[start]) << 8 | Int(bytes[start + 1])))
        }
        let (count, weight) = (half(0), half(1))
        guard weight >= 0, weight < 5 else { return 0 }
        var value: Int64 = 0
        for place in 0...weight { value = value &* 10_000 &+ (place < count ? half(4 + Int(place)) : 0) }
        return half(2) == 0 ? value : -value
    }

    package func real(_ column: Int32) -> Double { Double(bitPattern: UInt64(bitPattern: integer(column))) }

    package func bytes<Result>(_ column: Int32, _ read: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        guard let library = LibPQ.library, let value = library.value(result, number, column) else {
            return read(UnsafeBufferPointer(start: nil, count: 0))
        }
        let count = Int(library.length(result, number, column))
        return value.withMemoryRebound(to: UInt8.self, capacity: count) {
            read(UnsafeBufferPointer(start: $0, count: count))
        }
    }
}
