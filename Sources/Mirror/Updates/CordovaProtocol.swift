internal import HTTPServer
internal import Rollouts
internal import Store

/// Serves the two files of Cordova hot code push: `cordova/chcp.json`, and `chcp.manifest` beside the files of each release.
enum CordovaProtocol {
    static let service = "cordova"

    /// Nil if the protocol has no such path.
    static func plan(_ request: UpdateRequest) -> UpdatePlan? {
        guard request.path == CordovaRequest.configurationName else { return nil }
        guard request.isReading else { return .answer(.wrongMethod("GET, HEAD")) }
        do throws(UpdateProblem) {
            return .ask(inquiry(try CordovaRequest(request.parameters), request))
        } catch {
            return .answer(UpdateAnswer(DeviceAnswer(cordova: error)))
        }
    }

    private static func inquiry(_ cordova: CordovaRequest, _ request: UpdateRequest) -> UpdateInquiry {
        var inquiry = UpdateInquiry(channel: .named(cordova.channel)) { (situation) throws(StoreError) in
            try situation.answer(cordova.device, at: request) {
                UpdateAnswer(DeviceAnswer(cordova: $0, $1))
            }
        }
        inquiry.missing = UpdateAnswer(DeviceAnswer(cordova: .unknownChannel(cordova.channel)))
        return inquiry
    }

    /// The answer to a request for the list of files of a release, below `files/RELEASE/`; nil for another request. Publishing adds
    /// no such list to a release, and one that a build has added may be older than its files.
    static func list(_ request: UpdateRequest, _ desk: UpdateDesk) throws(StoreError) -> UpdateAnswer? {
        let parts = request.path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard request.isReading, parts.count == 2, parts[1].elementsEqual(CordovaRequest.listName.utf8) else {
            return nil
        }
        let release = String(decoding: parts[0], as: UTF8.self)
        guard try desk.hasRelease(release, of: request.app),
            let contents = try desk.contents(ofRelease: release, of: request.app)
        else { return nil }
        return UpdateAnswer(
            DeviceAnswer(cordovaListOf: contents), cacheControl: "public, max-age=31536000, immutable")
    }
}
