/// What a crawl had to do with one host.
package struct HostTally: Sendable, Equatable {
    package var requests = 0
    package var failures = 0
    package var byteCount = 0
    /// `HTTP/1.1`, `HTTP/2`; nil when it never answered.
    package var version: String?
}
