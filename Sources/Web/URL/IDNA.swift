import CICU

/// UTS 46 processing of domains, by ICU.
///
/// ICU promises that an instance may be used by several threads at once; it is never changed after `init`.
final class IDNA: @unchecked Sendable {
    static let shared = IDNA()

    /// Punycode takes quadratic time, and no name of this length could ever be looked up.
    private static let maximumByteCount = 4096

    /// One scalar may stand for eighteen (U+FDFA), each of which takes a few letters.
    private static let growth = 32

    /// nil when ICU cannot find its data; then no such domain is understood.
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

    /// Appends the ASCII form of a domain that is not ASCII; false when it has none.
    func append(asciiFormOf domain: Span<UInt8>, to output: inout [UInt8]) -> Bool {
        guard let handle, domain.count <= Self.maximumByteCount else { return false }
        var errors: UInt32 = 0
        var status = U_ZERO_ERROR
        let ascii = Self.revised(domain).withUnsafeBytes { domain in
            [CChar](unsafeUninitializedCapacity: domain.count * Self.growth + 64) { buffer, count in
                let written = larder_idna_name_to_ascii(
                    handle, domain.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(domain.count),
                    buffer.baseAddress, Int32(buffer.count), &errors, &status)
                count = max(0, min(Int(written), buffer.count))
            }
        }
        guard status.rawValue <= U_ZERO_ERROR.rawValue, errors & ~Self.tolerated == 0 else { return false }
        output.append(contentsOf: ascii.lazy.map { UInt8(bitPattern: $0) })
        return true
    }

    /// CheckHyphens and VerifyDnsLength are off in the standard.
    private static let tolerated = UInt32(
        UIDNA_ERROR_EMPTY_LABEL | UIDNA_ERROR_LABEL_TOO_LONG | UIDNA_ERROR_DOMAIN_NAME_TOO_LONG
            | UIDNA_ERROR_LEADING_HYPHEN | UIDNA_ERROR_TRAILING_HYPHEN | UIDNA_ERROR_HYPHEN_3_4)
}
