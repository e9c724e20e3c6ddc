internal import Web

/// The bytes of a manifest, and its name in error messages.
struct SourceText {
    let bytes: [UInt8]
    let file: String

    /// Returns an error at an offset.
    ///
    /// - Parameter key: the path of the wrong value, such as `bundles[3].md5`; nil if the whole text is
    ///   wrong.
    func error(at offset: Int, key: String? = nil, _ detail: String) -> ManifestError {
        ManifestError(
            file: file, position: TextPosition(of: offset, in: bytes.span), key: key, detail: detail)
    }

    /// Parses the text as JSON.
    func json() throws(ManifestError) -> ManifestNode {
        let limits = JSONLimits(
            depth: ManifestLimits.maxDepth, byteCount: ManifestLimits.maxBytes,
            valueCount: ManifestLimits.maxValues)
        do throws(JSONError) {
            return ManifestNode(try JSONValue.parse(bytes.span, limits: limits), key: "", in: self)
        } catch {
            throw ManifestError(
                file: file, position: error.position,
                detail: "expected \(error.expected), found \(error.found)")
        }
    }

    /// The folder in the file's path; empty if there is none.
    var folderOfFile: Substring { file.lastIndex(of: "/").map { file[..<$0] } ?? "" }
}

extension SourceText {
    /// Parses the text as a manifest. Without a format it is detected: first by the first character (JSON), then by the form
    /// of the first lines (checksums), by names in a script (Workbox), and by the first character again (HTML).
    func manifest(_ format: ManifestFormat?) throws(ManifestError) -> Manifest {
        guard bytes.count <= ManifestLimits.maxBytes else {
            throw error(at: 0, "expected at most \(ManifestLimits.maxBytes) bytes, found \(bytes.count)")
        }
        switch format {
        case .checksums: return try ChecksumList(self).manifest()
        case .workbox: return try WorkboxList(self).manifest()
        case .html: return try PageIntegrities.read(self)
        case let format?: return try json().manifest(format)
        case nil: break
        }
        guard looksLikeJSON else {
            if ChecksumList.isRecognised(bytes) { return try ChecksumList(self).manifest() }
            if WorkboxList.isRecognised(bytes) { return try WorkboxList(self).manifest() }
            if PageIntegrities.isRecognised(bytes) { return try page() }
            throw error(
                at: 0,
                "expected a manifest: JSON, a list of checksums, a service worker with a precache list, or a page with "
                    + "integrity attributes; \(Self.advice)")
        }
        let root = try json()
        guard let format = root.detectedFormat else {
            guard root.value.members != nil else {
                throw root.error(
                    "expected an object or a list of files, found \(root.value.kindName); \(Self.advice)")
            }
            guard root.resemblesLarderManifest else {
                throw root.error(
                    "expected \"bundles\", \"start\" or another manifest format; \(Self.advice)")
            }
            return try root.manifest(.larder)
        }
        return try root.manifest(format)
    }

    /// Parses a page, unless the file name says that an error page was sent in place of the manifest.
    private func page() throws(ManifestError) -> Manifest {
        guard !PageIntegrities.isUnlikelyName(file) else {
            var error = error(
                at: 0,
                "expected a manifest, found an HTML page, such as an error page; if the page is meant, "
                    + "name its format")
            error.likelyFormat = .html
            throw error
        }
        return try PageIntegrities.read(self)
    }

    /// The advice of errors about the format.
    static let advice = "the formats are \(ManifestFormat.names.joined(separator: ", "))"

    private var looksLikeJSON: Bool {
        let hasMark = bytes.starts(with: [0xEF, 0xBB, 0xBF])
        let first = bytes.dropFirst(hasMark ? 3 : 0).first { $0 > 0x20 }
        return first == 0x7B || first == 0x5B
    }
}

extension ManifestNode {
    func manifest(_ format: ManifestFormat) throws(ManifestError) -> Manifest {
        switch format {
        case .larder: try LarderManifest.read(self)
        case .weex: try WeexManifest.read(self)
        case .weexBundle: try WeexManifest.readBundleResponse(self)
        case .workbox: try WorkboxList(source).manifest()
        case .cordova: try CordovaManifest.read(self)
        case .cocos: try CocosManifest.read(self)
        case .angular: try AngularManifest.read(self)
        case .webpackAssets: try AssetMap.read(self)
        case .cra: try AssetMap.readCRA(self)
        case .vite: try ViteManifest(self).manifest()
        case .webpackStats: try WebpackStats.read(self)
        case .sprockets: try SprocketsManifest.read(self)
        case .importMap: try ImportMap.read(self)
        case .checksums: try ChecksumList(source).manifest()
        case .html: try PageIntegrities.read(source)
        }
    }
}
