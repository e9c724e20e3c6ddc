/// A response with those parts of its request that a signature can cover (RFC 9421, section 2).
package struct SignedMessage: Sendable {
    /// The method of the request.
    package let method: String
    /// The URL of the request that the response answers, after redirects.
    package let url: WebURL
    package let status: Int
    /// The header fields of the response. Those of the request are not known.
    package let fields: HTTPFields

    package init(method: String = "GET", url: WebURL, status: Int, fields: HTTPFields) {
        (self.method, self.url, self.status, self.fields) = (method, url, status, fields)
    }
}

/// A signature of a response, as its header fields `Signature-Input` and `Signature` state it (RFC 9421). This value
/// makes the signed bytes. It does not verify the signature.
package struct MessageSignature: Sendable, Equatable {
    /// A part of the message that the signature covers, such as `"unencoded-digest";sf`.
    package struct Component: Sendable, Equatable {
        /// The name of a field in lower case, or of a derived component, such as `@path`.
        package let name: String
        package let parameters: [StructuredDictionary.Parameter]

        /// The identifier in canonical form, with its parameters.
        package var identifier: String {
            StructuredDictionary.Item.string(name).text + StructuredDictionary.Member.text(of: parameters)
        }

        /// Whether the component has this parameter, with the value true.
        package func has(_ key: String) -> Bool {
            parameters.contains { $0.key == key && $0.value == .boolean(true) }
        }

        /// Whether it has exactly these parameters, all with the value true.
        package func hasOnly(_ keys: String...) -> Bool {
            parameters.count == keys.count && keys.allSatisfy(has)
        }

        /// Whether the component is derived from the message, and not a header field.
        package var isDerived: Bool { name.utf8.first == UInt8(ascii: "@") }
    }

    /// The key in both dictionaries.
    package let label: String
    package let components: [Component]
    package let signature: [UInt8]
    /// The member of `Signature-Input`.
    private let input: StructuredDictionary.Member

    /// The parameters of the signature, such as `keyid` and `expires`, in order.
    package var parameters: [StructuredDictionary.Parameter] { input.parameters }

    package subscript(parameter key: String) -> StructuredDictionary.Item? {
        parameters.first { $0.key == key }?.value
    }

    /// The reason why a signature cannot be used, in words that follow "the signature".
    package struct Unusable: Error, Equatable {
        package let reason: String

        package init(_ reason: String) { self.reason = reason }
    }

    /// Returns the signatures of a response, in the order of `Signature`. A label that only one of the two fields contains is
    /// ignored, and so is a signature that is not a byte sequence or whose components are not an inner list of
    /// strings. Empty if one of the fields is malformed.
    package static func list(from fields: HTTPFields) -> [MessageSignature] {
        guard let signatures = fields.joinedValues("Signature").flatMap({ StructuredDictionary($0) }),
            let inputs = fields.joinedValues("Signature-Input").flatMap({ StructuredDictionary($0) })
        else { return [] }
        let members = Dictionary(inputs.members.map { ($0.key, $0) }, uniquingKeysWith: { $1 })
        return signatures.members.compactMap { signature in
            members[signature.key].flatMap { MessageSignature(signature, $0) }
        }
    }

    private init?(_ signature: StructuredDictionary.Member, _ input: StructuredDictionary.Member) {
        guard case .item(.bytes(let bytes)) = signature.value, signature.parameters.isEmpty,
            case .list(let items) = input.value
        else { return nil }
        var components: [Component] = []
        for (item, parameters) in zip(items, input.listParameters) {
            guard case .string(let name) = item else { return nil }
            components.append(Component(name: name, parameters: parameters))
        }
        label = signature.key
        self.signature = bytes
        self.components = components
        self.input = input
    }

    /// Returns the bytes that are signed (RFC 9421, section 2.5): one line for each component, and one with the names of all
    /// components and the parameters of the signature.
    ///
    /// - Throws: `Unusable` if a component is repeated, not supported, or not in the message.
    package func base(of message: SignedMessage) throws(Unusable) -> [UInt8] {
        var lines: [String] = []
        var identifiers: Set<String> = []
        for component in components {
            // Step 2.1: no component may be covered twice. The order of its parameters makes no difference.
            let sorted = component.parameters.sorted { $0.key < $1.key }
            let identity = Component(name: component.name, parameters: sorted).identifier
            guard identifiers.insert(identity).inserted else {
                throw Unusable("covers \(component.identifier) twice")
            }
            lines.append("\(component.identifier): \(try component.value(in: message))")
        }
        lines.append("\"@signature-params\": \(input.valueText)")
        let bytes = Array(lines.joined(separator: "\n").utf8)
        // Step 4. A line end inside a value could add a line that was not signed.
        guard bytes.allSatisfy({ $0 < 0x80 && $0 != 0x0D }),
            bytes.count(where: { $0 == 0x0A }) == components.count
        else { throw Unusable("covers a value that is not ASCII text") }
        return bytes
    }
}

