internal import LarderKit

/// `--verbose`: one request that ended, on a line.
enum FetchLine {
    static func text(of url: PrefetchedURL) -> String {
        let status = url.status.map { "\($0)" } ?? "---"
        let size = Quantities.bytes(url.byteCount).padded(9, left: true)
        let time = Quantities.time(url.elapsed).padded(8, left: true)
        let failure = url.failure.map { ": \($0)" } ?? ""
        return "\(status) \(size) \(time)  \(url.kind.padded(9)) \(Fitting.plain(url.url + failure))"
    }
}
