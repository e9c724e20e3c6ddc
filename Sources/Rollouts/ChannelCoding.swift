internal import Digest
package import Web

// The state of a channel as JSON, so that a server continues after a restart with the same decisions. A state in which a
// member is missing or malformed is rejected as a whole: half a channel could announce the wrong release.

extension Channel: JSONObject {
    package var members: JSONMembers { ["format": 1, "name": name, "rollouts": rollouts] }

    /// The state as a text for the store.
    package var storedText: String { members.text(.compact) }

    /// The size of the text beyond which the oldest roll-outs are removed: servers read it again after each change.
    private static let usualStoredBytes = 16 << 20
    /// The maximum size of the text, which is less than the parser reads.
    private static let maxStoredBytes = 48 << 20

    /// Removes the oldest roll-outs until the state has the usual size, and returns it as a text for the store. Those of the last
    /// two commands stay. Returns nil if these are too large.
    ///
    /// A release of Expo lists its files in the state, so that 200 of them may be too large to be read again.
    package mutating func shrunkText(
        usualBytes: Int = Channel.usualStoredBytes, maxBytes: Int = Channel.maxStoredBytes
    ) -> String? {
        var text = storedText
        while text.utf8.count > usualBytes, removeOldest() { text = storedText }
        return text.utf8.count <= maxBytes ? text : nil
    }

    /// Reads a text from the store; nil if it is damaged or of a later version of Larder.
    package init?(storedText: String) {
        guard let json = try? JSONValue.parse(storedText.utf8.span) else { return nil }
        self.init(json)
    }

    /// Reads a state; nil if it is damaged or of a later version of Larder.
    package init?(_ json: JSONValue) {
        guard json["format"]?.number?.int == 1, let name = json["name"]?.string,
            let rollouts = json["rollouts"]?.array?.allOrNil({ Rollout($0) }),
            zip(rollouts, rollouts.dropFirst()).allSatisfy({ $0.date < $1.date }),
            Set(rollouts.map(\.id)).count == rollouts.count
        else { return nil }
        self.init(name, rollouts)
    }
}

extension Rollout: JSONObject {
    /// The member `order` has the number of the command: stored states have it under this name.
    package var members: JSONMembers {
        [
            "id": id, "date": date.iso8601, "content": content, "share": share.description,
            "order": commandNumber, "ramp": IfAny(ramp),
            "allowedDevices": IfAny(allowedDevices.sorted()), "haltRule": IfAny(haltRule),
            "halt": IfAny(halt),
        ]
    }

    init?(_ json: JSONValue) {
        guard let id = json["id"]?.string, let date = json["date"]?.string.flatMap({ HTTPDate(rfc3339: $0) }),
            let content = json["content"].flatMap({ Content($0) }),
            let share = json["share"]?.string.flatMap({ Share($0) }),
            let commandNumber = json["order"]?.number?.int,
            let ramp = (json["ramp"]?.array ?? []).allOrNil({ Step($0) }),
            let devices = (json["allowedDevices"]?.array ?? []).allOrNil(\.string)
        else { return nil }
        var haltRule: HaltRule?
        if let value = json["haltRule"] {
            guard let rule = HaltRule(value) else { return nil }
            haltRule = rule
        }
        var halt: Halt?
        if let value = json["halt"] {
            guard let known = Halt(value) else { return nil }
            halt = known
        }
        self.init(
            id: id, date: date, content: content, share: share, commandNumber: commandNumber, halt: halt)
        (self.ramp, allowedDevices, self.haltRule) = (ramp, Set(devices), haltRule)
    }
}

extension Rollout.Content: JSONObject {
    package var members: JSONMembers {
        switch self {
        case .release(let release): ["release": release]
        case .embedded(let platform, let runtimeVersion):
            ["embedded": ["platform": platform.rawValue, "runtimeVersion": runtimeVersion] as JSONMembers]
        }
    }

    init?(_ json: JSONValue) {
        if let release = json["release"] {
            guard let release = Release(release) else { return nil }
            self = .release(release)
        } else {
            guard let embedded = json["embedded"], let version = embedded["runtimeVersion"]?.string,
                let platform = embedded["platform"]?.string.flatMap(Release.Platform.init(rawValue:))
            else { return nil }
            self = .embedded(platform, runtimeVersion: version)
        }
    }
}

