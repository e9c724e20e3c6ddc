/// The search for the body of the earlier release that a new one is most similar to.
///
/// Bundlers write hashes into file names, and move code between files. So the bodies decide first, then the names:
/// the same name, the same name without its hash, and the size.
struct Predecessors: Sendable {
    /// A body of one of the releases.
    struct Candidate: Sendable {
        /// The URL or path.
        let name: String
        let byteCount: Int
        let sketch: BodySketch

        init(name: String, byteCount: Int, sketch: BodySketch) {
            (self.name, self.byteCount, self.sketch) = (name, byteCount, sketch)
        }
    }

    private let old: [Candidate]
    private var byName: [String: Int] = [:]
    private var byStem: [String: [Int]] = [:]
    private var byHash: [UInt64: [Int32]] = [:]

    /// Candidates with the same name without hashes, or with the same piece, beyond this number are ignored. A license text is
    /// a piece of every file.
    private static let maxSharing = 200
    /// A pair with fewer equal hashes than this has only little in common by chance, unless its names are alike.
    private static let minEqualHashes = 3
    /// The weight of the same name, and of the same name without hashes, in equal hashes.
    private static let (nameWeight, stemWeight) = (8, 4)

    init(_ old: [Candidate]) {
        self.old = old
        for (index, candidate) in old.enumerated() {
            byName[candidate.name] = index
            byStem[Self.stem(of: candidate.name), default: []].append(index)
            for hash in candidate.sketch.hashes { byHash[hash, default: []].append(Int32(index)) }
        }
    }

    /// The index of the most similar earlier body; nil if none is similar.
    func best(for new: Candidate) -> Int? {
        var scores: [Int: Int] = [:]
        for hash in new.sketch.hashes {
            for index in (byHash[hash] ?? []).prefix(Self.maxSharing) { scores[Int(index), default: 0] += 1 }
        }
        // Not by chance: a few pieces such as a license are equal in many files.
        scores = scores.filter { $0.value >= Self.minEqualHashes }
        for index in (byStem[Self.stem(of: new.name)] ?? []).prefix(Self.maxSharing) {
            scores[index, default: 0] += Self.stemWeight
        }
        if let index = byName[new.name] { scores[index, default: 0] += Self.nameWeight }
        func distance(_ index: Int) -> Int { abs(old[index].byteCount - new.byteCount) }
        return scores.max { one, two in
            (one.value, -distance(one.key), -one.key) < (two.value, -distance(two.key), -two.key)
        }?.key
    }

    // MARK: Names

    /// The name without the parts of the file's name that look like a hash: `js/app.3f2a9c81.js` becomes `js/app.*.js`.
    static func stem(of name: String) -> String {
        let path = Array(name.utf8)
        let fileStart = path.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0
        var stem = path[..<fileStart]
        var part: [UInt8] = []
        func endPart() {
            stem += isHash(part) ? [UInt8(ascii: "*")] : part[...]
            part = []
        }
        for byte in path[fileStart...] {
            if byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_") {
                endPart()
                stem.append(byte)
            } else {
                part.append(byte)
            }
        }
        endPart()
        return String(decoding: stem, as: UTF8.self)
    }

    /// Whether a part of a name looks like a hash: at least 6 letters and digits, with a digit in a place where words and
    /// versions have none.
    private static func isHash(_ part: [UInt8]) -> Bool {
        guard part.count >= 6 else { return false }
        var (digits, changes) = (0, 0)
        var last: Int?
        for byte in part {
            let kind: Int
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): kind = 0
            case UInt8(ascii: "a")...UInt8(ascii: "z"): kind = 1
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): kind = 2
            default: return false
            }
            if kind == 0 { digits += 1 }
            if let last, last != kind { changes += 1 }
            last = kind
        }
        // `es2015` and `Index` are words; `3f2a9c81` and `BkEnr3Yp` are hashes.
        return digits > 0 && changes >= 2 || changes >= 3
    }
}
