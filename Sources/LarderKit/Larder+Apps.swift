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
    /// A URL that a manifest requires a digest of is answered by what has that digest, whatever the policy: held so, nobody is
    /// asked, and what comes otherwise is refused.
    ///
    /// ```swift
    /// let answer = try await larder.load("https://example.com/", policy: .auto)
    /// print(answer.source, answer.response.status, answer.body.count)
    /// ```
    ///
    /// - Parameter policy: nil for what a rule of the URL's site says, else `protocol`.
    /// - Throws: `LarderError` of kind `.input` for what is no http or https URL; `.machine` when nothing may be shown: the
    ///   server does not answer, or nothing is held and the policy asks nobody. What a server answers is no error.
    public func load(
        _ url: String, policy: CachePolicy? = nil, options: LoadOptions = LoadOptions()
    ) async throws(LarderError) -> LoadReport {
        let url = try Self.startURL(url)
        return try await loading { (interruption) throws(LarderError) in
            try AppLoad(self, policy, options, interruption).answer(url)
        }
    }

    /// A bundle, as its MD5 says that it has to be: held so, nobody is asked; else it is loaded, verified and kept.
    ///
    /// ```swift
    /// let bundle = try await larder.bundle("https://example.com/a.js", md5: "0cc175b9c0f1b6a831c399e269772661")
    /// print(bundle.source, bundle.body.count)
    /// ```
    ///
    /// - Throws: `LarderError` of kind `.input` for what is no URL or no MD5; `.machine` when it cannot be had, or what came is
    ///   another: the error names both digests, and what is held stays as it is.
    public func bundle(
        _ url: String, md5: String, options: LoadOptions = LoadOptions()
    ) async throws(LarderError) -> LoadReport {
        let url = try Self.startURL(url)
        guard let digest = Digest(.md5, hex: md5) else {
            throw LarderError(.input, "\"\(md5)\" is no MD5: write it as 32 hexadecimal digits")
        }
        let bundle = Bundle(reference: url.href, digests: [digest])
        return try await loading { (interruption) throws(LarderError) in
            try AppLoad(self, nil, options, interruption).answer(url, requiring: bundle)
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
    /// - Throws: `LarderError` of kind `.input` for what is no http or https URL, for an answer that is not whole, or that is not
    ///   what a manifest requires; `.machine` when the store fails.
    public func store(_ response: WebResponse) async throws(LarderError) {
        let url = try Self.startURL(response.url)
        guard (200..<300).contains(response.status), response.status != 206 else {
            throw LarderError(
                .input, "\(url.href): an answer with the status \(response.status) is not stored: bring a whole one")
        }
        try await loading { (interruption) throws(LarderError) in
            try AppLoad(self, nil, LoadOptions(), interruption).store(response, at: url)
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
    /// - Throws: `LarderError` of kind `.input` for what is no http or https URL, `.machine` when there is no larder, or somebody
    ///   writes to it.
    @discardableResult
    public func remove(url: String) async throws(LarderError) -> Bool {
        let href = try Self.startURL(url).href
        return try await reading("larder-remove") { (reader) throws(StoreError) in
            try StoreWriter(reader.folder).remove { $0 == href } > 0
        }
    }

    private func loading<Value: Sendable>(
        _ body: @escaping @Sendable (Interruption) throws(LarderError) -> Value
    ) async throws(LarderError) -> Value {
        let interruption = Interruption()
        return try await Self.onThread("larder-load", onCancel: interruption.request) { () throws(LarderError) in
            try body(interruption)
        }
    }
}

/// A server's answer as an app sees it: what it brings itself, what it got, and what it may change before it is stored.
public struct WebResponse: Sendable, Equatable {
    public struct Field: Sendable, Hashable {
        public var name: String
        public var value: String

        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    public let url: String
    public let status: Int
    /// In their order, with the case and the repetition in which they came.
    public var fields: [Field]
    /// Without any content coding.
    public var body: [UInt8]
    /// How long it counts as fresh from when it is stored, whatever its fields say; nil for what they say.
    public var lifetime: Duration?

    public init(url: String, status: Int = 200, fields: KeyValuePairs<String, String> = [:], body: [UInt8]) {
        self.init(url, status, HTTPFields(fields.map { HTTPFields.Field(name: $0, value: $1) }), body)
    }

    init(_ url: String, _ status: Int, _ fields: HTTPFields, _ body: [UInt8]) {
        self.url = url
        self.status = status
        self.fields = fields.list.map { Field(name: $0.name, value: $0.value) }
        self.body = body
    }

    /// The first value of a name, compared without regard to case. Setting leaves one field of the name, or none.
    public subscript(name: String) -> String? {
        get { httpFields[name] }
        set {
            var changed = httpFields
            if let newValue { changed.set(name, newValue) } else { changed.remove(name) }
            fields = changed.list.map { Field(name: $0.name, value: $0.value) }
        }
    }

    var httpFields: HTTPFields { HTTPFields(fields.map { HTTPFields.Field(name: $0.name, value: $0.value) }) }

    /// As they are stored: a lifetime is told in the words of HTTP, so that everybody reads it who reads the fields.
    func storedFields(now: HTTPDate) -> HTTPFields {
        guard let lifetime else { return httpFields }
        var fields = httpFields
        for name in ["Age", "Expires", "Pragma"] { fields.remove(name) }
        fields.set("Date", now.text)
        fields.set("Cache-Control", "max-age=\(max(0, lifetime.components.seconds))")
        return fields
    }
}

/// Asked before a response is stored, on a thread of larder's: returns it as it is to be stored, with other fields, another body
/// or another lifetime, or nil to have it not stored. What a digest is required of cannot be edited out of it: that is refused.
public typealias WillStore = @Sendable (WebResponse) -> WebResponse?

/// How to load an URL.
public struct LoadOptions: Sendable {
    public var network = NetworkOptions()
    /// What the app wants otherwise than servers say, before what its sites' rules say; see `larder help rules`.
    public var rules: [String] = []
    /// Asked before a response is stored.
    public var willStore: WillStore?

    public init() {}
}

/// What an URL answered, and where that came from.
public struct LoadReport: Sendable, Equatable {
    public enum Source: String, Sendable, CaseIterable {
        /// It is held, and nobody was asked.
        case held
        /// It is held, its time is up, and its server was not asked, does not answer, or is being asked behind.
        case stale
        /// It is held, and its server says that it still holds.
        case confirmed
        /// Its server sent it.
        case loaded
    }

    /// With the URL where redirects led.
    public let response: WebResponse
    public let source: Source
    /// Why what was loaded is not held from now on; nil where it is.
    public internal(set) var notStored: String?

    public var body: [UInt8] { response.body }
}
