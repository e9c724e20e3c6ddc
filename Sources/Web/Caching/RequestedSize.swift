/// The sizes in the query of a URL (`/picture?id=7&w=1280&dpr=2`).
///
/// Scripts compute them from the window and the screen. The response for another size fits better than none.
package struct RequestedSize: Sendable, Hashable {
    /// The URL without the values of these parameters.
    package let rest: WebURL
    /// The numbers in these values.
    private let numbers: [Double]

    /// The names of the parameters, in lower case.
    private static let parameters: Set<String> = [
        "w", "h", "width", "height", "maxwidth", "maxheight", "max_width", "max_height", "imwidth", "vw",
        "vh",
        "sw", "sh", "sz", "size", "screen", "viewport", "resolution",
    ]
    /// Smaller numbers may be weeks, hours or pages.
    private static let minSize = 64.0

    /// Nil if the URL has no such parameter.
    package init?(of url: WebURL) {
        guard url.isHTTP, let query = url.query, query.utf8.count <= Self.maxQueryBytes else { return nil }
        var (pairs, numbers): ([String], [Double]) = ([], [])
        for pair in query.split(separator: "&", omittingEmptySubsequences: false) {
            let name = pair.prefix { $0 != "=" }
            if let values = Self.numbers(in: pair.dropFirst(name.count + 1)),
                Self.isSize(values, named: name.lowercased())
            {
                numbers += values
                pairs.append("\(name)=")
            } else {
                pairs.append(String(pair))
            }
        }
        guard !numbers.isEmpty, let rest = url.replacingQuery(pairs.joined(separator: "&")) else {
            return nil
        }
        (self.rest, self.numbers) = (rest, numbers)
    }

    private static func isSize(_ numbers: [Double], named name: String) -> Bool {
        if name == "dpr" { return true }
        let isNamed = parameters.contains(name) || name == "s" && numbers.count == 2
        return isNamed && numbers.allSatisfy { $0 >= minSize }
    }

    /// Returns how much both sizes differ; nil if the URLs differ in anything else.
    package func distance(to other: RequestedSize) -> Double? {
        guard rest == other.rest, numbers.count == other.numbers.count else { return nil }
        return zip(numbers, other.numbers).reduce(0) { $0 + ($1.0 - $1.1).magnitude }
    }

    /// The numbers in a value such as `1280`, `1.5`, `400px` or `1280x720`; nil for another value.
    private static func numbers(in value: Substring) -> [Double]? {
        let size = value.hasSuffix("px") ? value.dropLast(2) : value
        let parts = size.split(separator: "x", omittingEmptySubsequences: false)
        let numbers = parts.compactMap { part in
            part.utf8.count <= 6 && part.utf8.allSatisfy { $0.isASCIIDigit || $0 == UInt8(ascii: ".") }
                ? Double(part) : nil
        }
        return numbers.count == parts.count && parts.count <= 2 ? numbers : nil
    }

    private static let maxQueryBytes = 4096
}
