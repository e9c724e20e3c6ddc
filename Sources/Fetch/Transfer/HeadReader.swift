internal import Web

/// The header of an answer, line by line as libcurl hands it over.
struct HeadReader {
    /// What a line was.
    enum Line {
        case inside
        /// The empty line that ends the answer's own header.
        case last
        /// There is too much of it.
        case beyondLimit
    }

    private var block: [UInt8] = []
    /// An empty line ended the header: what comes after it belongs to another answer, or is a trailer.
    private(set) var isComplete = false
    /// Of the answer, of the interim ones before it and of its trailers.
    private(set) var byteCount = 0

    var fields: HTTPFields { HTTPFields(block: block.span, isReceived: true) }

    mutating func take(_ line: UnsafeRawBufferPointer, limit: Int) -> Line {
        byteCount += line.count
        guard byteCount <= limit else { return .beyondLimit }
        // A status line begins a block; the blocks of interim answers (100, 103) do not count.
        if line.starts(with: "HTTP/".utf8) {
            block.removeAll(keepingCapacity: true)
            isComplete = false
        }
        // RFC 9110, 6.5.1: trailers may not be merged into the header unless their definition allows it.
        if isComplete { return .inside }
        block.append(contentsOf: line)
        guard line.count <= 2, line.elementsEqual("\r\n".utf8) || line.elementsEqual("\n".utf8) else { return .inside }
        isComplete = true
        return .last
    }

    mutating func removeAll() {
        block.removeAll(keepingCapacity: true)
        isComplete = false
        byteCount = 0
    }
}
