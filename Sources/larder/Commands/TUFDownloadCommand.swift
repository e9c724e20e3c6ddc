internal import LarderKit
internal import Reports

/// `larder tuf download`: updates the trusted metadata of a TUF repository, and downloads targets.
///
/// Exit status 0: done. 1: metadata or a target is not trusted, or is unknown. 2: a wrong option, or no trusted root. 3: the
/// network or this machine failed.
enum TUFDownloadCommand {
    static func run(_ arguments: Arguments, _ terminal: Terminal) async throws -> ExitStatus {
        guard arguments.operands.count == 1 else {
            throw UsageError(
                "tuf download accepts no argument; name targets with \(Option.tufTarget.name) NAME")
        }
        guard let url = arguments.text(.tufMetadata), let folder = arguments.text(.tufMetadataFolder) else {
            throw UsageError(
                "tuf download needs a repository and a folder for its metadata; name them with "
                    + "\(Option.tufMetadata.name) URL and \(Option.tufMetadataFolder.name) DIR")
        }
        var download = TUFDownload(from: url, metadataFolder: folder)
        download.trustedRoot = arguments.text(.trustedRoot)
        download.targets = arguments.texts(.tufTarget)
        download.targetURL = arguments.text(.tufTargets)
        download.targetFolder = arguments.text(.tufTargetFolder) ?? download.targetFolder
        download.network = try arguments.networkOptions()
        let report = try await download.run()
        terminal.report(arguments.has(.json) ? report.json : text(of: report))
        return .done
    }

    private static func text(of report: TUFDownloadReport) -> String {
        var lines = report.files.map {
            "\($0.isReused ? "current   " : "downloaded") \($0.path) (\(Wording.bytes($0.byteCount)), verified)"
        }
        lines.append(
            "\(report.metadata): root \(report.rootVersion), snapshot \(report.snapshotVersion), valid until "
                + report.expiresDate)
        return lines.joined(separator: "\n")
    }
}

extension Option {
    static let tufMetadata = Option(
        name: "--metadata-url", placeholder: "URL",
        help: "URL of the repository's metadata, such as https://example.com/metadata/",
        brief: "URL of the repository's metadata", isCommandLineOnly: true)
    static let tufMetadataFolder = Option(
        name: "--metadata-dir", placeholder: "DIR",
        help: "Folder of the trusted metadata, which every download continues from",
        brief: "Folder of the trusted metadata", isCommandLineOnly: true)
    static let trustedRoot = Option(
        name: "--trust", placeholder: "FILE",
        help: "Trusted root.json from the publisher, for a metadata folder that has none yet",
        brief: "Trusted root.json, for the first download", isCommandLineOnly: true)
    static let tufTarget = Option(
        name: "--target", placeholder: "NAME",
        help: "Download this target; its name is a path in the repository",
        brief: "Download this target", isRepeatable: true, isCommandLineOnly: true)
    static let tufTargets = Option(
        name: "--target-base-url", placeholder: "URL", help: "URL of the repository's targets",
        defaultValue: "../targets/ beside the metadata", isCommandLineOnly: true)
    static let tufTargetFolder = Option(
        name: "--target-dir", placeholder: "DIR", help: "Folder for the downloaded targets",
        defaultValue: "the current folder", isCommandLineOnly: true)
    /// The options of `larder tuf download`.
    static let tufDownload: [Option] =
        [.tufMetadata, .tufMetadataFolder, .trustedRoot, .tufTarget, .tufTargets, .tufTargetFolder]
        + networkOptions
}
