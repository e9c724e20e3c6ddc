package import Fetch
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
