/// What to list.
public struct ListOptions: Sendable {
    /// A site by its name, its address or its host; nil for all that is held.
    public var site: String?
    public var type: TypeFilter?
    public var status: Int?

    public init() {}

    func wants(_ url: ListedURL) -> Bool {
        (status.map { $0 == url.status } ?? true) && (type.map { $0.matches(url.type) } ?? true)
    }
}
