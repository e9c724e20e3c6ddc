internal import Bundles

// The protocol of Cordova hot code push: `chcp.json` names the release and the folder of its files, and `chcp.manifest` in that
// folder lists them with their MD5. The plugin sends nothing about the device, and reports nothing. The URL of `chcp.json` in the
// app's configuration can therefore name the channel, the version of the native code and the device.

/// A request for `chcp.json`.
package struct CordovaRequest: Sendable, Equatable {
    package let channel: String
    package let device: Device

    /// The name of the list of files.
    package static let listName = "chcp.manifest"
    /// The name of the description of the release.
    package static let configurationName = "chcp.json"

    /// - Parameter parameters: those of the query: `channel`, `runtime` and `device`.
    package init(_ parameters: [String: String]) throws(UpdateProblem) {
        let values = RequestValues(parameters)
        channel = try values.channel("channel", orElse: nil)
        device = Device(
            id: try values.text("device"), platform: .any,
            runtimeVersion: try values.text("runtime") ?? Device.unknownVersion)
    }
}

extension DeviceAnswer {
    /// The answer to a request of Cordova's plugin that cannot be answered otherwise.
    package init(cordova problem: UpdateProblem) {
        self.init(
            problem == .noUpdate ? .none : .refused, status: problem.status, mediaType: "text/plain",
            problem.description)
    }

    /// `chcp.json`: the release is the ID of the roll-out, which is new also for files that the device had before. Without an
    /// update the answer is an error, after which the app keeps its files.
    package init(cordova decision: Channel.Decision, _ served: ServedRelease?) {
        guard case .release(_, let rollout, _) = decision, let served else {
            self.init(cordova: .noUpdate)
            return
        }
        var manifest = Manifest()
        (manifest.base, manifest.version) = (served.base, rollout.id)
        let list = String(decoding: served.contents.cordovaList, as: UTF8.self)
        self.init(.update, manifest.cordovaConfiguration(of: list))
    }

    /// `chcp.manifest` of a release.
    package init(cordovaListOf contents: ReleaseContents) {
        self.init(.other, String(decoding: contents.cordovaList, as: UTF8.self))
    }
}
