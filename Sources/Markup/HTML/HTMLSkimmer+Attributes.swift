extension HTMLSkimmer {
    /// Walks the attributes of a tag; the place behind its `>`, or nil when the text ends before.
    mutating func tagEnd(from start: Int, isRecording: Bool, _ isSelfClosing: inout Bool) -> Int? {
        var index = start
        while true {
            while index < count, bytes[index].isSpace { index &+= 1 }
            guard index < count else { return nil }
            if bytes[index] == UInt8(ascii: ">") { return index &+ 1 }
            if bytes[index] == UInt8(ascii: "/") {
                index &+= 1
                if index < count, bytes[index] == UInt8(ascii: ">") {
                    isSelfClosing = true
                    return index &+ 1
                }
                continue
            }
            guard let next = attribute(at: index, isRecording) else { return nil }
            index = next
        }
    }

    /// Walks one attribute; the place behind it. An `=` in front belongs to the name.
    @inline(__always)
    private mutating func attribute(at start: Int, _ isRecording: Bool) -> Int? {
        var index = start
        var hash = NameTable.seed
        repeat {
            hash = NameTable.add(bytes[index], to: hash)
            index &+= 1
        } while index < count && !Self.endsAttributeName(bytes[index])
        let nameRange = start..<index
        while index < count, bytes[index].isSpace { index &+= 1 }
        guard index < count else { return nil }
        var valueRange = index..<index
        var quoting = HTMLAttribute.Quoting.none
        if bytes[index] == UInt8(ascii: "=") {
            index &+= 1
            while index < count, bytes[index].isSpace { index &+= 1 }
            guard index < count else { return nil }
            let mark = bytes[index]
            if mark == UInt8(ascii: "\"") || mark == UInt8(ascii: "'") {
                let end = bytes.find(mark, from: index &+ 1, to: count)
                guard end < count else { return nil }
                valueRange = index &+ 1..<end
                quoting = mark == UInt8(ascii: "'") ? .single : .double
                index = end &+ 1
            } else {
                let value = index
                while index < count, bytes[index] != UInt8(ascii: ">"), !bytes[index].isSpace { index &+= 1 }
                guard index < count else { return nil }
                valueRange = value..<index
                quoting = .unquoted
            }
        }
        if isRecording {
            let name = vocabulary.attributes.find(hash, bytes, nameRange)
            if name != 0 || isThorough, attributes.count < Self.attributeLimit {
                attributes.append(
                    HTMLAttribute(name: name, quoting: quoting, nameRange: nameRange, valueRange: valueRange))
            }
        }
        return index
    }

    @inline(__always)
    private static func endsAttributeName(_ byte: UInt8) -> Bool {
        byte <= 0x3E
            && (byte == UInt8(ascii: "=") || byte == UInt8(ascii: ">") || byte == UInt8(ascii: "/") || byte.isSpace)
    }
}
