import Glibc

/// The domains under which the public can register names, from the Public Suffix List (https://publicsuffix.org)
/// including its private part.
///
/// A rule `uk` or `co.uk` names a suffix. `*.ck` makes each name directly below `ck` a suffix, and `!www.ck` is an
/// exception from such a wildcard.
package struct PublicSuffixes: Sendable {
    /// The list of the system. Without one, every top-level domain is a suffix, so that `co.uk` counts as a
    /// site.
    package static let system = PublicSuffixes(
        list: contents(of: "/usr/share/publicsuffix/public_suffix_list.dat").span)

    /// The kind of a rule without a wildcard.
    private enum Rule {
        case suffix, exception
    }

    /// The rules by the ASCII form of their names.
    private var rules: [String: Rule] = [:]
    /// The names from rules with a wildcard: `ck` for `*.ck`. Every name directly below one of them is a suffix.
    private var wildcards: Set<String> = []

    /// The number of bytes of the list that are read at most, approximately. The list has less than a megabyte.
    private static let maxBytes = 16 << 20

    /// Whether any rule was read.
    package var isEmpty: Bool { rules.isEmpty && wildcards.isEmpty }

    package init(list: Span<UInt8>) {
        // The number of rules in the current list.
        if list.count > 1 << 17 { rules.reserveCapacity(12_000) }
        var start = 0
        while start < list.count {
            var end = start
            while end < list.count, list[end] != 0x0A { end += 1 }
            add(line: list.extracting(start..<end))
            start = end + 1
        }
    }

    /// The content of a file; empty if there is none.
    private static func contents(of path: String) -> [UInt8] {
        guard let file = fopen(path, "rbe") else { return [] }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while bytes.count < maxBytes {
            let count = fread(&chunk, 1, chunk.count, file)
            guard count > 0 else { break }
            bytes += chunk[..<count]
        }
        return bytes
    }

    /// Adds the rule in a line, which ends at the first whitespace. Ignores comments and empty lines.
    private mutating func add(line: Span<UInt8>) {
        var end = 0
        while end < line.count, line[end] > 0x20 { end += 1 }
        let rule = line.extracting(..<end)
        if rule.isEmpty || rule.starts(with: "//") { return }
        if rule.starts(with: "*.") {
            if let name = Self.asciiName(rule.extracting(2...)) { wildcards.insert(name) }
        } else if rule.starts(with: "!") {
            if let name = Self.asciiName(rule.extracting(1...)) { rules[name] = .exception }
        } else if let name = Self.asciiName(rule) {
            rules[name] = .suffix
        }
    }

    /// Returns the name of a rule in the form that parsed URLs have; nil if it is not a valid host name.
    private static func asciiName(_ rule: Span<UInt8>) -> String? {
        if isASCIIForm(rule) { return rule.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) } }
        var ascii: [UInt8] = []
        guard !rule.isEmpty, HostParser.appendHost(rule, isSpecial: true, to: &ascii) else { return nil }
        return String(decoding: ascii, as: UTF8.self)
    }

    /// Whether a name is certainly its own ASCII form, so that the slower `HostParser` need not convert it. This is true
    /// for most names. A name of lower-case letters, hyphens and dots cannot be an IP address, which the parser
    /// would normalize.
    private static func isASCIIForm(_ rule: Span<UInt8>) -> Bool {
        var isLabelStart = true
        for index in rule.indices {
            let byte = rule[index]
            if byte == UInt8(ascii: ".") {
                if isLabelStart { return false }
                isLabelStart = true
                continue
            }
            guard (0x61...0x7A).contains(byte) || !isLabelStart && byte == UInt8(ascii: "-") else {
                return false
            }
            // A label that begins with x may be Punycode, which must be validated.
            if isLabelStart, byte == UInt8(ascii: "x") { return false }
            isLabelStart = false
        }
        return !isLabelStart
    }

    /// The public suffix of a host with one more label: `example.co.uk` for `www.example.co.uk`. A dot at the
    /// end of the host is removed. Nil for public suffixes, IP addresses and names with empty labels.
    package func registrableDomain(of host: String) -> String? {
        let name = host.hasSuffix(".") ? host.dropLast() : host[...]
        guard !name.isEmpty, !name.hasPrefix("["), !IPv4Address.endsInNumber(host.utf8.span) else {
            return nil
        }
        var previous: Substring?
        var label = name
        while true {
            let dot = label.utf8.firstIndex(of: UInt8(ascii: "."))
            guard dot != label.startIndex, !label.isEmpty else { return nil }
            let parent = dot.map { label[label.index(after: $0)...] }
            switch rules[String(label)] {
            case .exception:
                return String(label)
            case .suffix:
                return previous.map(String.init)
            case nil:
                // A name without a rule has its last label as suffix.
                guard let parent else { return previous.map(String.init) }
                if wildcards.contains(String(parent)) { return previous.map(String.init) }
                previous = label
                label = parent
            }
        }
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
