internal import HTTPServer
internal import Rollouts
internal import Store
internal import Web

/// Larder's own protocol: the manifest of the release that a device gets, and reports.
///
///     GET /-/updates/shop/manifest?channel=production&device=7f3a&runtime=1.0
///     If-None-Match: "3f9c2d7e1a5b8046.5b0c6a1e-…"
///     Prefer: wait=30
///
/// | decision | answer |
/// | --- | --- |
/// | a release that the device does not have | 200 with its manifest |
/// | the release that `If-None-Match` names, or an earlier one | 304 |
/// | the code that the app was built with | 410, or 304 if `If-None-Match` names this decision |
/// | no update | 204 |
enum ManifestProtocol {
    /// The channel of a device that names none.
    static let defaultChannel = "production"
    private static let maxRuntimeBytes = 100
    private static let maxDeviceBytes = 256
    private static let maxReportBytes = 4096

    static func manifest(_ request: UpdateRequest) -> UpdatePlan {
        guard request.method == "GET" || request.method == "HEAD" else {
            return .answer(
                .refusal(405, "A manifest has only GET and HEAD.", fields: [("Allow", "GET, HEAD")]))
        }
        let (name, runtime) = (
            request[parameter: "channel"] ?? defaultChannel, request[parameter: "runtime"] ?? ""
        )
        guard AppName.isName(name) else { return .answer(.unknownChannel) }
        guard let platform = Release.Platform(rawValue: request[parameter: "platform"] ?? "any") else {
            return .answer(.refusal(400, "The platform must be ios, android or any."))
        }
        guard runtime.utf8.count <= maxRuntimeBytes,
            request[parameter: "device"].map({ $0.utf8.count <= maxDeviceBytes }) ?? true
        else {
            return .answer(
                .refusal(
                    400,
                    "The device has at most \(maxDeviceBytes) bytes, and the runtime version \(maxRuntimeBytes)."
                ))
        }
        let known = request.fields.joinedValues("If-None-Match").flatMap { UpdateTag(firstIn: $0) }
        let device = Device(
            id: request[parameter: "device"], platform: platform, runtimeVersion: runtime,
            currentUpdate: known?.update)
        let wait = waitSeconds(request.fields)
        var inquiry = UpdateInquiry(channel: .named(name), device: device.id) {
            (situation) throws(StoreError) in
            try answer(device, known, wait, situation)
        }
        inquiry.waitSeconds = wait
        return .ask(inquiry)
    }

    /// The time that the client is ready to wait (RFC 7240, section 4.3); 0 if it is not.
    private static func waitSeconds(_ fields: HTTPFields) -> Int {
        for preference in fields.elements("Prefer") {
            // A preference such as ";" has no part before its parameters.
            let parts = preference.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, parts[0].lowercased().filter({ $0 != " " }) == "wait",
                let seconds = Int(parts[1].filter { $0 != " " && $0 != "\"" })
            else { continue }
            return min(max(0, seconds), UpdateWorker.maxWaitSeconds)
        }
        return 0
    }

    private static func answer(
        _ device: Device, _ known: UpdateTag?, _ wait: Int, _ situation: UpdateSituation
    ) throws(StoreError) -> UpdateAnswer {
        var fields =
            [(name: "Cache-Control", value: "private, no-cache")] + UpdateAnswer.sharedFields
        if wait > 0 { fields.append(("Preference-Applied", "wait=\(wait)")) }
        switch situation.channel.decision(for: device, at: situation.now) {
        case .none: return UpdateAnswer(.none, status: 204, fields: fields)
        case .embedded(let rollout):
            let tag = UpdateTag(release: UpdateTag.embedded, update: rollout.id)
            fields += [("ETag", tag.text), ("Larder-Update", rollout.id)]
            guard known != tag else { return UpdateAnswer(.current, status: 304, fields: fields) }
            let text = "The app must run the code that it was built with.\n"
            return UpdateAnswer(
                .embedded, status: 410, fields: [("Content-Type", "text/plain; charset=utf-8")] + fields,
                body: Array(text.utf8))
        case .release(let release, let rollout, let isNew):
            if let known, !isNew {
                fields += [("ETag", known.text), ("Larder-Update", known.update)]
                return UpdateAnswer(.current, status: 304, fields: fields)
            }
            guard let id = release.id,
                let manifest = try situation.desk.manifest(ofRelease: id, of: situation.app)
            else { return .failure }
            let tag = UpdateTag(release: id, update: rollout.id)
            fields += [
                ("Content-Type", "application/json"), ("ETag", tag.text), ("Larder-Update", rollout.id),
                ("Larder-Release", id),
            ]
            return UpdateAnswer(.update, status: 200, fields: fields, body: manifest)
        }
    }

    /// Reads a report such as `{"device": "7f3a", "update": "5b0c6a1e-…", "state": "installed"}`.
    static func report(_ request: UpdateRequest) -> UpdatePlan {
        guard request.method == "POST" else {
            return .answer(.refusal(405, "A report has only POST.", fields: [("Allow", "POST")]))
        }
        guard request.body.count <= maxReportBytes else {
            return .answer(.refusal(413, "A report has at most \(maxReportBytes) bytes."))
        }
        guard let json = try? JSONValue.parse(request.body.span), let device = json["device"]?.string,
            (1...maxDeviceBytes).contains(device.utf8.count), let update = json["update"]?.string,
            (1...UpdateTag.maxUpdateBytes).contains(update.utf8.count),
            let state = json["state"]?.string, ["installed", "failed"].contains(state)
        else {
            return .answer(
                .refusal(
                    400,
                    "A report is JSON with the members device, update, and state, which is installed or failed."
                ))
        }
        var inquiry = UpdateInquiry(channel: .having(updates: [update]), device: device) { _ in
            UpdateAnswer(
                .report, status: 204, fields: [("Cache-Control", "no-store")] + UpdateAnswer.sharedFields)
        }
        if state == "installed" { inquiry.installed = [update] } else { inquiry.failed = [update] }
        inquiry.confirmsReports = true
        return .ask(inquiry)
    }
}

/// The entity tag of a manifest: the release, and the update that announces it.
struct UpdateTag: Equatable, Sendable {
    let release: String
    let update: String

    /// The release of the tag for the code that the app was built with.
    static let embedded = "embedded"
    /// The maximum size of the ID of an update, which is a UUID.
    static let maxUpdateBytes = 64

    init(release: String, update: String) { (self.release, self.update) = (release, update) }

    /// Reads the first tag of the list in `If-None-Match`; nil if it is not of this form.
    init?(firstIn list: String) {
        let quoted = list.utf8.split(separator: UInt8(ascii: "\""), omittingEmptySubsequences: false)
        guard quoted.count >= 3 else { return nil }
        let parts = quoted[1].split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ (1...Self.maxUpdateBytes).contains($0.count) }),
            parts.allSatisfy({
                $0.allSatisfy { $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "-") }
            })
        else { return nil }
        self.init(
            release: String(decoding: parts[0], as: UTF8.self),
            update: String(decoding: parts[1], as: UTF8.self))
    }

    var text: String { "\"\(release).\(update)\"" }
}
