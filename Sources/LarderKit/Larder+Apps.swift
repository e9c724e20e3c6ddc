internal import Bundles
internal import Check
internal import Digest
internal import Fetch
public import Prefetch
internal import Store
internal import System
internal import Web

extension Larder {
    /// Loads a URL from the store or from its server, as the policy decides, and follows redirects.
    ///
    /// If a manifest requires a digest of the URL, only a body with that digest is returned, whatever the policy: a
    /// stored one is returned without a request, and a response with another digest is rejected.
    ///
    /// ```swift
    /// let answer = try await larder.load("https://example.com/", policy: .auto)
    /// print(answer.source, answer.response.status, answer.body.count)
    /// ```
    ///
    /// - Parameter policy: nil uses the policy that a rule of the URL's site names, or `protocol` if there is none.
    /// - Throws: `LarderError` of kind `.input` if the URL is not http or https; `.machine` if no response may be
    ///   returned: the server does not answer, or nothing is stored and the policy allows no request. HTTP error
    ///   statuses are returned, not thrown.
    public func load(
        _ url: String, policy: CachePolicy? = nil, options: LoadOptions = LoadOptions()
    ) async throws(LarderError) -> LoadReport {
        try await load(url, policy: policy, options: options, by: .localUser)
    }

    /// Loads a URL for a principal that is not the user of this machine.
    ///
    /// - Parameter storesPages: whether a new HTML document is stored as a page of its site.
    func load(
        _ url: String, policy: CachePolicy?, options: LoadOptions, by principal: Principal,
        storesPages: Bool = false
    ) async throws(LarderError) -> LoadReport {
        let url = try WebURL.start(url)
        return try await runInterruptibly { (interruption) throws(LarderError) in
            let loader = try URLLoader(folder, policy, options, interruption)
            loader.storesPages = storesPages
            return try loader.load(url, by: principal)
        }
    }

    /// Loads a bundle that has a known MD5. A stored body with that digest is returned without a request; else the
    /// bundle is loaded, verified and stored.
    ///
    /// ```swift
    /// let bundle = try await larder.bundle("https://example.com/a.js", md5: "0cc175b9c0f1b6a831c399e269772661")
    /// print(bundle.source, bundle.body.count)
    /// ```
    ///
    /// - Throws: `LarderError` of kind `.input` if the URL or the MD5 is malformed; `.machine` if the bundle cannot
    ///   be loaded, or the loaded body has another digest: the error names both digests, and the stored body is
    ///   unchanged.
    public func bundle(
        _ url: String, md5: String, options: LoadOptions = LoadOptions()
    ) async throws(LarderError) -> LoadReport {
        let url = try WebURL.start(url)
        guard let digest = Digest(.md5, hex: md5) else {
            throw LarderError(.input, "\"\(md5)\" is not an MD5 digest; write it as 32 hexadecimal digits")
        }
        let bundle = Bundle(reference: url.href, digests: [digest])
        return try await runInterruptibly { (interruption) throws(LarderError) in
            try URLLoader(folder, nil, options, interruption).load(
                url, requiring: bundle, by: .localUser)
        }
    }

    /// Stores a response that the app provides, in place of the stored one.
    ///
    /// ```swift
    /// var own = WebResponse(
    ///     url: "https://example.com/own.json", fields: ["Content-Type": "application/json"], body: Array("{}".utf8))
    /// own.lifetime = .seconds(600)
    /// try await larder.store(own)
    /// ```
    ///
    /// - Throws: `LarderError` of kind `.input` if the URL is not http or https, the response is not complete (its
    ///   status is not 2xx, or is 206), or its body does not have the digest that a manifest requires; `.machine` if
    ///   the store fails.
    public func store(_ response: WebResponse) async throws(LarderError) {
        let url = try WebURL.start(response.url)
        guard (200..<300).contains(response.status), response.status != 206 else {
            throw LarderError(
                .input,
                "cannot store \(url.href): its status is \(response.status); pass a complete response, such as one with status 200"
            )
        }
        try await runInterruptibly { (interruption) throws(LarderError) in
            try URLLoader(folder, nil, LoadOptions(), interruption).store(response, at: url)
        }
    }

    /// Removes the stored responses of a URL from all snapshots. The rest of its site stays.
    ///
    /// ```swift
    /// let wasStored = try await larder.remove(url: "https://example.com/own.json")
    /// print(wasStored)
    /// ```
    ///
    /// - Returns: Whether a response was stored.
    /// - Throws: `LarderError` of kind `.input` if the URL is not http or https, `.machine` if there is no store, or
    ///   another process is writing to it.
    @discardableResult
    public func remove(url: String) async throws(LarderError) -> Bool {
        let href = try WebURL.start(url).href
        return try await readStore("larder-remove") { (reader) throws(StoreError) in
            try StoreWriter(reader.folder).remove(urlsNamed: href) { $0 == href } > 0
        }
    }

    private func runInterruptibly<Value: Sendable>(
        _ body: @escaping @Sendable (Interruption) throws(LarderError) -> Value
    ) async throws(LarderError) -> Value {
        let interruption = Interruption()
        return try await Self.runOnThread("larder-load", onCancel: interruption.request) {
            () throws(LarderError) in
            try body(interruption)
        }
    }
}
