internal import Bundles
internal import Check
internal import Digest
internal import Fetch
internal import Store
internal import System
internal import Web

extension Larder {
    /// Loads an URL, out of what is held or from its server, as the policy has it, and follows redirects.
    ///
    /// A URL that a manifest requires a digest of is answered by what has that digest, whatever the policy:
    /// held so, nobody is asked, and what comes otherwise is refused.
    ///
    /// ```swift
    /// let answer = try await larder.load("https://example.com/", policy: .auto)
    /// print(answer.source, answer.response.status, answer.body.count)
    /// ```
    ///
    /// - Parameter policy: nil for what a rule of the URL's site says, else `protocol`.
    /// - Throws: `LarderError` of kind `.input` for what is no http or https URL; `.machine` when nothing may
    ///   be shown: the server does not answer, or nothing is held and the policy asks nobody. What a server
    ///   answers is no error.
    public func load(
        _ url: String, policy: CachePolicy? = nil, options: LoadOptions = LoadOptions()
    ) async throws(LarderError) -> LoadReport {
        try await load(url, policy: policy, options: options, by: .localUser)
    }

    /// The same for a principal that is not the user of this machine.
    func load(
        _ url: String, policy: CachePolicy?, options: LoadOptions, by principal: Principal
    ) async throws(LarderError) -> LoadReport {
        let url = try WebURL.start(url)
        return try await loading { (interruption) throws(LarderError) in
            try AppLoad(folder, policy, options, interruption).answer(url, by: principal)
        }
    }

    /// A bundle, as its MD5 says that it has to be: held so, nobody is asked; else it is loaded, verified and
    /// kept.
    ///
    /// ```swift
    /// let bundle = try await larder.bundle("https://example.com/a.js", md5: "0cc175b9c0f1b6a831c399e269772661")
    /// print(bundle.source, bundle.body.count)
    /// ```
    ///
    /// - Throws: `LarderError` of kind `.input` for what is no URL or no MD5; `.machine` when it cannot be
    ///   had, or what came is another: the error names both digests, and what is held stays as it is.
    public func bundle(
        _ url: String, md5: String, options: LoadOptions = LoadOptions()
    ) async throws(LarderError) -> LoadReport {
        let url = try WebURL.start(url)
        guard let digest = Digest(.md5, hex: md5) else {
            throw LarderError(.input, "\"\(md5)\" is no MD5: write it as 32 hexadecimal digits")
        }
        let bundle = Bundle(reference: url.href, digests: [digest])
        return try await loading { (interruption) throws(LarderError) in
            try AppLoad(folder, nil, options, interruption).answer(
                url, requiring: bundle, by: .localUser)
        }
    }

    /// Keeps a response that the app brings itself, in the place of what was held.
    ///
    /// ```swift
    /// var own = WebResponse(
    ///     url: "https://example.com/own.json", fields: ["Content-Type": "application/json"], body: Array("{}".utf8))
    /// own.lifetime = .seconds(600)
    /// try await larder.store(own)
    /// ```
    ///
    /// - Throws: `LarderError` of kind `.input` for what is no http or https URL, for an answer that is not
    ///   whole, or that is not what a manifest requires; `.machine` when the store fails.
    public func store(_ response: WebResponse) async throws(LarderError) {
        let url = try WebURL.start(response.url)
        guard (200..<300).contains(response.status), response.status != 206 else {
            throw LarderError(
                .input,
                "\(url.href): an answer with the status \(response.status) is not stored: bring a whole one")
        }
        try await loading { (interruption) throws(LarderError) in
            try AppLoad(folder, nil, LoadOptions(), interruption).store(response, at: url)
        }
    }

    /// Removes what is held under an URL, out of all visits, and nothing else of its site.
    ///
    /// ```swift
    /// let wasHeld = try await larder.remove(url: "https://example.com/own.json")
    /// print(wasHeld)
    /// ```
    ///
    /// - Returns: Whether anything was held.
    /// - Throws: `LarderError` of kind `.input` for what is no http or https URL, `.machine` when there is no
    ///   larder, or somebody writes to it.
    @discardableResult
    public func remove(url: String) async throws(LarderError) -> Bool {
        let href = try WebURL.start(url).href
        return try await reading("larder-remove") { (reader) throws(StoreError) in
            try StoreWriter(reader.folder).remove { $0 == href } > 0
        }
    }

    private func loading<Value: Sendable>(
        _ body: @escaping @Sendable (Interruption) throws(LarderError) -> Value
    ) async throws(LarderError) -> Value {
        let interruption = Interruption()
        return try await Self.onThread("larder-load", onCancel: interruption.request) {
            () throws(LarderError) in
            try body(interruption)
        }
    }
}
