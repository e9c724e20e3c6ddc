internal import CPQ
internal import Glibc

/// The functions of libpq, the C client library of PostgreSQL, that Larder uses. libpq is loaded at run time, because
/// it need not be installed: `library` is nil without it, or if it lacks one of the functions.
///
/// `init` has the names of the C functions. The functions of one connection must not be called on two threads at a time.
struct LibPQ: Sendable {
    static let library = LibPQ()

    let connect: larder_pq_connect
    let finish: larder_pq_finish
    let status: larder_pq_connection_call
    let consumeInput: larder_pq_connection_call
    let setSingleRowMode: larder_pq_connection_call
    let isBusy: larder_pq_connection_call
    let flush: larder_pq_connection_call
    let socket: larder_pq_connection_call
    let setNonblocking: larder_pq_set_nonblocking
    let errorMessage: larder_pq_error_message
    let parameterStatus: larder_pq_parameter_status
    let sendCommand: larder_pq_send_command
    let sendPreparation: larder_pq_send_preparation
    let sendValues: larder_pq_send_values
    let sendPrepared: larder_pq_send_prepared
    let nextResult: larder_pq_next_result
    let nextNotification: larder_pq_next_notification
    let free: larder_pq_free
    let setNoticeProcessor: larder_pq_set_notice_processor
    let clear: larder_pq_clear
    let resultStatus: larder_pq_result_call
    let rowCount: larder_pq_result_call
    let errorField: larder_pq_error_field
    let changedRowCount: larder_pq_changed_row_count
    let valueLength: larder_pq_value_call
    let isNull: larder_pq_value_call
    let value: larder_pq_value

    private init?() {
        guard let library = dlopen("libpq.so.5", RTLD_NOW) else { return nil }
        /// Returns a function by its name in libpq; nil if this version does not have it.
        func find<Call>(_ name: String, _ type: Call.Type) -> Call? {
            dlsym(library, name).map { unsafeBitCast($0, to: type) }
        }
        guard let connect = find("PQconnectdb", larder_pq_connect.self),
            let finish = find("PQfinish", larder_pq_finish.self),
            let status = find("PQstatus", larder_pq_connection_call.self),
            let consumeInput = find("PQconsumeInput", larder_pq_connection_call.self),
            let setSingleRowMode = find("PQsetSingleRowMode", larder_pq_connection_call.self),
            let isBusy = find("PQisBusy", larder_pq_connection_call.self),
            let flush = find("PQflush", larder_pq_connection_call.self),
            let socket = find("PQsocket", larder_pq_connection_call.self),
            let setNonblocking = find("PQsetnonblocking", larder_pq_set_nonblocking.self),
            let errorMessage = find("PQerrorMessage", larder_pq_error_message.self),
            let parameterStatus = find("PQparameterStatus", larder_pq_parameter_status.self),
            let sendCommand = find("PQsendQuery", larder_pq_send_command.self),
            let sendPreparation = find("PQsendPrepare", larder_pq_send_preparation.self),
            let sendValues = find("PQsendQueryParams", larder_pq_send_values.self),
            let sendPrepared = find("PQsendQueryPrepared", larder_pq_send_prepared.self),
            let nextResult = find("PQgetResult", larder_pq_next_result.self),
            let nextNotification = find("PQnotifies", larder_pq_next_notification.self),
            let free = find("PQfreemem", larder_pq_free.self),
            let setNoticeProcessor = find("PQsetNoticeProcessor", larder_pq_set_notice_processor.self),
            let clear = find("PQclear", larder_pq_clear.self),
            let resultStatus = find("PQresultStatus", larder_pq_result_call.self),
            let rowCount = find("PQntuples", larder_pq_result_call.self),
            let errorField = find("PQresultErrorField", larder_pq_error_field.self),
            let changedRowCount = find("PQcmdTuples", larder_pq_changed_row_count.self),
            let valueLength = find("PQgetlength", larder_pq_value_call.self),
            let isNull = find("PQgetisnull", larder_pq_value_call.self),
            let value = find("PQgetvalue", larder_pq_value.self)
        else { return nil }
        (self.connect, self.finish, self.status, self.errorMessage) = (connect, finish, status, errorMessage)
        (self.consumeInput, self.setSingleRowMode, self.isBusy) = (consumeInput, setSingleRowMode, isBusy)
        (self.flush, self.socket, self.setNonblocking) = (flush, socket, setNonblocking)
        (self.parameterStatus, self.sendCommand, self.sendPreparation) = (
            parameterStatus, sendCommand, sendPreparation
        )
        (self.sendValues, self.sendPrepared, self.nextResult) = (sendValues, sendPrepared, nextResult)
        (self.nextNotification, self.free, self.setNoticeProcessor, self.clear) = (
            nextNotification, free, setNoticeProcessor, clear
        )
        (self.resultStatus, self.rowCount, self.errorField, self.changedRowCount) = (
            resultStatus, rowCount, errorField, changedRowCount
        )
        (self.valueLength, self.isNull, self.value) = (valueLength, isNull, value)
    }
}

