/// How a bundler's loader makes the name of a file from the number of a chunk.
indirect enum ChunkNames {
    case text([UInt8])
    case chunk
    /// `{1: "a", 2: "b"}[chunk]`
    case table([[UInt8]: [UInt8]])
    case sum([ChunkNames])
    /// `first || second`
    case either(ChunkNames, ChunkNames)
    /// `chunk === id ? then : otherwise`
    case choice([UInt8], ChunkNames, ChunkNames)

    /// No name is longer: a few long texts and many chunks must not make much of little.
    static let maximalLength = 1024

    /// The name of a chunk's file; nil when the loader has none for it.
    func name(of chunk: [UInt8]) -> [UInt8]? {
        switch self {
        case .text(let text): return text
        case .chunk: return chunk
        case .table(let table): return table[chunk]
        case .sum(let parts):
            var name: [UInt8] = []
            for part in parts {
                guard let text = part.name(of: chunk), name.count + text.count <= Self.maximalLength else { return nil }
                name.append(contentsOf: text)
            }
            return name
        case .either(let first, let second):
            if let name = first.name(of: chunk), !name.isEmpty { return name }
            return second.name(of: chunk)
        case .choice(let id, let then, let otherwise):
            return (id == chunk ? then : otherwise).name(of: chunk)
        }
    }

    /// Every chunk that is named in it.
    var chunks: Set<[UInt8]> {
        switch self {
        case .text, .chunk: return []
        case .table(let table): return Set(table.keys)
        case .sum(let parts): return parts.reduce(into: []) { $0.formUnion($1.chunks) }
        case .either(let first, let second): return first.chunks.union(second.chunks)
        case .choice(let id, let then, let otherwise):
            return then.chunks.union(otherwise.chunks).union([id])
        }
    }

    /// The text, if it is the same for every chunk.
    var constant: [UInt8]? {
        switch self {
        case .text(let text): return text
        case .sum(let parts):
            var text: [UInt8] = []
            for part in parts {
                guard let constant = part.constant else { return nil }
                text.append(contentsOf: constant)
            }
            return text
        case .chunk, .table, .either, .choice: return nil
        }
    }
}
