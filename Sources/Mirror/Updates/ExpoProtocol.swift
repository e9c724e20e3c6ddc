internal import HTTPServer
internal import Rollouts
internal import Store
internal import Web

/// Serves the protocol of Expo Updates (version 1, and 0 for old clients). The values in Rollouts decide; this connects them
/// with the channels.
enum ExpoProtocol {
    static func plan(_ request: UpdateRequest, _ settings: UpdateSettings) -> UpdatePlan {
        guard request.method == "GET" || request.method == "HEAD" else {
            return .answer(
                .refusal(405, "An update has only GET and HEAD.", fields: [("Allow", "GET, HEAD")]))
        }
        let expo: ExpoUpdateRequest
        do throws(ExpoUpdateProblem) {
            expo = try ExpoUpdateRequest(request.fields, parameters: request.parameters)
        } catch {
            return .answer(UpdateAnswer(ExpoUpdateAnswer(error), .refused))
        }
        let name =
            request.fields["expo-channel-name"] ?? request[parameter: "channel-name"]
            ?? ManifestProtocol.defaultChannel
        guard AppName.isName(name) else { return .answer(.unknownChannel) }
        var expoSettings = settings.expo
        // A device that changes its channel must not start an update of the channel before. Releases have this value.
        expoSettings.manifestFilters = ExpoDictionary(["channel": name])
        let (origin, final) = (request, expoSettings)
        var inquiry = UpdateInquiry(channel: .named(name), device: expo.device.id) {
            (situation) throws(StoreError) in
            try answer(expo, origin, final, situation)
        }
        inquiry.installed = [expo.device.currentUpdate].compactMap(\.self)
        inquiry.failed = expo.failedUpdates
        return .ask(inquiry)
    }

    private static func answer(
        _ expo: ExpoUpdateRequest, _ request: UpdateRequest, _ settings: ExpoUpdateSettings,
        _ situation: UpdateSituation
    ) throws(StoreError) -> UpdateAnswer {
        var decision = situation.channel.decision(for: expo.device, at: situation.now)
        let outcome: UpdateAnswer.Outcome
        let key: String
        switch decision {
        case .none: (outcome, key) = (.none, "none")
        case .embedded(let rollout):
            let isEmbedded = expo.embeddedUpdate.map { $0 == expo.device.currentUpdate } ?? false
            (outcome, key) = (isEmbedded ? .current : .embedded, "embedded \(isEmbedded) \(rollout.id)")
        case .release(let release, let rollout, let isNew):
            (outcome, key) = (isNew ? .update : .current, "\(isNew) \(rollout.id)")
            decision = .release(request.serving(release), rollout, isNew: isNew)
        }
        // All devices get the same bytes, and a signature takes a millisecond.
        return try situation.desk.answer(for: [
            request.app.text, situation.channel.name, key, expo.device.runtimeVersion,
            expo.device.platform.rawValue, "\(expo.protocolVersion) \(expo.form) \(expo.expectsSignature)",
            expo.keyID ?? "", request.origin,
        ]) { () throws(StoreError) in
            var settings = settings
            if case .release(let release, _, _) = decision {
                switch try appConfiguration(of: release, request.app, situation.desk) {
                case .none: break
                case .read(let configuration): settings.appConfiguration = configuration
                case .damaged: return .failure
                }
            }
            let answer = ExpoUpdateAnswer(to: expo, decision, settings)
            return UpdateAnswer(answer, answer.status < 400 ? outcome : outcome == .none ? .none : .refused)
        }
    }

    private enum AppConfiguration {
        case none
        case read(JSONValue)
        case damaged
    }

    /// The configuration of the app that was published with a release.
    private static func appConfiguration(
        of release: Release, _ app: AppName, _ desk: UpdateDesk
    ) throws(StoreError) -> AppConfiguration {
        guard let id = release.id,
            let file = try desk.file("\(app.storedBase)\(id)/\(ExpoExport.configurationName)")
        else { return .none }
        guard let bytes = try desk.bytes(of: file), let json = ExpoExport.configuration(bytes) else {
            return .damaged
        }
        return .read(json)
    }
}

extension UpdateAnswer {
    fileprivate init(_ expo: ExpoUpdateAnswer, _ outcome: Outcome) {
        self.init(
            outcome, status: expo.status, fields: expo.fields.list.map { ($0.name, $0.value) },
            body: expo.body)
    }
}