/// A result that libpq returned for a statement: its rows, one of its rows, or an error. Values in rows are in binary
/// format. The result is freed with the object, so its rows must not outlive it.
final class PostgreSQLResult {
    /// The kind of a result.
    enum Outcome {
        /// The statement succeeded. The result has all rows, or none in single-row mode.
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
        switch library.resultStatus(result) {
        // PGRES_COMMAND_OK, PGRES_TUPLES_OK.
        case 1, 2: .done
        // PGRES_SINGLE_TUPLE.
        case 9: .row
        default: .failure
        }
    }

    /// The number of rows that an INSERT, UPDATE or DELETE changed, or that a SELECT found.
    var changedRowCount: Int { library.changedRowCount(result).map { Int(atoi($0)) } ?? 0 }

    var rowCount: Int32 { max(0, library.rowCount(result)) }

    /// Calls `read` with a row, which is valid only within the closure.
    func row<Value>(_ number: Int32, _ read: (PostgreSQLRow) -> Value) -> Value {
        read(PostgreSQLRow(result: result, number: number))
    }

    /// Returns a field of an error result, such as "M" for the message or "C" for the SQLSTATE code.
    func field(_ code: Unicode.Scalar) -> String? {
        library.errorField(result, Int32(code.value)).map { String(cString: $0) }
    }
}

/// A row of a result in binary format. It is valid as long as its result exists.
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
        /// Returns the 16-bit number at a place; 0 beyond the end.
        func half(_ place: Int) -> Int64 {
            let start = place * 2
            guard start + 1 < bytes.count else { return 0 }
            return Int64(Int16(truncatingIfNeeded: Int(bytes[start]) << 8 | Int(bytes[start + 1])))
        }
        let (count, weight) = (half(0), half(1))
        // A weight of 5 would be at least 10^20, which no 64-bit integer contains.
        guard weight >= 0, weight < 5 else { return 0 }
        var value: Int64 = 0
        for place in 0...weight { value = value &* 10_000 &+ (place < count ? half(4 + Int(place)) : 0) }
        return half(2) == 0 ? value : -value
    }

    /// Returns a double.
    package func real(_ column: Int32) -> Double { Double(bitPattern: UInt64(bitPattern: integer(column))) }

    /// Calls `read` with the bytes of a text or blob, or with none for NULL. They are valid as long as the row is.
    package func bytes<Result>(_ column: Int32, _ read: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        guard let library = LibPQ.library, let value = library.value(result, number, column) else {
            return read(UnsafeBufferPointer(start: nil, count: 0))
        }
        let count = Int(library.valueLength(result, number, column))
        return value.withMemoryRebound(to: UInt8.self, capacity: count) {
            read(UnsafeBufferPointer(start: $0, count: count))
        }
    }
}
