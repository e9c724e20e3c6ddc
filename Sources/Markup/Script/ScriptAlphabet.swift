/// What the bytes of a script can be, as tables for the hot loops.
///
/// Made once, never changed and never freed, which is what makes sharing its pointers sound.
struct ScriptAlphabet: @unchecked Sendable {
    static let shared = ScriptAlphabet()

    /// Goes on with a name: letters, digits, `$`, `_`. Escapes and what is not ASCII are looked at one by one.
    let name: UnsafePointer<Bool>
    /// Goes on with a string: anything but quotes, backslashes and line ends.
    let string: UnsafePointer<Bool>
    /// Goes on with a template: anything but a backtick, a backslash and `$`.
    let template: UnsafePointer<Bool>
    /// Goes on with a regular expression: anything but `/`, brackets, backslashes, line ends, and the first byte of U+2028.
    let expression: UnsafePointer<Bool>
    /// Goes on with a line: anything but a line end, and the first byte of U+2028.
    let line: UnsafePointer<Bool>

    private init() {
        name = Self.table { $0.isLetter || $0.isDigit || $0 == UInt8(ascii: "$") || $0 == UInt8(ascii: "_") }
        string = Self.table { !"\"'\\\n\r".utf8.contains($0) }
        template = Self.table { !"`\\$".utf8.contains($0) }
        expression = Self.table { !"/[]\\\n\r".utf8.contains($0) && $0 != 0xE2 }
        line = Self.table { !"\n\r".utf8.contains($0) && $0 != 0xE2 }
    }

    private static func table(_ isIn: (UInt8) -> Bool) -> UnsafePointer<Bool> {
        let table = UnsafeMutablePointer<Bool>.allocate(capacity: 256)
        for byte in 0...255 { (table + byte).initialize(to: isIn(UInt8(byte))) }
        return UnsafePointer(table)
    }
}
