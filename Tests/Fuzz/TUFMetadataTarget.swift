import TUF

/// The metadata of all roles of TUF, and a client that receives it in place of every file.
struct TUFMetadataTarget: Target {
    let name = "tuf"
    let suffixes = [".tuf"]
    let pieces = [
        "{", "}", "[", "]", "\"", ":", ",", "\\", "\\u0000", "0", "-1", "1.5", "1e9", "99999999999999999999",
        "null",
        "true",
        "\"signed\":", "\"signatures\":", "\"keyid\":", "\"sig\":", "\"_type\":", "\"root\"", "\"timestamp\"",
        "\"snapshot\"", "\"targets\"", "\"spec_version\":", "\"1.0.31\"", "\"version\":", "\"expires\":",
        "\"2030-01-01T00:00:00Z\"", "\"keys\":", "\"roles\":", "\"threshold\":", "\"keyids\":", "\"meta\":",
        "\"snapshot.json\"", "\"targets.json\"", "\"length\":", "\"hashes\":", "\"sha256\":",
        "\"delegations\":",
        "\"paths\":", "\"path_hash_prefixes\":", "\"terminating\":", "\"succinct_roles\":", "\"bit_length\":",
        "\"name_prefix\":", "\"keytype\":", "\"scheme\":", "\"keyval\":", "\"public\":", "\"ed25519\"",
        "\"rsa\"",
        "\"ecdsa\"", "-----BEGIN PUBLIC KEY-----\\n", "\\n-----END PUBLIC KEY-----", "../", "%2e", "*", "?",
        "[!a-z]",
        "\u{301}", "é",
    ]

    func fault(_ input: [UInt8]) -> String? {
        if let value = try? CanonicalJSON(input, file: "f") {
            // Control characters are not escaped in canonical JSON, which is then not JSON.
            if !value.bytes.contains(where: { $0 < 0x20 }) {
                guard let again = try? CanonicalJSON(value.bytes, file: "f"), again == value else {
                    return "an encoding: \(String(decoding: value.bytes, as: UTF8.self))"
                }
            }
        }
        return fault(of: RootMetadata.self, input) ?? fault(of: TimestampMetadata.self, input)
            ?? fault(of: SnapshotMetadata.self, input) ?? fault(of: TargetsMetadata.self, input)
            ?? clientFault(input)
    }

    /// Metadata that is read must be written with the same content, and read again.
    private func fault<Role: RoleMetadata>(of type: Role.Type, _ input: [UInt8]) -> String? {
        guard let metadata = try? SignedMetadata<Role>(input, file: "f") else { return nil }
        guard let again = try? SignedMetadata<Role>(metadata.fileBytes(), file: "f"),
            again.role == metadata.role
        else {
            return "what was written: \(String(decoding: metadata.fileBytes(), as: UTF8.self))"
        }
        if let targets = metadata.role as? TargetsMetadata { return fault(in: targets) }
        return nil
    }

    private func fault(in metadata: TargetsMetadata) -> String? {
        for (path, file) in metadata.targets {
            let target = TUFTarget(path: path, file: file, role: "targets")
            for hasDigest in [false, true] {
                guard let reference = target.reference(hasDigest: hasDigest) else { continue }
                let parts = reference.split(separator: "/", omittingEmptySubsequences: false)
                if parts.contains("..") || parts.contains("") { return "a reference: \(reference)" }
            }
            if case .listed(let roles)? = metadata.delegations?.roles { _ = roles.map { $0.covers(path) } }
            if case .succinct(let roles)? = metadata.delegations?.roles { _ = roles.name(for: path) }
        }
        return nil
    }

    /// A client whose server and storage answer every request with the input must end, and store nothing: the input cannot be
    /// the root that follows itself.
    private func clientFault(_ input: [UInt8]) -> String? {
        var client = TUFClient(now: 1_800_000_000)
        for _ in 0..<8 {
            guard let request = try? client.nextRequest() else { return nil }
            let answer = TUFClient.Answer.bytes(Array(input.prefix(request.maxBytes)))
            guard let changes = try? client.receive(answer) else { return nil }
            if !changes.isEmpty { return "a change: \(changes)" }
        }
        return "no end: \(client.rootVersion)"
    }
}
