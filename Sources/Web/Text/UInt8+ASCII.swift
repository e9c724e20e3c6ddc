/// The ASCII classes that the web's grammars are written in.
extension UInt8 {
    package var isASCIIDigit: Bool { self &- 0x30 < 10 }
    package var isASCIIAlpha: Bool { (self | 0x20) &- 0x61 < 26 }
    package var isASCIIAlphanumeric: Bool { isASCIIDigit || isASCIIAlpha }
    package var isASCIIUppercase: Bool { self &- 0x41 < 26 }
    package var lowercasedASCII: UInt8 { isASCIIUppercase ? self | 0x20 : self }

    /// The value of a hexadecimal digit in either case.
    package var hexDigitValue: UInt8? {
        if isASCIIDigit { return self &- 0x30 }
        let letter = (self | 0x20) &- 0x61
        return letter < 6 ? letter &+ 10 : nil
    }

    /// The upper-case hexadecimal digit of the low four bits.
    package var upperHexDigit: UInt8 {
        let digit = self & 0x0F
        return digit < 10 ? digit &+ 0x30 : digit &+ 0x37
    }
}
