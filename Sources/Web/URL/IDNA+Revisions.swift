extension IDNA {
    /// What a scalar became in the UTS 46 of Unicode 15.1 and 16, which libraries of before still have otherwise.
    /// Later libraries map the results to themselves.
    enum Revision: Equatable {
        case mapped(UInt32)
        case ignored

        init?(of scalar: Unicode.Scalar) {
            switch scalar.value {
            case 0x1E9E:
                // Capital sharp s is no longer "ss" but the small one.
                self = .mapped(0xDF)
            case 0x10A0...0x10C5, 0x10C7, 0x10CD:
                // Georgian capitals of old, to their small letters.
                self = .mapped(scalar.value + 0x1C60)
            case 0x04C0: self = .mapped(0x04CF)
            case 0x2132: self = .mapped(0x214E)
            case 0x2183: self = .mapped(0x2184)
            case 0x2F868: self = .mapped(0x36FC)
            case 0x2F874: self = .mapped(0x5F53)
            case 0x2F91F: self = .mapped(0x243AB)
            case 0x2F95F: self = .mapped(0x7AEE)
            case 0x2F9BF: self = .mapped(0x45D7)
            case 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180E, 0x2061...0x2063, 0x206A...0x206F, 0x3164, 0xFFA0,
                0x1D173...0x1D17A:
                self = .ignored
            default:
                return nil
            }
        }
    }

    /// The domain as Unicode 16 would have ICU see it; U+FFFD for what is malformed, which no domain may have.
    static func revised(_ domain: Span<UInt8>) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(domain.count)
        domain.forEachScalar { scalar in
            switch Revision(of: scalar) {
            case nil: output.append(utf8: scalar.value)
            case .mapped(let other): output.append(utf8: other)
            case .ignored: break
            }
        }
        return output
    }
}
