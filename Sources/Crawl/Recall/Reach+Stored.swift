package import Fetch
internal import Markup
package import Store
internal import Web

extension ResponseFlags {
    package init(_ reach: Reach) {
        self =
            switch reach {
            case .publicNetwork: []
            case .privateNetwork: .fromPrivateNetwork
            case .thisMachine: .fromThisMachine
            }
    }

    /// Of an answer that has just come.
    package init(_ exchange: Exchange) {
        self.init(exchange.reach)
        if exchange.usedCredentials { insert(.isPrivate) }
    }

    package var reach: Reach {
        if contains(.fromThisMachine) { return .thisMachine }
        return contains(.fromPrivateNetwork) ? .privateNetwork : .publicNetwork
    }
}

extension ResponseFlags {
    /// In whose name it was asked for.
    init(_ result: FetchResult) {
        self = []
        if result.sentFields.contains("Origin") { insert(.askedByOrigin) }
        if result.exchange?.usedCredentials == true { insert(.isPrivate) }
    }
}

extension StoredBody {
    /// Nil for one of which this larder knows nothing.
    var format: BodyFormat? { BodyFormat(form: form) }
}

extension PartialBody {
    init(_ part: HeldPart) {
        self.init(path: part.path, byteCount: part.byteCount, fields: HTTPFields(block: part.fields.utf8.span))
    }
}

extension ResponseFlags {
    init(_ directives: PageDirectives) {
        self = []
        if directives.contains(.nofollow) { insert(.saysNofollow) }
        if directives.contains(.noindex) { insert(.saysNoindex) }
    }
}
