import Glibc

/// A failed command or a timeout of the browser.
struct ChromiumError: Error, CustomStringConvertible {
    let doing: String
    let why: String

    init(_ doing: String, _ why: String) {
        self.doing = doing
        self.why = why
    }

    init(_ doing: String, errno code: Int32) {
        self.init(doing, String(cString: strerror(code)))
    }

    var description: String { "\(doing): \(why)" }
}
