internal import CPSL
internal import Glibc

/// The domains under which the public can register names, from the Public Suffix List (https://publicsuffix.org)
/// including its private part. libpsl reads the list.
package struct PublicSuffixes: Sendable {
    /// The list of the system, or the one in libpsl if that is newer or the system has none.
    package static let system = PublicSuffixes(loaded: SuffixList(psl_latest(nil)))

    /// Nil if no list could be read. Then every top-level domain is a suffix.
    private let loaded: SuffixList?

    private init(loaded: SuffixList?) { self.loaded = loaded }

    /// Creates the suffixes of a list in the format of `public_suffix_list.dat`.
    package init(list: Span<UInt8>) {
        loaded = list.withUnsafeBytes { bytes in
            // A stream of memory cannot be empty.
            guard !bytes.isEmpty,
                let stream = fmemopen(UnsafeMutableRawPointer(mutating: bytes.baseAddress), bytes.count, "r")
            else { return nil }
            defer { fclose(stream) }
            return SuffixList(psl_load_fp(stream))
        }
    }

    /// Whether no rule was read.
    package var isEmpty: Bool { loaded?.isEmpty ?? true }

    /// The public suffix of a host with one more label: `example.co.uk` for `www.example.co.uk`. A dot at the
    /// end of the host is removed. Nil for public suffixes, IP addresses and names with empty labels.
    package func registrableDomain(of host: String) -> String? {
        let name = host.hasSuffix(".") ? String(host.dropLast()) : host
        // libpsl takes addresses for names, and accepts empty labels.
        guard !name.hasPrefix("["), !Self.hasEmptyLabel(name), !IPv4Address.endsInNumber(host.utf8.span)
        else { return nil }
        guard let loaded else {
            let labels = name.split(separator: ".")
            return labels.count < 2 ? nil : labels.suffix(2).joined(separator: ".")
        }
        return loaded.registrableDomain(of: name)
    }

    private static func hasEmptyLabel(_ name: String) -> Bool {
        var isEmpty = true
        for byte in name.utf8 {
            if byte == UInt8(ascii: "."), isEmpty { return true }
            isEmpty = byte == UInt8(ascii: ".")
        }
        return isEmpty
    }
}

/// A list that libpsl has loaded.
///
/// `@unchecked Sendable`: libpsl only reads a loaded list, and nothing else changes.
private final class SuffixList: @unchecked Sendable {
    private let handle: OpaquePointer

    /// Returns nil if there is no list. Frees the list at the end, except the one in libpsl, which `psl_free` leaves alone.
    init?(_ handle: OpaquePointer?) {
        guard let handle else { return nil }
        self.handle = handle
    }

    deinit { psl_free(handle) }

    /// The count is -1 for the compact format of a list.
    var isEmpty: Bool { psl_suffix_count(handle) == 0 }

    func registrableDomain(of name: String) -> String? {
        // The result points into the name.
        name.withCString { name in psl_registrable_domain(handle, name).map { String(cString: $0) } }
    }
}

/// The pages that belong to a site.
public enum SiteExtent: String, Sendable, CaseIterable {
    /// The hosts of the start URLs, with any scheme and port.
    case host
    /// The folders of the start URLs.
    case path
    /// The registrable domains of the start URLs: for `www.example.co.uk`, every host below `example.co.uk`.
    case domain
}
