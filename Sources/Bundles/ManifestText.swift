internal import Web

/// The bytes of a manifest, and its name in error messages.
struct ManifestText {
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

    /// Parses the text, or a part of it, as JSON.
    func json(in range: Range<Int>? = nil) throws(ManifestError) -> ManifestNode {
        let limits = JSONLimits(
            depth: ManifestLimits.maxDepth, byteCount: ManifestLimits.maxBytes,
            valueCount: ManifestLimits.maxValues)
        let text = range.map { excerpt($0) } ?? bytes
        do throws(JSONError) {
            return ManifestNode(try JSONValue.parse(text.span, limits: limits), key: "", in: self)
        } catch {
            throw ManifestError(
                file: file, position: error.position,
                detail: "expected \(error.expected), found \(error.found)")
        }
    }

    /// The bytes of a range, after blanks in place of all bytes before it, so that positions stay the same.
    private func excerpt(_ range: Range<Int>) -> [UInt8] {
        bytes[..<range.lowerBound].map { $0 == 0x0A || $0 == 0x0D ? $0 : 0x20 } + bytes[range]
    }

    /// The offsets after each occurrence of a text, at most `limit` of them.
    static func offsets(of marker: String, in bytes: [UInt8], atMost limit: Int) -> [Int] {
        let marker = Array(marker.utf8)
        return bytes.withUnsafeBufferPointer { bytes in
            marker.withUnsafeBufferPointer { marker in
                var offsets: [Int] = []
                var at = 0
                while at + marker.count <= bytes.count, offsets.count < limit {
                    if bytes[at] == marker[0], marker.indices.allSatisfy({ bytes[at + $0] == marker[$0] }) {
                        offsets.append(at + marker.count)
                        at += marker.count
                    } else {
                        at += 1
                    }
                }
                return offsets
            }
        }
    }

    /// The folder in the file's path; empty if there is none.
    var folderOfFile: Substring { file.lastIndex(of: "/").map { file[..<$0] } ?? "" }
}

extension ManifestText {
    /// Parses the text as a manifest. Without a format it is detected: first by the first character (JSON), then by the form
    /// of the first lines (checksums, parts of a response), by names in a script (Workbox, Blazor, Flutter), and by the
    /// first character again (HTML).
    func manifest(_ format: ManifestFormat?) throws(ManifestError) -> Manifest {
        guard bytes.count <= ManifestLimits.maxBytes else {
            throw error(at: 0, "expected at most \(ManifestLimits.maxBytes) bytes, found \(bytes.count)")
        }
        switch format {
        case .checksums: return try ChecksumList(self).manifest()
        case .workbox: return try WorkboxList(self).manifest()
        case .html: return try PageIntegrities.read(self)
        case .flutter: return try FlutterWorker(self).manifest()
        case .waict: return try WAICTManifest.read(self)
        case .blazor where !looksLikeJSON: return try BlazorBoot.read(script: self)
        case .expo where !looksLikeJSON: return try ExpoManifest.read(multipart: self)
        case let format?: return try json().manifest(format)
        case nil: break
        }
        guard looksLikeJSON else {
            // First, because a part of it could look like another format, and a signature covers only the manifest.
            if ExpoParts.isRecognised(bytes) { return try ExpoManifest.read(multipart: self) }
            if ChecksumList.isRecognised(bytes) { return try ChecksumList(self).manifest() }
            if WorkboxList.isRecognised(bytes) { return try WorkboxList(self).manifest() }
            if BlazorBoot.isRecognised(self) { return try BlazorBoot.read(script: self) }
            if PageIntegrities.isRecognised(bytes) { return try page() }
            if FlutterWorker.hasName(file) || FlutterWorker.isRecognised(bytes) {
                return try FlutterWorker(self).manifest()
            }
            throw noManifestError
        }
        if let end = WAICTManifest.proofStart(in: bytes) {
            let root = try json(in: 0..<end)
            if root.detectedFormat == .waict { return try WAICTManifest.read(root) }
        }
        let root = try json()
        guard let format = root.detectedFormat else {
            guard root.value.members != nil else {
                throw root.error(
                    "expected an object or a list of files, found \(root.value.kindName); \(Self.advice)")
            }
            if let members = root.value.members, members.map(\.key) == ["version"] {
                throw root.error(
                    "expected files with digests, found only a version, as in SvelteKit's version.json, which has no "
                        + "digests; write them with: larder manifest FOLDER")
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

    private var noManifestError: ManifestError {
        // SvelteKit's service worker has lists of paths, whose variables have any name after minification.
        guard Self.offsets(of: "/_app/immutable/", in: bytes, atMost: 1).isEmpty else {
            return error(
                at: 0,
                "expected a manifest, found a script of SvelteKit, which has no digests; write them with: larder "
                    + "manifest FOLDER")
        }
        return error(
            at: 0,
            "expected a manifest: JSON, a list of checksums, a service worker with a list of files, or a page with "
                + "integrity attributes; \(Self.advice)")
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
        case .flutter: try FlutterWorker(source).manifest()
        case .blazor: try BlazorBoot.read(self)
        case .expo: try ExpoManifest.read(self)
        case .waict: try WAICTManifest.read(self)
        case .next: try NextManifest.read(self)
        }
    }
}
