package import Web

// The protocol of CodePush, as its acquisition SDK and the clients for React Native and Cordova use it. The members of requests
// and answers have two forms of names: `update_info`, and `updateInfo` in clients before 2019.

/// A path of CodePush's protocol.
package enum CodePushEndpoint: Sendable, Equatable {
    /// The names of the members.
    package enum Naming: Sendable, Equatable {
        case snakeCase, camelCase
    }

    /// `GET`: asks for the newest update.
    case updateCheck(Naming)
    /// `POST`: an update was installed, or failed.
    case deployReport
    /// `POST`: an update was downloaded.
    case downloadReport

    /// - Parameter path: the path below the URL of the server that the app is configured with.
    package init?(_ path: String) {
        switch path {
        case "v0.1/public/codepush/update_check": self = .updateCheck(.snakeCase)
        case "updateCheck": self = .updateCheck(.camelCase)
        case "v0.1/public/codepush/report_status/deploy", "reportStatus/deploy": self = .deployReport
        case "v0.1/public/codepush/report_status/download", "reportStatus/download": self = .downloadReport
        default: return nil
        }
    }
}

/// A request of a client of CodePush for the newest update.
package struct CodePushCheck: Sendable, Equatable {
    /// The channel, whose name is the app's deployment key. (A key could not be `APP:CHANNEL`, because clients split texts with
    /// deployment keys at colons.)
    package let channel: String
    package let device: Device
    /// The digest of the package that the device has, or of the code that it was built with.
    let packageHash: String?

    /// - Parameter parameters: those of the query.
    package init(_ parameters: [String: String]) throws(UpdateProblem) {
        let values = RequestValues(parameters)
        _ = try values.requiredText("deployment_key", "deploymentKey")
        channel = try values.channel("deployment_key", "deploymentKey", orElse: nil)
        device = Device(
            id: try values.text("client_unique_id", "clientUniqueId"), platform: .any,
            runtimeVersion: try values.requiredText("app_version", "appVersion"),
            currentUpdate: try values.text("label")?.lowercased())
        packageHash = try values.text("package_hash", "packageHash")?.lowercased()
    }
}

/// A report of a client of CodePush.
package struct CodePushReport: Sendable, Equatable {
    /// The report about an update. Nil if it is about the app's own code or about a download, or if the client does not give its
    /// ID.
    package let report: DeviceReport?

    /// The maximum size of a report.
    package static let maxBytes = 16 * 1024

    /// Reads the body of a request.
    ///
    /// - Parameter endpoint: where it was sent to.
    package init(_ body: [UInt8], to endpoint: CodePushEndpoint) throws(UpdateProblem) {
        let values = RequestValues(try RequestValues.json(body, atMost: Self.maxBytes))
        _ = try values.requiredText("deployment_key", "deploymentKey")
        guard endpoint == .deployReport else {
            _ = try values.requiredText("label")
            report = nil
            return
        }
        _ = try values.requiredText("app_version", "appVersion")
        guard let label = try values.text("label") else {
            report = nil
            return
        }
        let hasFailed: Bool
        switch try values.requiredText("status") {
        case "DeploymentSucceeded": hasFailed = false
        case "DeploymentFailed": hasFailed = true
        default: throw .invalid("status")
        }
        report = DeviceReport(
            rollout: label, device: try values.text("client_unique_id", "clientUniqueId"),
            hasFailed: hasFailed)
    }
}

extension DeviceAnswer {
    /// The answer to a report of a client of CodePush.
    package static let codePushReceived = DeviceAnswer(.report, mediaType: "text/plain", "OK")

    /// The answer to a request that is refused.
    package init(codePush problem: UpdateProblem) {
        self.init(.refused, status: problem.status, mediaType: "text/plain", problem.description)
    }

    /// Answers a client of CodePush with the update that the channel has decided on.
    ///
    /// The label is the ID of the roll-out, which the client sends back. The target version is that of the request, because clients
    /// compare it with their own.
    ///
    /// - Parameters:
    ///   - served: the release of the decision; nil if it cannot be delivered.
    ///   - otherVersion: the version that the newest release is for, if the device has another one. If that is an earlier one, the
    ///     client tells the app that it must be updated in its store.
    package init(
        to check: CodePushCheck, _ naming: CodePushEndpoint.Naming, _ decision: Channel.Decision,
        _ served: ServedRelease?, otherVersion: String? = nil
    ) {
        var update: (release: Release, rollout: Rollout, archive: ReleaseFile, served: ServedRelease)?
        // Clients ignore a package that they have, and would download it once more.
        if case .release(let release, let rollout, isNew: true) = decision, let served,
            let archive = release.archive, served.contents.codePushHash != check.packageHash
        {
            update = (release, rollout, archive, served)
        }
        var runsBuiltIn = false
        switch decision {
        case .embedded, .none: runsBuiltIn = true
        case .release: break
        }
        let version = update == nil ? otherVersion ?? "" : check.device.runtimeVersion
        let isAppOutdated =
            update == nil
            && otherVersion.map { !Self.isVersion(check.device.runtimeVersion, after: $0) } ?? false
        let isSnake = naming == .snakeCase
        func name(_ snake: String, _ camel: String) -> String { isSnake ? snake : camel }
        let info = JSONMembers([
            (name("download_url", "downloadURL"), update?.served.archiveURL ?? ""),
            ("description", ""),
            (name("is_available", "isAvailable"), update != nil),
            (name("is_mandatory", "isMandatory"), false),
            (name("app_version", "appVersion"), version),
            ("target_binary_range", version),
            (name("package_hash", "packageHash"), update?.served.contents.codePushHash ?? ""),
            ("label", update?.rollout.id ?? ""),
            (name("package_size", "packageSize"), update?.archive.byteCount ?? 0),
            (name("update_app_version", "updateAppVersion"), isAppOutdated),
            (name("should_run_binary_version", "shouldRunBinaryVersion"), runsBuiltIn),
        ])
        self.init(
            update == nil ? decision.kindWithoutUpdate : .update,
            JSONMembers([(name("update_info", "updateInfo"), info)]))
    }

    /// Whether a version such as `1.10` is after another one. False if one of them has other parts than numbers.
    private static func isVersion(_ one: String, after two: String) -> Bool {
        let versions = [one, two].map {
            $0.split(separator: ".", omittingEmptySubsequences: false).map { Int($0) }
        }
        guard !versions.joined().contains(nil) else { return false }
        let numbers = versions.map { $0.compactMap(\.self) }
        return numbers[1].lexicographicallyPrecedes(numbers[0])
    }
}

extension Channel {
    /// The version that the newest release for all devices is for, if a device has another one. Nil if the release fits the device,
    /// or there is none.
    package func otherVersion(than device: Device, at now: HTTPDate) -> String? {
        let newest = rollouts.last {
            $0.halt == nil && $0.platform == device.platform && $0.releaseID != nil
                && $0.share(at: now) == .all
        }
        return newest.flatMap { $0.fits(device) ? nil : $0.runtimeVersions.last }
    }
}
