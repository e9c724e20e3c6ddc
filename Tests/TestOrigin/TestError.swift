import Glibc

/// An error in the test environment, with the action that failed and the reason.
package struct TestError: Error, CustomStringConvertible {
    package let doing: String
    package let why: String

    init(_ doing: String, _ why: String) {
        self.doing = doing
        self.why = why
    }

    package init(_ doing: String, errno code: Int32 = errno) {
        self.init(doing, String(cString: strerror(code)))
    }

    package var description: String { "\(doing): \(why)" }
}
