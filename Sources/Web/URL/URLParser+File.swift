/// The file, file slash and file host states: file URLs need no host and may begin with a Windows drive letter.
extension URLParser {
    /// `base` is a file URL.
    mutating func parseFile(_ input: Span<UInt8>, from start: Int, base: WebURL?) -> Bool {
        layout.kind = .file
        guard isSlash(input, at: start) else {
            if let base {
                let keepsFolder = !WindowsDrive.begins(input, at: start)
                parseRelativePath(input, from: start, base: base, keepsFolder: keepsFolder)
            } else {
                writeFileAuthority()
                parsePath(input, from: start)
            }
            return true
        }
        if isSlash(input, at: start + 1) {
            return parseFileHost(input, from: start + 2)
        }
        guard let base else {
            writeFileAuthority()
            parsePath(input, from: start + 1)
            return true
        }
        copy(base, through: .authority)
        if !WindowsDrive.begins(input, at: start + 1) {
            keepDrive(of: base)
        }
        parsePath(input, from: start + 1)
        return true
    }

    private mutating func parseFileHost(_ input: Span<UInt8>, from start: Int) -> Bool {
        writeFileAuthority()
        let end = nextDelimiter(in: input, from: start)
        // `file://C:/` means the drive, not a host of that name.
        if WindowsDrive.matches(input.extracting(start..<end)) {
            parsePath(input, from: start)
            return true
        }
        if start < end {
            guard HostParser.append(input.extracting(start..<end), isSpecial: true, to: &output) else { return false }
            if output[Int(layout.hostStart)...].elementsEqual("localhost".utf8) {
                output.removeLast("localhost".utf8.count)
            }
            layout.hostEnd = mark
            layout.authorityEnd = mark
            beginPath()
        }
        parsePathAfterAuthority(input, from: end)
        return true
    }

    private mutating func writeFileAuthority() {
        output += "file://".utf8
        layout.schemeEnd = 4
        layout.setAuthority(at: mark)
        beginPath()
    }
}

/// A letter and a colon or a bar, which is how old paths write the colon.
enum WindowsDrive {
    static func matches(_ segment: Span<UInt8>) -> Bool {
        segment.count == 2 && begins(segment, at: 0)
    }

    /// Whether `input` has, from `start` on, a drive letter that is a whole segment.
    static func begins(_ input: Span<UInt8>, at start: Int) -> Bool {
        guard start + 2 <= input.count, input[start].isASCIIAlpha else { return false }
        guard input[start + 1] == UInt8(ascii: ":") || input[start + 1] == UInt8(ascii: "|") else { return false }
        guard start + 2 < input.count else { return true }
        switch input[start + 2] {
        case UInt8(ascii: "/"), UInt8(ascii: "\\"), UInt8(ascii: "?"), UInt8(ascii: "#"): return true
        default: return false
        }
    }
}
