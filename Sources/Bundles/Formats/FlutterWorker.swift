internal import Digest
internal import Web

/// Flutter's `flutter_service_worker.js`, whose constant `RESOURCES` maps the files of a build to their MD5.
///
/// The keys are URLs relative to the worker, percent-encoded and possibly with a query. The key `/` stands for the
/// start page. Newer versions of Flutter write a worker that only removes earlier ones and lists no files.
struct FlutterWorker {
    private let source: ManifestText

    init(_ source: ManifestText) {
        self.source = source
    }

    func manifest() throws(ManifestError) -> Manifest {
        guard let start = Self.tableStart(in: source.bytes) else { throw noTableError }
        var parser = ScriptLiteralParser(source, at: start)
        guard case .object(let members) = try parser.parseLiteral().content else { throw noTableError }
        guard !members.isEmpty else {
            throw source.error(at: start, key: Self.name, "expected files with their MD5, found none")
        }
        var list = BundleList()
        for (path, value) in members {
            let key = "\(Self.name)[\"\(ManifestNode.abbreviate(path))\"]"
            guard let digest = value.text.flatMap({ Digest(.md5, hex: $0) }) else {
                let found = value.text.map { "\"\(ManifestNode.abbreviate($0))\"" } ?? "no string"
                throw source.error(
                    at: value.offset, key: key,
                    "expected the 32 hexadecimal digits of MD5, found \(found)")
            }
            // Early versions wrote all paths with a slash at the start. The files are in the folder of the worker, which
            // may be a subfolder of its origin.
            let reference = path.utf8.first == 0x2F ? ".\(path)" : path
            let bundle = Bundle(reference: reference, digests: [digest], isRequired: !path.isSourceMap)
            if let refusal = list.merge(bundle) {
                throw source.error(at: value.offset, key: key, refusal.detail)
            }
        }
        return Manifest(.flutter, bundles: list.bundles)
    }

    /// Whether a script has a `RESOURCES` table with an MD5, or uses the caches of Flutter's workers.
    static func isRecognised(_ bytes: [UInt8]) -> Bool {
        if !ManifestText.offsets(of: cacheName, in: bytes, atMost: 1).isEmpty { return true }
        guard let start = tableStart(in: bytes) else { return false }
        var parser = ScriptLiteralParser(ManifestText(bytes: bytes, file: ""), at: start)
        guard case .object(let members)? = try? parser.parseLiteral().content else { return false }
        return members.contains { $0.value.text.flatMap { Digest(.md5, hex: $0) } != nil }
    }

    /// Whether the file has the name of Flutter's worker, which may be empty.
    static func hasName(_ file: String) -> Bool {
        let path = file.utf8.prefix { $0 != 0x3F && $0 != 0x23 }
        return path.split(separator: 0x2F).last?.elementsEqual("flutter_service_worker.js".utf8) ?? false
    }

    private static let name = "RESOURCES"
    private static let cacheName = "flutter-app-cache"

    /// The offset of the object that is assigned to `RESOURCES`; nil if there is none.
    private static func tableStart(in bytes: [UInt8]) -> Int? {
        for end in ManifestText.offsets(of: name, in: bytes, atMost: .max) {
            let before = end - name.utf8.count - 1
            guard before < 0 || bytes[before] <= 0x20 || bytes[before] == 0x3B || bytes[before] == 0x2C else {
                continue
            }
            var at = end
            while at < bytes.count, bytes[at] <= 0x20 { at += 1 }
            guard at < bytes.count, bytes[at] == 0x3D else { continue }
            at += 1
            while at < bytes.count, bytes[at] <= 0x20 { at += 1 }
            if at < bytes.count, bytes[at] == 0x7B { return at }
        }
        return nil
    }

    private var noTableError: ManifestError {
        let found =
            ManifestText.offsets(of: "unregister", in: source.bytes, atMost: 1).isEmpty
            ? "none" : "a service worker that only removes earlier ones"
        return source.error(
            at: 0,
            "expected the table RESOURCES, found \(found): this version of Flutter, or its option for the service "
                + "worker, writes no digests; write them with: larder manifest FOLDER")
    }
}
