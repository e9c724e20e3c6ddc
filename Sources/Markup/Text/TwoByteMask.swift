internal import Web

extension TextEncoding {
    /// For an encoding whose characters may end in an ASCII byte, a copy of the text in which none does: a `\` or `{`
    /// in it is one. Every place stays where it is. Nil where the text can be walked as it is.
    func masked(_ text: Bytes) -> [UInt8]? {
        let isLead: (UInt8) -> Bool
        switch self {
        case .shiftJIS: isLead = { 0x81...0x9F ~= $0 || 0xE0...0xFC ~= $0 }
        case .gbk, .gb18030, .big5: isLead = { 0x81...0xFE ~= $0 }
        default: return nil
        }
        guard text.contains(where: isLead) else { return nil }
        var copy = Array(text)
        var index = 0
        while index + 1 < copy.count {
            guard isLead(copy[index]), copy[index + 1] >= 0x40 else {
                index += 1
                continue
            }
            copy[index + 1] |= 0x80
            index += 2
        }
        return copy
    }
}
