import CICU

/// UTS 46 processing of domains, by ICU.
///
/// `Sendable` because ICU documents that several threads may use an instance at once, and it is never changed
/// after `init`.
final class IDNA: @unchecked Sendable {
    static let shared = IDNA()

    /// Longer domains are rejected: Punycode takes quadratic time, and DNS limits names to 255 bytes.
    private static let maxBytes = 4096

    /// The output buffer has this many times the size of the input. One scalar can expand to 18 (U+FDFA), each of
    /// which takes a few letters of Punycode.
    private static let maxGrowthFactor = 32

    /// The ICU instance; nil if ICU does not find its data, so that all non-ASCII domains are rejected.
    private let handle: OpaquePointer?

    private init() {
        var status = U_ZERO_ERROR
        let options = UIDNA_CHECK_BIDI | UIDNA_CHECK_CONTEXTJ | UIDNA_NONTRANSITIONAL_TO_ASCII
        let handle = larder_idna_open(UInt32(options), &status)
        self.handle = status.rawValue <= U_ZERO_ERROR.rawValue ? handle : nil
    }

    deinit {
        if let handle { larder_idna_close(handle) }
    }

    /// Appends the ASCII form of a domain that is not ASCII. Returns false if it has none.
    func append(asciiFormOf domain: Span<UInt8>, to output: inout [UInt8]) -> Bool {
        guard let handle, domain.count <= Self.maxBytes else { return false }
        var errors: UInt32 = 0
        var status = U_ZERO_ERROR
        let ascii = Self.mapToUnicode16(domain).withUnsafeBytes { domain in
            [CChar](unsafeUninitializedCapacity: domain.count * Self.maxGrowthFactor + 64) { buffer, count in
                let written = larder_idna_name_to_ascii(
                    handle, domain.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(domain.count),
                    buffer.baseAddress, Int32(buffer.count), &errors, &status)
                count = max(0, min(Int(written), buffer.count))
            }
        }
        guard status.rawValue <= U_ZERO_ERROR.rawValue, errors & ~Self.ignoredErrors == 0 else {
            return false
        }
        output.append(contentsOf: ascii.lazy.map { UInt8(bitPattern: $0) })
        return true
    }

    /// Errors that the standard ignores, since it sets CheckHyphens and VerifyDnsLength to false.
    private static let ignoredErrors = UInt32(
        UIDNA_ERROR_EMPTY_LABEL | UIDNA_ERROR_LABEL_TOO_LONG | UIDNA_ERROR_DOMAIN_NAME_TOO_LONG
            | UIDNA_ERROR_LEADING_HYPHEN | UIDNA_ERROR_TRAILING_HYPHEN | UIDNA_ERROR_HYPHEN_3_4)
}

extension IDNA {
    /// The mapping of a scalar in the UTS 46 of Unicode 15.1 and 16, where it differs from older versions of
    /// ICU. Newer versions map the results to themselves.
    enum Unicode16Mapping: Equatable {
        case mapped(UInt32)
        case ignored

        init?(of scalar: Unicode.Scalar) {
            switch scalar.value {
            case 0x1E9E:
                // Capital sharp s now maps to the small one instead of "ss".
                self = .mapped(0xDF)
            case 0x10A0...0x10C5, 0x10C7, 0x10CD:
                // Old Georgian capital letters map to their small letters.
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

    /// The domain after the mappings of Unicode 16. Malformed UTF-8 becomes U+FFFD, which no domain may
    /// contain.
    private static func mapToUnicode16(_ domain: Span<UInt8>) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(domain.count)
        domain.forEachScalar { scalar in
            switch Unicode16Mapping(of: scalar) {
            case nil: output.append(utf8: scalar.value)
            case .mapped(let other): output.append(utf8: other)
            case .ignored: break
            }
        }
        return output
    }
}
