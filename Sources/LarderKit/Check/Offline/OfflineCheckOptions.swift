/// How thoroughly to prove that a site can be had offline.
public struct OfflineCheckOptions: Sendable {
    /// Sizes only: bytes that changed in place are not found.
    public var isQuick = false
    /// What makes the check fail.
    public var failsOn = CheckReport.usualFailures
    /// Told how many bodies were compared, now and then, on threads of the check's.
    public var progress: (@Sendable (WorkProgress) -> Void)?

    public init() {}
}
