package import Digest
package import Web

/// The list of files in a folder that `npx expo export` has written: its `metadata.json`.
///
///     let export = try ExpoExport(bytes)
///     let release = export.release(for: .ios, runtimeVersions: ["1.0"]) { path in digests[path] }
package struct ExpoExport: Sendable, Equatable {
    /// The files of one platform. The paths are relative to the folder.
    package struct Files: Sendable, Equatable {
        /// The file with the code.
        package let launch: String
        package let assets: [Asset]

        /// All paths, without repetition, that of the code first.
        package var paths: [String] {
            var known: Set<String> = []
            return ([launch] + assets.map(\.path)).filter { known.insert($0).inserted }
        }
    }

    package struct Asset: Sendable, Equatable {
        package let path: String
        /// The file name extension without its point, which the path does not have.
        package let fileExtension: String
    }

    /// The digests, the URL and the media type of a file.
    package struct Content: Sendable {
        package let sha256: Digest
        /// The name by which the app's code refers to an asset: the MD5 in hexadecimal digits.
        package let md5: String
        package let url: String
        package let mediaType: String

        package init(sha256: Digest, md5: String, url: String, mediaType: String) {
            (self.sha256, self.md5, self.url, self.mediaType) = (sha256, md5, url, mediaType)
        }
    }

    /// The file name extensions of assets, by their paths.
    private let fileExtensions: [String: String]
    /// The files by platform. Other platforms than those of Expo's protocol, such as the web, are left out.
    package let files: [Release.Platform: Files]

    /// The name of the list in the folder.
    package static let fileName = "metadata.json"
    /// The name of the app's public configuration, which `npx expo config --type public --json` writes. `npx expo export` does not
    /// add it.
    package static let configurationName = "expoConfig.json"
    /// The maximum size of the list, and of the configuration.
    package static let maxBytes = 16 * 1024 * 1024
    /// The maximum number of files of a platform.
    private static let maxFiles = 100_000

    package init(_ bytes: [UInt8]) throws(ExpoExportError) {
        guard bytes.count <= Self.maxBytes else { throw .tooLarge }
        guard let json = try? JSONValue.parse(bytes.span) else { throw .noJSON }
        guard json["version"]?.number?.int == 0, let platforms = json["fileMetadata"]?.members else {
            throw .unknownVersion
        }
        var files: [Release.Platform: Files] = [:]
        for member in platforms {
            guard let platform = Release.Platform(expo: member.key) else { continue }
            files[platform] = try Self.files(member.value, of: member.key)
        }
        guard !files.isEmpty else { throw .noPlatform }
        self.files = files
        fileExtensions = Dictionary(
            files.values.flatMap(\.assets).map { ($0.path, $0.fileExtension) },
            uniquingKeysWith: { first, _ in first })
    }

    /// The file name extension of an asset, without its point; nil if the path is not that of an asset.
    package func fileExtension(of path: String) -> String? { fileExtensions[path] }

    /// Parses the configuration of the app; nil if it is not a JSON object.
    package static func configuration(_ bytes: [UInt8]) -> JSONValue? {
        guard bytes.count <= maxBytes, let json = try? JSONValue.parse(bytes.span), json.members != nil else {
            return nil
        }
        return json
    }

    private static func files(_ json: JSONValue, of platform: String) throws(ExpoExportError) -> Files {
        guard let launch = json["bundle"]?.string, let list = json["assets"]?.array, list.count < maxFiles
        else {
            throw .malformed(platform)
        }
        var assets: [Asset] = []
        for element in list {
            guard let path = element["path"]?.string, let fileExtension = element["ext"]?.string else {
                throw .malformed(platform)
            }
            assets.append(Asset(path: try checkPath(path), fileExtension: fileExtension))
        }
        return Files(launch: try checkPath(launch), assets: assets)
    }

    /// Returns the path. Throws unless it stays in the folder.
    private static func checkPath(_ path: String) throws(ExpoExportError) -> String {
        let parts = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        let isInside = parts.allSatisfy { part in
            !part.isEmpty && !part.elementsEqual(".".utf8) && !part.elementsEqual("..".utf8)
                && part.allSatisfy { $0 >= 0x20 && $0 != 0x5C }
        }
        guard isInside else { throw .unsafePath(path) }
        return path
    }

    /// Returns the release of a platform.
    ///
    /// - Parameter content: describes the file with a path; nil if it does not exist.
    /// - Throws: `ExpoExportError` if the folder has no such platform, or a file does not exist.
    package func release(
        for platform: Release.Platform, runtimeVersions: Set<String>, metadata: [String: String] = [:],
        _ content: (String) -> Content?
    ) throws(ExpoExportError) -> Release {
        guard let files = files[platform] else { throw .noPlatform }
        func file(_ path: String, _ fileExtension: String) throws(ExpoExportError) -> ReleaseFile {
            guard let content = content(path),
                let file = ReleaseFile(
                    key: content.md5, url: content.url, sha256: content.sha256, mediaType: content.mediaType,
                    fileExtension: "." + fileExtension)
            else { throw .missing(path) }
            return file
        }
        let launch = try file(files.launch, "bundle")
        var assets: [ReleaseFile] = []
        for asset in files.assets { assets.append(try file(asset.path, asset.fileExtension)) }
        return Release(
            platform: platform, runtimeVersions: runtimeVersions, launch: launch, assets: assets,
            metadata: metadata)
    }
}

/// Why the output of `npx expo export` cannot be published, with what to do.
package enum ExpoExportError: Error, Sendable, Equatable, CustomStringConvertible {
    case tooLarge
    case noJSON
    case unknownVersion
    case noPlatform
    case malformed(String)
    case unsafePath(String)
    case missing(String)
    case noConfiguration

    package var description: String {
        switch self {
        case .tooLarge:
            "\(ExpoExport.fileName) is larger than \(ExpoExport.maxBytes) bytes; export the app again"
        case .noJSON: "\(ExpoExport.fileName) is not JSON; export the app again"
        case .unknownVersion:
            "\(ExpoExport.fileName) is not of version 0; export the app with: npx expo export"
        case .noPlatform:
            "\(ExpoExport.fileName) has no files for this platform; export the app for all platforms"
        case .malformed(let platform):
            "\(ExpoExport.fileName) has no \"bundle\" and \"assets\" for \(platform); export the app again"
        case .unsafePath(let path):
            "\(ExpoExport.fileName) names \"\(path)\", which is not in the folder; export the app again"
        case .missing(let path):
            "\(path) does not exist, but \(ExpoExport.fileName) names it; export the app again"
        case .noConfiguration:
            "\(ExpoExport.configurationName) is not a JSON object; write it again with: npx expo config"
        }
    }
}