extension Rollout.Step: JSONObject {
    package var members: JSONMembers { ["time": time.iso8601, "share": share.description] }

    init?(_ json: JSONValue) {
        guard let time = json["time"]?.string.flatMap({ HTTPDate(rfc3339: $0) }),
            let share = json["share"]?.string.flatMap({ Share($0) })
        else { return nil }
        self.init(at: time, share: share)
    }
}

extension Rollout.HaltRule: JSONObject {
    package var members: JSONMembers { ["share": share.description, "minReports": minReports] }

    init?(_ json: JSONValue) {
        guard let share = json["share"]?.string.flatMap({ Share($0) }),
            let minReports = json["minReports"]?.number?.int, minReports >= 0
        else { return nil }
        self.init(share: share, minReports: minReports)
    }
}

extension Rollout.Halt: JSONObject {
    package var members: JSONMembers {
        switch self {
        case .publisher: ["by": "publisher"]
        case .failures(let failed, let count): ["by": "failures", "failed": failed, "of": count]
        }
    }

    init?(_ json: JSONValue) {
        switch json["by"]?.string {
        case "publisher"?: self = .publisher
        case "failures"?:
            guard let failed = json["failed"]?.number?.int, let count = json["of"]?.number?.int else {
                return nil
            }
            self = .failures(failed: failed, of: count)
        default: return nil
        }
    }
}

extension Release: JSONObject {
    package var members: JSONMembers {
        [
            "platform": platform.rawValue, "runtimeVersions": runtimeVersions.sorted(), "launch": launch,
            "assets": IfAny(assets), "archive": IfAny(archive),
            "metadata": IfAny(
                metadata.isEmpty
                    ? nil : JSONMembers(metadata.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })),
        ]
    }

    init?(_ json: JSONValue) {
        guard let platform = json["platform"]?.string.flatMap(Platform.init(rawValue:)),
            let versions = json["runtimeVersions"]?.array?.allOrNil(\.string),
            let launch = json["launch"].flatMap({ ReleaseFile($0) }),
            let assets = (json["assets"]?.array ?? []).allOrNil({ ReleaseFile($0) })
        else { return nil }
        var archive: ReleaseFile?
        if let value = json["archive"] {
            guard let file = ReleaseFile(value), file.byteCount != nil else { return nil }
            archive = file
        }
        var metadata: [String: String] = [:]
        for member in json["metadata"]?.members ?? [] {
            guard let value = member.value.string else { return nil }
            metadata[member.key] = value
        }
        self.init(
            platform: platform, runtimeVersions: Set(versions), launch: launch, assets: assets,
            archive: archive, metadata: metadata)
    }
}

extension ReleaseFile: JSONObject {
    package var members: JSONMembers {
        [
            "key": key, "url": url, "sha256": sha256.hex, "mediaType": mediaType,
            "fileExtension": IfAny(fileExtension), "bytes": IfAny(byteCount),
        ]
    }

    init?(_ json: JSONValue) {
        guard let key = json["key"]?.string, let url = json["url"]?.string,
            let sha256 = json["sha256"]?.string.flatMap({ Digest(.sha256, hex: $0) }),
            let mediaType = json["mediaType"]?.string
        else { return nil }
        var byteCount: Int64?
        if let value = json["bytes"] {
            guard let number = value.number?.int, number >= 0 else { return nil }
            byteCount = Int64(number)
        }
        self.init(
            key: key, url: url, sha256: sha256, mediaType: mediaType,
            fileExtension: json["fileExtension"]?.string, byteCount: byteCount)
    }
}

extension Array {
    /// The results for all elements; nil if there is none for one of them.
    fileprivate func allOrNil<Result>(_ transform: (Element) -> Result?) -> [Result]? {
        var results: [Result] = []
        results.reserveCapacity(count)
        for element in self {
            guard let result = transform(element) else { return nil }
            results.append(result)
        }
        return results
    }
}
