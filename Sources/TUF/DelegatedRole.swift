internal import Digest
internal import Web

/// A delegated targets role: its keys, and the targets that it may describe.
package struct DelegatedRole: Sendable, Equatable {
    package var name: String
    package var keys: RoleKeys
    package var scope: Scope
    /// Whether later delegations are ignored for targets that this one covers.
    package var isTerminating: Bool

    /// The targets that a role may describe.
    package enum Scope: Sendable, Equatable {
        /// Shell patterns for paths.
        case paths([String])
        /// Beginnings of the SHA-256 of the path in hexadecimal digits.
        case pathHashPrefixes([String])
    }

    private static let memberNames: Set<String> = ["name", "terminating", "paths", "path_hash_prefixes"]

    package init(name: String, keys: RoleKeys, scope: Scope, isTerminating: Bool = false) {
        self.name = name
        self.keys = keys
        self.scope = scope
        self.isTerminating = isTerminating
    }

    init(_ node: MetadataNode) throws(TUFError) {
        let nameNode = try node.member("name")
        name = try nameNode.string()
        try Self.checkName(name, nameNode)
        keys = try RoleKeys(node, known: Self.memberNames)
        // The specification lists it as a member of every role, but its own example has none.
        isTerminating = try node["terminating"]?.bool() ?? false
        switch (node["paths"], node["path_hash_prefixes"]) {
        case (let paths?, nil): scope = .paths(try paths.strings())
        case (nil, let prefixes?): scope = .pathHashPrefixes(try prefixes.strings().map { $0.lowercased() })
        // Both are optional. A role with neither covers nothing.
        case (nil, nil): scope = .paths([])
        default: throw node.error("has both \"paths\" and \"path_hash_prefixes\"")
        }
    }

    /// A delegated role with the name of a top-level role would replace that role's file.
    static func checkName(_ name: String, _ node: MetadataNode) throws(TUFError) {
        guard !name.isEmpty, name.utf8.count <= TUFLimits.maxRoleNameBytes else {
            throw node.error("is empty or over \(TUFLimits.maxRoleNameBytes) bytes")
        }
        guard !RootMetadata.topLevelRoles.contains(name) else {
            throw node.error("\"\(name)\" is the name of a top-level role")
        }
    }

    var json: CanonicalJSON {
        var members = keys.members
        members["name"] = .string(name)
        members["terminating"] = .bool(isTerminating)
        switch scope {
        case .paths(let paths): members["paths"] = .strings(paths)
        case .pathHashPrefixes(let prefixes): members["path_hash_prefixes"] = .strings(prefixes)
        }
        return .object(members)
    }

    /// Whether the role may describe a target.
    package func covers(_ path: String) -> Bool {
        var query = TargetQuery(path)
        return covers(&query)
    }

    func covers(_ query: inout TargetQuery) -> Bool {
        switch scope {
        case .paths(let patterns): return patterns.contains { PathPattern.matches(&query, $0) }
        case .pathHashPrefixes(let prefixes):
            let hash = query.hash
            return prefixes.contains { hash.hasPrefix($0) }
        }
    }
}

/// A set of 2^n delegated roles with the same keys, each for an equal share of all targets (TAP 15).
package struct SuccinctRoles: Sendable, Equatable {
    package var keys: RoleKeys
    /// The number of leading bits of the path's SHA-256 that choose the role.
    package var bitLength: Int
    package var namePrefix: String

    private static let memberNames: Set<String> = ["bit_length", "name_prefix"]

    package init(keys: RoleKeys, bitLength: Int, namePrefix: String) {
        self.keys = keys
        self.bitLength = bitLength
        self.namePrefix = namePrefix
    }

    init(_ node: MetadataNode) throws(TUFError) {
        keys = try RoleKeys(node, known: Self.memberNames)
        let length = try node.member("bit_length")
        bitLength = try length.integer(atLeast: 1)
        guard bitLength <= 32 else { throw length.error("expected at most 32") }
        let prefix = try node.member("name_prefix")
        namePrefix = try prefix.string()
        // The longest suffix is a hyphen and 8 digits.
        guard namePrefix.utf8.count <= TUFLimits.maxRoleNameBytes - 9 else {
            throw prefix.error("is over \(TUFLimits.maxRoleNameBytes - 9) bytes")
        }
    }

    var json: CanonicalJSON {
        var members = keys.members
        members["bit_length"] = .integer(bitLength)
        members["name_prefix"] = .string(namePrefix)
        return .object(members)
    }

    package var count: Int { 1 << bitLength }

    /// The number of hexadecimal digits in the names.
    private var digitCount: Int { (bitLength + 3) / 4 }

    private func name(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return "\(namePrefix)-\(String(repeating: "0", count: digitCount - digits.utf8.count))\(digits)"
    }

    /// The role that describes a target.
    package func name(for path: String) -> String {
        let bits = PathHash.bytes(of: path).prefix(4).reduce(0) { $0 << 8 | Int($1) }
        return name(bits >> (32 - bitLength))
    }

    /// Whether it is the name of one of the roles.
    func contains(_ name: String) -> Bool {
        let start = "\(namePrefix)-"
        guard name.hasPrefix(start) else { return false }
        let digits = name.utf8.dropFirst(start.utf8.count)
        guard digits.count == digitCount, digits.allSatisfy({ $0.hexDigitValue != nil }),
            let number = Int(String(Substring(digits)), radix: 16)
        else { return false }
        return number < count && self.name(number) == name
    }

    /// The names of all roles.
    var names: [String] { (0..<count).map(name) }
}

/// The SHA-256 of a target's path, which chooses its bin.
enum PathHash {
    static func bytes(of path: String) -> [UInt8] {
        DigestStream.digest(.sha256, of: Array(path.utf8).span).bytes
    }

    static func hex(of path: String) -> String { Hex.encode(bytes(of: path)) }
}
