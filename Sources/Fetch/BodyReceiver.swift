package import Web

/// Takes bodies while they come: they are then neither in memory nor in a file, and the responses have empty ones. It is
/// called on the loop's thread, for each request in the order of its bytes.
package protocol BodyReceiver: AnyObject {
    /// The header of an answer is whole. A body that is not wanted is dropped as it comes.
    ///
    /// - Returns: whether the body is wanted.
    func begin(_ number: UInt32, status: Int, fields: HTTPFields) -> Bool
    /// The next bytes, without their content coding unless the request keeps it.
    ///
    /// - Returns: whether there is a use for more; if not, the request fails as too large.
    func take(_ number: UInt32, _ bytes: Span<UInt8>) -> Bool
}
