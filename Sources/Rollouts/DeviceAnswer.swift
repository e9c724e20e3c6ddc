internal import Web

/// The answer of an update server to a client of CodePush, Capgo or Cordova.
package struct DeviceAnswer: Sendable, Equatable {
    package enum Kind: Sendable, Equatable {
        /// A release that the device does not have.
        case update
        /// The device has the newest update for it.
        case current
        /// No update is for the device.
        case none
        /// The device must run the code that it was built with.
        case embedded
        /// A report was accepted.
        case report
        /// The request is wrong, or names nothing that exists.
        case refused
        /// Another request was answered.
        case other
    }

    package let kind: Kind
    package let status: Int
    package let mediaType: String
    package let body: [UInt8]

    init(_ kind: Kind, status: Int = 200, mediaType: String = "application/json", _ text: String) {
        (self.kind, self.status, self.mediaType, self.body) = (kind, status, mediaType, Array(text.utf8))
    }

    init(_ kind: Kind, status: Int = 200, _ members: JSONMembers) {
        self.init(kind, status: status, members.text(.compact))
    }
}

extension Channel.Decision {
    /// The kind of answer without an update.
    var kindWithoutUpdate: DeviceAnswer.Kind {
        switch self {
        case .release: .current
        case .embedded, .none: .none
        }
    }
}

/// The report of a device about an update.
package struct DeviceReport: Sendable, Equatable {
    /// The ID of the roll-out. It comes from the device, so that there may be none.
    package let rollout: String
    package let device: String
    package let hasFailed: Bool

    /// Returns nil if an ID is missing or too long.
    init?(rollout: String?, device: String?, hasFailed: Bool) {
        guard let rollout, rollout.utf8.count <= 64,
            let device = Device(id: device, platform: .any, runtimeVersion: Device.unknownVersion).id
        else { return nil }
        (self.rollout, self.device, self.hasFailed) = (rollout.lowercased(), device, hasFailed)
    }
}

/// Why a request of a client of CodePush, Capgo or Cordova cannot be answered.
package enum UpdateProblem: Error, Sendable, Equatable, CustomStringConvertible {
    case noJSON
    case tooLarge
    case missing(String)
    case invalid(String)
    case tooLong(String)
    /// The app has no channel of this name.
    case unknownChannel(String)
    /// No update fits, and the protocol has no other answer for that.
    case noUpdate

    package var status: Int {
        switch self {
        case .noJSON, .missing, .invalid, .tooLong: 400
        case .unknownChannel, .noUpdate: 404
        case .tooLarge: 413
        }
    }

    package var description: String {
        switch self {
        case .noJSON: "the body must be JSON"
        case .tooLarge: "the body is too large"
        case .missing(let name): "\(name) is missing"
        case .invalid(let name): "\(name) has an unknown value"
        case .tooLong(let name): "\(name) is too long"
        case .unknownChannel(let name): "the app has no channel \"\(name)\""
        case .noUpdate: "there is no update for this version of the app"
        }
    }
}

/// The values of a request: the parameters of a query, or the members of a JSON object.
struct RequestValues {
    private let value: (String) -> String?

    /// The maximum size of a value that is a name, a version or an ID.
    private static let maxValueBytes = 512
    /// The channel of devices that name none.
    static let defaultChannel = "production"

    init(_ parameters: [String: String]) { value = { parameters[$0] } }

    /// - Parameter json: a JSON object. Only strings count.
    init(_ json: JSONValue) { value = { json[$0]?.string } }

    /// Reads a value, which may have several names. Returns nil if it is missing or empty.
    func text(_ names: String...) throws(UpdateProblem) -> String? {
        for name in names {
            guard let text = value(name), !text.isEmpty else { continue }
            guard text.utf8.count <= Self.maxValueBytes else { throw .tooLong(name) }
            return text
        }
        return nil
    }

    /// Reads a value that must be there. The first name is the one in messages.
    func requiredText(_ name: String, _ other: String? = nil) throws(UpdateProblem) -> String {
        guard let text = try text(name, other ?? name) else { throw .missing(name) }
        return text
    }

    /// Reads a value that names a channel.
    func channel(_ names: String..., orElse name: String?) throws(UpdateProblem) -> String {
        var channel = name ?? Self.defaultChannel
        for one in names {
            if let text = try text(one) {
                channel = text
                break
            }
        }
        guard AppName.isName(channel) else { throw .unknownChannel(channel) }
        return channel
    }

    /// Parses the body of a request.
    static func json(_ body: [UInt8], atMost limit: Int) throws(UpdateProblem) -> JSONValue {
        guard body.count <= limit else { throw .tooLarge }
        guard let json = try? JSONValue.parse(body.span, limits: JSONLimits()) else { throw .noJSON }
        return json
    }
}
