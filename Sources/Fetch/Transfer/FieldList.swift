internal import CCurl
internal import Web

/// The header fields of a request, as libcurl takes them. They stay until the next ones are made: libcurl reads them
/// while the request is under way.
struct FieldList: ~Copyable {
    private(set) var list: UnsafeMutablePointer<curl_slist>?

    init() {}

    deinit { curl_slist_free_all(list) }

    mutating func removeAll() {
        curl_slist_free_all(list)
        list = nil
    }

    /// Refuses what would not stay on its line; a recorded call may hold anything.
    mutating func append(_ field: HTTPFields.Field) throws(FetchFailure) {
        guard field.isSendable else {
            throw FetchFailure(.refused, "'\(field.name)' cannot be sent as a header field")
        }
        // To libcurl a colon with nothing behind it means "leave this field out".
        let isEmpty = !field.value.utf8.contains { $0 != 0x20 && $0 != 0x09 }
        try append(isEmpty ? "\(field.name);" : "\(field.name): \(field.value)")
    }

    /// Leaves out what libcurl would add by itself.
    mutating func suppress(_ name: String) throws(FetchFailure) {
        try append("\(name):")
    }

    mutating func append(_ line: String) throws(FetchFailure) {
        // What came as bytes goes out as bytes.
        let bytes = HTTPGrammar.bytes(of: line).map { CChar(bitPattern: $0) } + [0]
        guard let longer = curl_slist_append(list, bytes) else { throw FetchFailure(.machine, "no memory is left") }
        list = longer
    }
}
