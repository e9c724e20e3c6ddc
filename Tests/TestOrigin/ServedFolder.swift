import Glibc

/// Serves the files of a folder as an ordinary web server does.
struct ServedFolder: Sendable {
    let root: String
    /// The URL path of the folder, with a trailing slash.
    let prefix: String
    /// Additional headers of each response.
    let fields: [(String, String)]

    /// The response; nil if the path is not below the prefix or there is no such file.
    func answer(to request: OriginRequest) -> OriginAnswer? {
        guard request.path.hasPrefix(prefix), let path = percentDecoded(request.path.dropFirst(prefix.count))
        else {
            return nil
        }
        guard !path.split(separator: "/").contains(".."), !path.utf8.contains(0) else { return nil }
        var file = root + "/" + path
        var status = stat()
        guard stat(file, &status) == 0 else { return nil }
        if status.st_mode & S_IFMT == S_IFDIR {
            guard path.isEmpty || path.hasSuffix("/") else {
                return .redirect(to: request.path + "/", status: 301)
            }
            file += "index.html"
            guard stat(file, &status) == 0 else { return nil }
        }
        guard status.st_mode & S_IFMT == S_IFREG, let bytes = contents(of: file) else { return nil }
        // Tests change files more than once a second.
        let (seconds, nanoseconds) = (status.st_mtim.tv_sec, status.st_mtim.tv_nsec)
        let tag =
            "\"\(String(bytes.count, radix: 16))-\(String(seconds, radix: 16))-\(String(nanoseconds, radix: 16))\""
        let answer = OriginAnswer.file(bytes, type: mediaType(ofFile: file))
            .validated(entityTag: tag, lastModified: httpDate(status.st_mtim.tv_sec))
        return fields.reduce(answer) { $0.adding($1.0, $1.1) }
    }

    private func contents(of file: String) -> [UInt8]? {
        let descriptor = open(file, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            if count < 0 && errno == EINTR { continue }
            if count < 0 { return nil }
            if count == 0 { return bytes }
            bytes += buffer[..<count]
        }
    }

    private func percentDecoded(_ path: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = path.utf8[...]
        while let byte = rest.popFirst() {
            if byte != UInt8(ascii: "%") {
                bytes.append(byte)
                continue
            }
            guard let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) else {
                return nil
            }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}

private func httpDate(_ seconds: Int) -> String {
    var seconds = time_t(seconds)
    var parts = tm()
    gmtime_r(&seconds, &parts)
    let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let date = "\(two(parts.tm_mday)) \(months[Int(parts.tm_mon)]) \(parts.tm_year + 1900)"
    return
        "\(days[Int(parts.tm_wday)]), \(date) \(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)) GMT"
}

/// The usual media type of a file with this name.
package func mediaType(ofFile name: String) -> String {
    let types = [
        "html": "text/html; charset=utf-8", "htm": "text/html; charset=utf-8",
        "xhtml": "application/xhtml+xml",
        "css": "text/css", "js": "text/javascript", "mjs": "text/javascript", "json": "application/json",
        "webmanifest": "application/manifest+json", "xml": "application/xml", "svg": "image/svg+xml",
        "png": "image/png",
        "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp",
        "avif": "image/avif",
        "ico": "image/x-icon", "woff": "font/woff", "woff2": "font/woff2", "ttf": "font/ttf",
        "otf": "font/otf",
        "txt": "text/plain; charset=utf-8", "wasm": "application/wasm", "mp4": "video/mp4",
        "webm": "video/webm",
        "mp3": "audio/mpeg", "vtt": "text/vtt", "pdf": "application/pdf",
    ]
    guard let dot = name.lastIndex(of: "."), dot > name.lastIndex(of: "/") ?? name.startIndex else {
        return "application/octet-stream"
    }
    return types[name[name.index(after: dot)...].lowercased()] ?? "application/octet-stream"
}