extension MessageSignature.Component {
    private typealias Unusable = MessageSignature.Unusable

    /// The canonical value of the component (RFC 9421, sections 2.1 and 2.2).
    fileprivate func value(in message: SignedMessage) throws(MessageSignature.Unusable) -> String {
        isDerived ? try derivedValue(in: message) : try fieldValue(in: message)
    }

    private func fieldValue(in message: SignedMessage) throws(MessageSignature.Unusable) -> String {
        guard !has("req") else { throw Unusable("covers \(identifier), a field of the request") }
        let lines = message.fields.all(name).map(Self.unfold)
        guard !lines.isEmpty else { throw Unusable("covers \(identifier), which the response lacks") }
        let joined = lines.joined(separator: ", ")
        if parameters.isEmpty { return joined }
        // Section 2.1.3: each line by itself, for fields whose values may contain commas.
        if hasOnly("bs") {
            return lines.map { StructuredDictionary.Item.bytes(Array($0.utf8)).text }.joined(separator: ", ")
        }
        guard hasOnly("sf") else {
            throw Unusable("covers \(identifier), whose parameters are not supported")
        }
        // Section 2.1.1: a field has a canonical form only if its type is known.
        guard Self.dictionaryFields.contains(name) else {
            throw Unusable("covers \(identifier), whose structure is not known")
        }
        guard let dictionary = StructuredDictionary(joined) else {
            throw Unusable("covers \(identifier), which is malformed")
        }
        return dictionary.text
    }

    /// Fields that are structured dictionaries.
    private static let dictionaryFields: Set<String> = [
        "unencoded-digest", "repr-digest", "content-digest", "signature", "signature-input",
    ]

    /// The value of a line without the spaces around it, and with each fold as one space.
    private static func unfold(_ value: String) -> String {
        var bytes: [UInt8] = []
        for byte in HTTPGrammar.trimmed(Array(value.utf8)) {
            guard byte == 0x0D || byte == 0x0A else {
                bytes.append(byte)
                continue
            }
            while let last = bytes.last, HTTPGrammar.isAnySpace(last) { bytes.removeLast() }
            bytes.append(0x20)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private func derivedValue(in message: SignedMessage) throws(MessageSignature.Unusable) -> String {
        if name == "@status" {
            guard parameters.isEmpty else {
                throw Unusable("covers \(identifier), whose parameters are wrong")
            }
            return String(message.status)
        }
        // Section 2.4: the other components belong to the request of this response.
        guard name == "@query-param" ? has("req") && parameters.count == 2 : hasOnly("req") else {
            throw Unusable("covers \(identifier), whose parameters are wrong")
        }
        let url = message.url
        switch name {
        case "@method": return message.method
        case "@authority": return url.port.map { "\(url.host):\($0)" } ?? url.host
        case "@scheme": return url.scheme
        case "@target-uri": return url.key.href
        case "@request-target": return url.target
        case "@path": return url.path
        case "@query": return "?" + (url.query ?? "")
        case "@query-param": return try queryParameter(of: url)
        default: throw Unusable("covers \(identifier), which is not known")
        }
    }

    /// The value of the query parameter in `name`, encoded again as section 2.2.8 says.
    private func queryParameter(of url: WebURL) throws(MessageSignature.Unusable) -> String {
        guard case .string(let wanted)? = parameters.first(where: { $0.key == "name" })?.value else {
            throw Unusable("covers \(identifier), whose parameters are wrong")
        }
        var values: [String] = []
        for pair in (url.query ?? "").utf8.split(separator: UInt8(ascii: "&")) {
            let parts = pair.split(
                separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard Self.reencode(parts[0]) == wanted else { continue }
            values.append(parts.count > 1 ? Self.reencode(parts[1]) : "")
        }
        // A parameter that occurs several times has no one value.
        guard values.count == 1 else {
            throw Unusable("covers \(identifier), which the URL lacks or repeats")
        }
        return values[0]
    }

    /// Decodes a part of a query like a form, and percent-encodes everything but the unreserved characters.
    private static func reencode(_ part: Substring.UTF8View) -> String {
        let bytes = part.map { $0 == UInt8(ascii: "+") ? 0x20 : $0 }
        var encoded: [UInt8] = []
        for byte in [UInt8](percentDecoding: bytes.span) {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: encoded.append(byte)
            default: encoded.appendPercentEncoded(byte)
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }
}
