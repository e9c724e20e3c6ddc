internal import Digest
internal import Web

/// A JSON value of a manifest with its path, so that an error can name its position.
struct ManifestNode {
    let value: JSONValue
    /// The path of the value, such as `bundles[3].md5`; empty for the root.
    let key: String
    let source: ManifestText

    init(_ value: JSONValue, key: String, in source: ManifestText) {
        self.value = value
        self.key = key
        self.source = source
    }

    /// Makes an error at the position of the value.
    func error(_ detail: String) -> ManifestError {
        source.error(at: value.range.lowerBound, key: key.isEmpty ? nil : key, detail)
    }

    func typeError(expected what: String) -> ManifestError {
        error("expected \(what), found \(value.kindName)")
    }

    // MARK: Members

    subscript(name: String) -> ManifestNode? {
        value[name].map { ManifestNode($0, key: path(name), in: source) }
    }

    /// Returns a member of the object.
    ///
    /// - Parameter what: the expected value, for the error.
    /// - Throws: `ManifestError` if there is no such member.
    func requiredMember(_ name: String, _ what: String) throws(ManifestError) -> ManifestNode {
        guard let node = self[name] else {
            throw source.error(
                at: value.range.lowerBound, key: path(name), "expected \(what), found nothing")
        }
        return node
    }

    /// Returns the members in source order.
    ///
    /// - Throws: `ManifestError` if a key is listed twice, unless repetition is allowed.
    func members(
        allowsRepetition: Bool = false
    ) throws(ManifestError) -> [(name: String, node: ManifestNode)] {
        guard let members = value.members else { throw typeError(expected: "an object") }
        if !allowsRepetition, let twice = value.duplicateMembers.first {
            throw source.error(at: twice.keyOffset, key: path(twice.key), "the key is listed twice")
        }
        return members.map { ($0.key, ManifestNode($0.value, key: path($0.key), in: source)) }
    }

    /// Throws if the object has a member with another name.
    func allowOnly(_ names: [String]) throws(ManifestError) {
        guard let members = value.members else { throw typeError(expected: "an object") }
        for member in members where !names.contains(member.key) {
            let advice =
                if let close = Spelling.closest(to: member.key, among: names) {
                    "did you mean \"\(close)\"?"
                } else {
                    "expected one of \(names.joined(separator: ", "))"
                }
            throw source.error(at: member.keyOffset, key: path(member.key), "unknown key: \(advice)")
        }
        _ = try self.members()
    }

    /// The path of a member, such as `files["a.js"].hash`.
    private func path(_ name: String) -> String {
        let isPlain =
            !name.isEmpty && name.utf8.allSatisfy { $0.isASCIIAlphanumeric || $0 == 0x5F || $0 == 0x24 }
        return isPlain ? (key.isEmpty ? name : "\(key).\(name)") : "\(key)[\"\(name)\"]"
    }

    // MARK: Values

    // These functions throw a `ManifestError` if the value has another type, and some of them if it is empty or too large.

    func elements() throws(ManifestError) -> [ManifestNode] {
        guard let elements = value.array else { throw typeError(expected: "an array") }
        return elements.enumerated().map { ManifestNode($1, key: "\(key)[\($0)]", in: source) }
    }

    func string() throws(ManifestError) -> String {
        guard let string = value.string else { throw typeError(expected: "a string") }
        return string
    }

    /// A string that is not empty.
    func text() throws(ManifestError) -> String {
        let text = try string()
        guard !text.isEmpty else { throw error("expected a non-empty string, found an empty one") }
        return text
    }

    func bool() throws(ManifestError) -> Bool {
        guard let bool = value.bool else { throw typeError(expected: "true or false") }
        return bool
    }

    /// A whole number of at least 0.
    func count(of what: String) throws(ManifestError) -> Int {
        guard let number = value.number else { throw typeError(expected: "a number of \(what)") }
        guard let count = number.int, count >= 0 else {
            throw error("expected a number of \(what), found \(number.text)")
        }
        return count
    }

    func digest(_ algorithm: DigestAlgorithm) throws(ManifestError) -> Digest {
        let hex = try string()
        guard let digest = Digest(algorithm, hex: hex) else {
            throw error(
                "expected the \(algorithm.byteCount * 2) hexadecimal digits of \(algorithm.label), "
                    + "found \"\(Self.abbreviate(hex))\"")
        }
        return digest
    }

    /// A digest in base64 or base64url, with or without padding, and with or without the algorithm before it as in
    /// integrity metadata.
    func base64Digest(_ algorithm: DigestAlgorithm) throws(ManifestError) -> Digest {
        let text = try string()
        guard let digest = Digest(algorithm, base64: text) else {
            throw error(
                "expected \(algorithm.label) in base64, which has \((algorithm.byteCount * 4 + 2) / 3) digits, "
                    + "found \"\(Self.abbreviate(text))\"")
        }
        return digest
    }

    /// The beginning of a long text, for messages.
    static func abbreviate(_ text: String) -> String {
        text.utf8.count <= 160 ? text : "\(text.prefix(80))…"
    }
}

