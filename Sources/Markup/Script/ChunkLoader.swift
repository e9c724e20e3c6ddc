/// What a bundle's loader is made of, gathered while the bundle is scanned: where its files lie and how they are named.
struct ChunkLoader {
    /// Where the files of the bundle are loaded from.
    enum PublicPath {
        case unknown
        case written([UInt8])
        /// Found at run time from the script's own address, and from there as far up as the text says.
        case script([UInt8])
    }

    private enum Limit {
        static let names = 4096
        static let calls = 65_536
        static let links = 65_536
        /// Loaders whose chunks may come from calls alone.
        static let callers = 16
    }

    var publicPath = PublicPath.unknown
    private var names: [ChunkNames] = []
    /// The chunks that have a stylesheet.
    var styled: Set<[UInt8]> = []
    /// Chunks that are asked for by their number.
    private var calls: Set<[UInt8]> = []

    mutating func add(_ name: ChunkNames) {
        if names.count < Limit.names { names.append(name) }
    }

    mutating func add(call chunk: [UInt8]) {
        if calls.count < Limit.calls { calls.insert(chunk) }
    }

    /// The files that the loader can ask for.
    func links() -> [ImpliedLink] {
        var links: Set<ImpliedLink> = []
        var callers = 0
        for names in names {
            if let constant = names.constant {
                if let link = link(constant) { links.insert(link) }
                continue
            }
            let chunks = names.chunks
            if chunks.isEmpty {
                for chunk in styled where links.count < Limit.links {
                    if let name = names.name(of: chunk), let link = link(name), link.kind == .style {
                        links.insert(link)
                    }
                }
            }
            for chunk in chunks where links.count < Limit.links {
                if let name = names.name(of: chunk), let link = link(name) { links.insert(link) }
            }
            callers += 1
            guard callers <= Limit.callers else { continue }
            // Chunks without a name or a hash of their own: only the calls tell them.
            for chunk in calls where links.count < Limit.links && !chunks.contains(chunk) {
                guard let name = names.name(of: chunk), let link = link(name), link.kind != .style else { continue }
                links.insert(ImpliedLink(link.reference, link.kind, .isGuess, from: link.base))
            }
        }
        return links.sorted { $0.reference < $1.reference }
    }

    private func link(_ name: [UInt8]) -> ImpliedLink? {
        // A template without a value, or the hash of no content at all: there is no such file.
        let text = String(decoding: name, as: UTF8.self)
        guard !name.contains(where: \.isSpace), !text.contains("31d6cfe0d16ae931"), !text.contains("undefined"),
            let kind = name.withUnsafeBufferPointer({ ScriptScanner.kind(ofFile: $0) })
        else { return nil }
        switch publicPath {
        case .script(let up):
            return ImpliedLink(String(decoding: up, as: UTF8.self) + text, kind)
        case .written(let path):
            let prefix = String(decoding: path, as: UTF8.self)
            switch path.withUnsafeBufferPointer({ ScriptAddress($0) }) {
            case .absolute, .rooted: return ImpliedLink(prefix + text, kind)
            // Relative to the page, which the script does not know; it is hardly ever somewhere else than the build.
            case .dotted: return ImpliedLink(prefix + text, kind, .isGuess, from: .build)
            case .bare: break
            }
            let isPlaceholder = path.contains {
                $0 == UInt8(ascii: "{") || $0 == UInt8(ascii: "<") || $0 == UInt8(ascii: "%")
            }
            return ImpliedLink(isPlaceholder ? text : prefix + text, kind, .isGuess, from: .build)
        case .unknown:
            return ImpliedLink(text, kind, .isGuess, from: .build)
        }
    }
}
