/// What caches need to know of status codes.
package enum CacheStatus {
    /// RFC 9110, section 15.1: those whose responses may be kept without any word about it.
    package static func isCacheableByDefault(_ status: Int) -> Bool {
        switch status {
        case 200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501: true
        default: false
        }
    }

    /// Whether we know what the code demands of caches, which `must-understand` asks.
    package static func isUnderstood(_ status: Int) -> Bool {
        switch status {
        case 200...206, 300...303, 305, 307, 308, 400...417, 421...426, 428, 429, 431, 451, 500...506, 511: true
        default: false
        }
    }

    /// Whether the server, or something on the way, was not able to answer (RFC 5861, section 4).
    package static func isServerFailure(_ status: Int) -> Bool {
        switch status {
        case 500, 502, 503, 504: true
        default: false
        }
    }

    /// Whether the code speaks of the moment and not of the resource, so that what was stored before is worth more.
    package static func isPassing(_ status: Int) -> Bool {
        switch status {
        case 408, 425, 429, 500...599: true
        default: false
        }
    }
}