extension ManifestNode {
    /// The manifest format, detected by members that other formats do not have; nil if none is recognised.
    var detectedFormat: ManifestFormat? {
        if let items = value.array { return Self.format(ofList: items) }
        guard let members = value.members, !members.isEmpty else { return nil }
        func has(_ key: String, _ is: (JSONValue) -> Bool = { _ in true }) -> Bool {
            value[key].map(`is`) ?? false
        }
        let isObject = { (value: JSONValue) in value.members != nil }
        let isArray = { (value: JSONValue) in value.array != nil }
        let isText = { (value: JSONValue) in value.string != nil }

        if has("bundles") || has("start", isArray) { return .larder }
        if BlazorBoot.isRecognised(value) { return .blazor }
        if ExpoManifest.isRecognised(value) { return .expo }
        if NextManifest.isRecognised(value) { return .next }
        if has("pages") { return .weex }
        if has("hashTable") { return .angular }
        if has("remoteManifestUrl") || (has("packageUrl") && has("assets", isObject)) { return .cocos }
        if has("content_url") { return .cordova }
        if WAICTManifest.isRecognised(value) { return .waict }
        if has("files", isObject), has("assets", isObject) { return .sprockets }
        if has("files", isObject), has("entrypoints", isArray) || members.count == 1 { return .cra }
        if has("assets", isArray) || (has("children", isArray) && has("hash")) { return .webpackStats }
        if has("imports", isObject) || has("scopes", isObject) || has("integrity", isObject) {
            return .importMap
        }
        if has("jsPath", isText) || WeexManifest.isBundleResponse(value) { return .weexBundle }
        if members.allSatisfy({ $0.value["file"]?.string != nil }) { return .vite }
        return AssetMap.isRecognised(members) ? .webpackAssets : nil
    }

    private static func format(ofList items: [JSONValue]) -> ManifestFormat? {
        guard let first = items.first else { return nil }
        if first["file"] != nil, first["hash"] != nil { return .cordova }
        return first.string != nil || first["url"] != nil ? .workbox : nil
    }

    /// Whether a key is one of Larder's format, or close to one. A useful error message is then possible.
    var resemblesLarderManifest: Bool {
        value.members?.contains { Spelling.closest(to: $0.key, among: LarderManifest.keys) != nil } ?? false
    }
}

extension ManifestNode {
    /// Returns the case of an enumeration that the string names.
    func choice<Choice: RawRepresentable<String> & CaseIterable>(_: Choice.Type) throws(ManifestError)
        -> Choice
    {
        let text = try string()
        if let choice = Choice(rawValue: text) { return choice }
        let names = Choice.allCases.map(\.rawValue)
        let close = Spelling.closest(to: text, among: names).map { ": did you mean \"\($0)\"?" } ?? ""
        throw error(
            "expected one of \(names.joined(separator: ", ")), found \"\(ManifestNode.abbreviate(text))\"\(close)"
        )
    }

    /// Returns integrity metadata written by hand. Throws if a part of it is malformed or names an unknown
    /// algorithm.
    func integrity() throws(ManifestError) -> Integrity {
        let text = try text()
        let integrity = Integrity(text)
        guard integrity.algorithm != nil || integrity.requiresSignature, integrity.unusable.isEmpty else {
            throw error(
                "expected sha256-, sha384- or sha512- and the digest in base64, or ed25519- and the key, "
                    + "found \"\(ManifestNode.abbreviate(integrity.unusable.first ?? text))\"")
        }
        return integrity
    }

    /// Returns the claim of integrity metadata that a tool wrote. A malformed digest is accepted here, but
    /// matches no body, as in a browser.
    func lenientIntegrityClaims() throws(ManifestError) -> [Claim] {
        guard !value.isNull else { return [] }
        let text = try string()
        return text.isEmpty ? [] : [Claim(Integrity(text))]
    }

    /// Returns a text such as a version, which some tools write as a number; nil for null and an empty string.
    func optionalText() throws(ManifestError) -> String? {
        if value.isNull { return nil }
        if let number = value.number { return number.text }
        let text = try string()
        return text.isEmpty ? nil : text
    }

    /// A time of RFC 3339.
    func time() throws(ManifestError) -> HTTPDate {
        let text = try string()
        guard let time = HTTPDate(rfc3339: text) else {
            throw error(
                "expected a time such as 2026-01-31T12:00:00Z, found \"\(ManifestNode.abbreviate(text))\"")
        }
        return time
    }

    /// A time in milliseconds since 1970, as some tools write it; nil for another value.
    var millisecondTime: HTTPDate? {
        guard let milliseconds = value.number?.int, milliseconds >= 0 else { return nil }
        return HTTPDate(secondsSinceEpoch: Int64(milliseconds) / 1000)
    }

    /// Adds a bundle, or merges it with the listed one. Throws an error at this node if they contradict each other.
    func add(_ bundle: Bundle, to list: inout BundleList) throws(ManifestError) {
        if let refusal = list.merge(bundle) { throw error(refusal.detail) }
    }
}

extension Digest {
    /// Creates a digest from base64 or base64url, with or without padding. The name of the algorithm and a dash may precede
    /// it. Returns nil for another text.
    init?(_ algorithm: DigestAlgorithm, base64 text: String) {
        var digits = text.utf8.map { $0 == 0x2D ? 0x2B : $0 == 0x5F ? 0x2F : $0 }[...]
        let name = Array((algorithm.rawValue + "+").utf8)
        if digits.prefix(name.count).map(\.lowercasedASCII) == name { digits = digits.dropFirst(name.count) }
        // Nothing else decodes to the right length, and long texts need not be decoded.
        guard digits.count <= (algorithm.byteCount + 2) / 3 * 4,
            let bytes = Base64.decodeForgiving(
                String(decoding: digits, as: UTF8.self), skippingSpace: false)
        else { return nil }
        self.init(algorithm, bytes: bytes)
    }
}
