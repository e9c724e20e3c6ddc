internal import Web

extension Node {
    /// One of an enumeration's names.
    func choice<Choice: RawRepresentable<String> & CaseIterable>(_: Choice.Type) throws(ManifestError) -> Choice {
        let text = try string()
        if let choice = Choice(rawValue: text) { return choice }
        let names = Choice.allCases.map(\.rawValue)
        let close = Spelling.closest(to: text, among: names).map { ": did you mean \"\($0)\"?" } ?? ""
        throw refuse("expected one of \(names.joined(separator: ", ")), found \"\(Node.short(text))\"\(close)")
    }

    /// What every browser would use, for what people write by hand.
    func integrity() throws(ManifestError) -> Integrity {
        let text = try text()
        let integrity = Integrity(text)
        guard integrity.algorithm != nil, integrity.unusable.isEmpty else {
            throw refuse(
                "expected sha256-, sha384- or sha512- and the digest in base64, "
                    + "found \"\(Node.short(integrity.unusable.first ?? text))\"")
        }
        return integrity
    }

    /// What a tool wrote of another file's integrity. What is malformed is kept, and matches nothing, as in a browser.
    func foreignIntegrity() throws(ManifestError) -> [Claim] {
        guard !value.isNull else { return [] }
        let text = try string()
        return text.isEmpty ? [] : [Claim(Integrity(text))]
    }

    /// A version, which some tools write as a number.
    func version() throws(ManifestError) -> String? {
        if value.isNull { return nil }
        if let number = value.number { return number.text }
        let text = try string()
        return text.isEmpty ? nil : text
    }

    func add(_ bundle: Bundle, to list: inout BundleList) throws(ManifestError) {
        if let refusal = list.merge(bundle) { throw refuse(refusal.detail) }
    }
}
