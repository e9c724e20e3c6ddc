internal import Digest
internal import Web

/// Turns a manifest's JSON into its values; whatever does not belong is refused, with its place.
struct ManifestReader {
    private let file: String
    private let root: JSONValue
    /// Finds an offset's line and column, which is asked only when something is wrong there.
    private let position: (Int) -> TextPosition

    init(_ root: JSONValue, file: String, position: @escaping (Int) -> TextPosition) {
        self.root = root
        self.file = file
        self.position = position
    }

    func manifest() throws(ManifestError) -> Manifest {
        guard root.members != nil else { throw refuse(root, "expected an object, found \(root.kindName)") }
        return root["pages"] == nil ? try ours() : try weex()
    }

    /// `{"site", "start", "bundles": [{"url", "md5", …}]}`
    private func ours() throws(ManifestError) -> Manifest {
        try allow(["site", "start", "bundles"], in: root, advice: "a manifest has \"bundles\", or Weex's \"pages\"")
        var start: [String] = []
        if let list = root["start"] {
            for item in try array(list, "start") { start.append(try string(item, "start")) }
        }
        var list = BundleList()
        guard let items = root["bundles"] else {
            throw refuse(root, "\"bundles\" is missing: a manifest has \"bundles\", or Weex's \"pages\"")
        }
        for item in try array(items, "bundles") {
            let keys = ["url", "size", "required"] + DigestAlgorithm.allCases.map(\.rawValue)
            try allow(keys, in: item, advice: "a bundle has \(keys.joined(separator: ", "))")
            var bundle = Bundle(reference: try reference(item, "url"), digests: try digests(of: item))
            if let size = item["size"] {
                guard let count = size.int, count >= 0 else {
                    throw refuse(size, "\"size\" wants a count of bytes, found \(size.kindName)")
                }
                bundle.byteCount = count
            }
            if let required = item["required"] {
                guard let flag = required.bool else {
                    throw refuse(required, "\"required\" wants true or false, found \(required.kindName)")
                }
                bundle.isRequired = flag
            }
            guard !bundle.digests.isEmpty else {
                throw refuse(item, "the bundle has no digest: give its \"md5\" or \"sha256\"")
            }
            try add(bundle, from: item, to: &list)
        }
        let site = try root["site"].map { (value) throws(ManifestError) in try string(value, "site") }
        return Manifest(site: site, start: start, bundles: list.bundles)
    }

    /// `{"md5", "version", "pages": [{"page", "h5", "js", "md5"}]}`: the outer digest names the configuration and is
    /// no digest of a bundle.
    private func weex() throws(ManifestError) -> Manifest {
        guard let pages = root["pages"] else { throw refuse(root, "\"pages\" is missing") }
        var list = BundleList()
        for page in try array(pages, "pages") {
            let reference = try reference(page, "js")
            // An empty address means that the copy in the app is to be used; there is nothing to fetch or to compare.
            guard !reference.isEmpty else { continue }
            guard let written = page["md5"] else { throw refuse(page, "the page has no \"md5\"") }
            let digest = try digest(.md5, written, "md5")
            try add(Bundle(reference: reference, digests: [digest]), from: page, to: &list)
        }
        return Manifest(site: nil, start: [], bundles: list.bundles)
    }

    private func digests(of item: JSONValue) throws(ManifestError) -> [Digest] {
        var digests: [Digest] = []
        for algorithm in DigestAlgorithm.allCases {
            guard let written = item[algorithm.rawValue] else { continue }
            digests.append(try digest(algorithm, written, algorithm.rawValue))
        }
        return digests
    }

    private func digest(_ algorithm: DigestAlgorithm, _ value: JSONValue, _ key: String) throws(ManifestError) -> Digest
    {
        let hex = try string(value, key)
        guard let digest = Digest(algorithm, hex: hex) else {
            let wanted = algorithm.byteCount * 2
            throw refuse(
                value, "\"\(key)\" wants the \(wanted) hexadecimal digits of \(algorithm.label), found \"\(hex)\"")
        }
        return digest
    }

    /// A reference may stand twice as long as both say the same; the second adds nothing.
    private func add(_ bundle: Bundle, from item: JSONValue, to list: inout BundleList) throws(ManifestError) {
        guard let earlier = list.digests.updateValue(bundle.digests, forKey: bundle.reference) else {
            list.bundles.append(bundle)
            return
        }
        guard earlier == bundle.digests else {
            throw refuse(item, "\(bundle.reference) stands here twice, with different digests")
        }
    }

    private struct BundleList {
        var bundles: [Bundle] = []
        var digests: [String: [Digest]] = [:]
    }

    private func allow(_ keys: [String], in value: JSONValue, advice: String) throws(ManifestError) {
        guard let members = value.members else { throw refuse(value, "expected an object, found \(value.kindName)") }
        for member in members where !keys.contains(member.key) {
            throw refuse(at: member.keyOffset, "unknown key \"\(member.key)\": \(advice)")
        }
    }

    private func array(_ value: JSONValue, _ key: String) throws(ManifestError) -> [JSONValue] {
        guard let array = value.array else { throw refuse(value, "\"\(key)\" wants an array, found \(value.kindName)") }
        return array
    }

    private func string(_ value: JSONValue, _ key: String) throws(ManifestError) -> String {
        guard let string = value.string else {
            throw refuse(value, "\"\(key)\" wants a string, found \(value.kindName)")
        }
        return string
    }

    private func reference(_ item: JSONValue, _ key: String) throws(ManifestError) -> String {
        guard let value = item[key] else { throw refuse(item, "\"\(key)\" is missing") }
        return try string(value, key)
    }

    private func refuse(_ value: JSONValue, _ detail: String) -> ManifestError {
        refuse(at: value.range.lowerBound, detail)
    }

    private func refuse(at offset: Int, _ detail: String) -> ManifestError {
        ManifestError(file: file, position: position(offset), detail: detail)
    }
}
