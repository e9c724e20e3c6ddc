internal import HTTPServer
internal import Rollouts
internal import Store

/// Serves the protocol of Capgo's plugin. The values in Rollouts decide; this connects them with the channels.
enum CapgoProtocol {
    /// Nil if the protocol has no such path.
    static func plan(_ request: UpdateRequest) -> UpdatePlan? {
        do throws(UpdateProblem) {
            switch request.path {
            case "updates":
                guard request.method == "POST" else { return .answer(.wrongMethod("POST")) }
                return .ask(check(try CapgoCheck(request.body, parameters: request.parameters), request))
            case "stats":
                guard request.method == "POST" else { return .answer(.wrongMethod("POST")) }
                return .record(try CapgoEvents(request.body).reports, then: .capgoReceived)
            case "channel_self":
                guard request.isReading || ["POST", "PUT", "DELETE"].contains(request.method) else {
                    return .answer(.wrongMethod("GET, POST, PUT, DELETE"))
                }
                return .ask(
                    channel(
                        try CapgoChannelRequest(
                            method: request.method, request.body, parameters: request.parameters)))
            default: return nil
            }
        } catch {
            return .answer(UpdateAnswer(DeviceAnswer(capgo: error)))
        }
    }

    private static func check(_ check: CapgoCheck, _ request: UpdateRequest) -> UpdateInquiry {
        var inquiry = UpdateInquiry(channel: .named(check.channel), device: check.device.id) {
            (situation) throws(StoreError) in
            try situation.answer(check.device, at: request) { UpdateAnswer(DeviceAnswer(to: check, $0, $1)) }
        }
        inquiry.installed = [check.device.currentUpdate].compactMap(\.self)
        inquiry.missing = UpdateAnswer(DeviceAnswer(capgo: .unknownChannel(check.channel)))
        return inquiry
    }

    private static func channel(_ request: CapgoChannelRequest) -> UpdateInquiry {
        var inquiry = UpdateInquiry(channel: .named(request.channel)) { _ in
            UpdateAnswer(DeviceAnswer(to: request, exists: true))
        }
        inquiry.missing = UpdateAnswer(DeviceAnswer(to: request, exists: false))
        return inquiry
    }
}
