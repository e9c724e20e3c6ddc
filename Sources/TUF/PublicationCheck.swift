package import Web

extension Publication {
    /// Verifies with the client that clients accept the repository after the publication: one that has the first
    /// root, and one that has the published root.
    ///
    /// - Parameter bytes: returns the contents of a published file; nil if there is none.
    /// - Throws: `RepositoryError` with the reason why a client would reject it.
    package func check(
        _ repository: Repository, now: HTTPDate, bytes: (String) -> [UInt8]?
    ) throws(RepositoryError) {
        guard let result else { return }
        var new: [String: [UInt8]] = [:]
        for file in files { new[file.name] = file.bytes }
        func publishedFile(_ name: String) -> [UInt8]? { new[name] ?? bytes(name) }
        let current = (repository.published?.root ?? result.root).version
        let first =
            (1...current).first { publishedFile(RepositoryRole.root.fileName(version: $0)) != nil } ?? current
        for version in Set([first, current]) {
            guard let root = publishedFile(RepositoryRole.root.fileName(version: version)) else { continue }
            do throws(TUFError) {
                try Self.update(
                    from: root, now: now, listsTargets: version == current && canListTargets(now),
                    publishedFile)
            } catch {
                throw .rejectedByClients(error)
            }
        }
    }

    /// Whether a client can list all targets: not if a delegated role has expired, which the others need not wait for.
    private func canListTargets(_ now: HTTPDate) -> Bool {
        guard let delegated = result?.delegated.values, !delegated.isEmpty else { return false }
        return delegated.allSatisfy { $0.expires > now.secondsSinceEpoch }
    }

    /// Lets a client that knows only a root update its metadata.
    ///
    /// - Parameter listsTargets: whether it also loads the delegated roles.
    private static func update(
        from root: [UInt8], now: HTTPDate, listsTargets: Bool, _ publishedFile: (String) -> [UInt8]?
    ) throws(TUFError) {
        var client = TUFClient(now: now.secondsSinceEpoch)
        if listsTargets { client.list() }
        while let request = try client.nextRequest() {
            let answer: TUFClient.Answer
            switch request.source {
            case .storage: answer = request.name == "root.json" ? .bytes(root) : .missing
            case .server: answer = publishedFile(request.name).map { .bytes($0) } ?? .missing
            }
            _ = try client.receive(answer)
        }
    }
}
