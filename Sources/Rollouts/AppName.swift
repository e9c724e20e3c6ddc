package import Web

/// The name of an app, which is also a part of the addresses of its files.
///
/// The files of a release are stored below `https://NAME.app.invalid/RELEASE/` (`AppURL`).
package struct AppName: Sendable, Hashable {
    package let text: String

    /// Returns nil unless the name has 1 to 40 lower-case letters, digits and hyphens, and no hyphen at its ends.
    package init?(_ text: String) {
        guard Self.isName(text) else { return nil }
        self.text = text
    }

    /// Whether a text can be the name of an app or a channel.
    package static func isName(_ text: String) -> Bool {
        (1...40).contains(text.utf8.count) && text.utf8.first != hyphen && text.utf8.last != hyphen
            && text.utf8.allSatisfy { (0x61...0x7A).contains($0) || $0.isASCIIDigit || $0 == hyphen }
    }

    private static let hyphen = UInt8(ascii: "-")

    /// A name from the name of a folder; nil if that has no letter or digit.
    package init?(folder: String) {
        var name: [UInt8] = []
        for byte in folder.lowercased().utf8 {
            if (0x61...0x7A).contains(byte) || byte.isASCIIDigit {
                name.append(byte)
            } else if let last = name.last, last != Self.hyphen {
                name.append(Self.hyphen)
            }
        }
        name = Array(name.prefix(40))
        if name.last == Self.hyphen { name.removeLast() }
        self.init(String(decoding: name, as: UTF8.self))
    }

    /// The name of the site that has the releases.
    package var site: String { AppURL.site(ofApp: text) }

    /// The beginning of the stored URLs of the app's files.
    package var storedBase: String { AppURL.base(ofApp: text) }

    /// The names of the files that are added to a release.
    package static let (manifestName, archiveName) = (AppURL.manifestName, AppURL.archiveName)

    /// The stored URL of a release's manifest.
    package func manifest(ofRelease release: String) -> String {
        storedBase + release + "/" + Self.manifestName
    }

    /// The stored URL of a release's zip file.
    package func archive(ofRelease release: String) -> String {
        storedBase + release + "/" + Self.archiveName
    }
}

extension Release {
    /// The key of `metadata` with the ID of the release, which is equal for equal files that are signed by the same key.
    package static let idKey = "release"

    /// The ID of the release: the first path segment of its files.
    package var id: String? { metadata[Self.idKey] }

    /// The release with other URLs for its files.
    package func mappingURLs(_ url: (String) -> String) -> Release {
        Release(
            platform: platform, runtimeVersions: runtimeVersions, launch: launch.withURL(url(launch.url)),
            assets: assets.map { $0.withURL(url($0.url)) },
            archive: archive.map { $0.withURL(url($0.url)) }, metadata: metadata)
    }
}

extension Rollout {
    /// A schedule by which the share grows: by a step at equal intervals.
    package struct Ramp: Sendable, Equatable {
        package let step: Share
        package let seconds: Int64

        /// Parses a step and an interval, such as `10%/1d`. The units are `m`, `h` and `d`. Returns nil for any other text, and for
        /// more than 1000 steps.
        package init?(_ text: String) {
            let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            guard parts.count == 2, let step = Share(String(decoding: parts[0], as: UTF8.self)),
                step.hundredths >= 10, let unit = parts[1].last,
                let number = Int64(String(decoding: parts[1].dropLast(), as: UTF8.self)),
                (1...10_000).contains(number)
            else { return nil }
            switch unit {
            case UInt8(ascii: "m"): seconds = number * 60
            case UInt8(ascii: "h"): seconds = number * 3600
            case UInt8(ascii: "d"): seconds = number * 86_400
            default: return nil
            }
            self.step = step
        }

        /// The steps from a share to all devices.
        package func steps(from share: Share, at now: HTTPDate) -> [Step] {
            var steps: [Step] = []
            var hundredths = share.hundredths
            while hundredths < Share.all.hundredths {
                hundredths = min(hundredths + step.hundredths, Share.all.hundredths)
                guard let share = Share(hundredths: hundredths) else { break }
                steps.append(
                    Step(at: now.adding(seconds: seconds * Int64(steps.count + 1)), share: share))
            }
            return steps
        }
    }
}

/// The paths of an update server.
package enum UpdatePaths {
    /// The path that they all begin with.
    package static let prefix = "/-/updates/"

    /// The path of the files of a release, with a slash at its end.
    package static func files(_ app: String, _ release: String) -> String {
        "\(prefix)\(app)/files/\(release)/"
    }
}
