/// The user or schedule that started a job. It limits the URLs that the job itself names; every other URL is
/// limited by the network zone of the response that contains it.
package enum Principal: String, Sendable {
    /// The user of this machine: at the command line, through the library, or on the portal.
    case localUser = "local"
    /// A user of the portal on another machine.
    case remoteUser = "remote"
    /// The update schedule of a site. The site's own settings can allow more.
    case schedule

    /// Whether the principal acts for the user of this machine: with the stored credentials, and with reports that may name
    /// private responses.
    package var actsForLocalUser: Bool {
        switch self {
        case .localUser, .schedule: true
        case .remoteUser: false
        }
    }

    /// The nearest network zone that requests for URLs named by the principal may connect to.
    package var nearestZone: NetworkZone {
        switch self {
        case .localUser: .thisMachine
        case .remoteUser, .schedule: .publicNetwork
        }
    }
}
