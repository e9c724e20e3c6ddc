internal import Glibc
internal import Markup
internal import Web

/// Files of one format, in memory.
struct FileSet {
    let name: String
    let format: BodyFormat
    private(set) var bodies: [[UInt8]] = []
    private(set) var paths: [String] = []

    init(name: String, path: String) {
        self.name = name
        let url = WebURL("http://localhost/")?.resolving(path)
        format = url.map { BodyFormat(mediaType: nil, url: $0, body: Span()) } ?? .opaque
    }

    mutating func add(_ body: [UInt8], path: String) {
        bodies.append(body)
        paths.append(path)
    }

    var byteCount: Int { bodies.reduce(0) { $0 + $1.count } }

    static func read(_ path: String) -> [UInt8]? {
        guard let file = fopen(path, "r") else { return nil }
        defer { fclose(file) }
        var status = stat()
        guard fstat(fileno(file), &status) == 0 else { return nil }
        return [UInt8](unsafeUninitializedCapacity: Int(status.st_size)) { buffer, count in
            count = fread(buffer.baseAddress, 1, buffer.count, file)
        }
    }
}

extension WebURL {
    func resolving(_ reference: String) -> WebURL? { WebURL(reference, base: self) }
}
