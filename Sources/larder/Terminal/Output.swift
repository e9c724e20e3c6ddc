internal import Glibc
internal import Synchronization
internal import System

/// A stream of text to whoever runs the command. What it could not take is not forgotten.
final class Output: Sendable {
    static let standard = Output(STDOUT_FILENO)
    static let errors = Output(STDERR_FILENO)

    private let file: Int32
    private let failed = Atomic(false)

    init(_ file: Int32) {
        self.file = file
    }

    /// Something was not written, for whatever reason.
    var hasFailed: Bool { failed.load(ordering: .relaxed) }

    /// How wide the terminal is; nil for what is none.
    var columns: Int? {
        var size = winsize()
        guard isatty(file) == 1 else { return nil }
        return ioctl(file, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0 ? Int(size.ws_col) : 80
    }

    /// Writes all of it, however slow the reader; else gives the error's number.
    func write(_ text: String) -> Int32? {
        var text = text
        return text.withUTF8 { write(UnsafeRawBufferPointer($0)) }
    }

    /// The same for what is no text.
    func write(_ bytes: Span<UInt8>) -> Int32? {
        bytes.withUnsafeBytes { write($0) }
    }

    private func write(_ bytes: UnsafeRawBufferPointer) -> Int32? {
        let code = File.write(bytes, to: file)
        guard code != 0 else { return nil }
        failed.store(true, ordering: .relaxed)
        return code
    }
}
