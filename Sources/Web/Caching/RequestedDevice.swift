/// The values in the query of a URL that a script read from the device of the reader: the sizes of the window and the
/// screen, the user agent, the platform, the language, the time zone (`/data?w=1280&dpr=2&lang=de-AT`).
///
/// The next reader may have another device. The response for it fits better than none.
package struct RequestedDevice: Sendable, Hashable {
    /// The URL without the values of these parameters.
    package let rest: WebURL
    /// The numbers in the sizes.
    private let sizes: [Double]
    /// The other values, such as that of `lang`.
    package let traits: [String]

    /// The names of sizes, in lower case.
    private static let sizeNames: Set<String> = [
        "w", "h", "width", "height", "maxwidth", "maxheight", "max_width", "max_height", "imwidth", "vw",
        "vh",
        "sw", "sh", "sz", "size", "screen", "viewport", "resolution",
    ]
    /// Smaller numbers may be weeks, hours or pages.
    private static let minSize = 64.0

    /// Nil if the URL has no such parameter.
    package init?(of url: WebURL) {
        guard url.isHTTP, let query = url.query, query.utf8.count <= Self.maxQueryBytes else { return nil }
        var (pairs, sizes, traits): ([String], [Double], [String]) = ([], [], [])
        for pair in query.split(separator: "&", omittingEmptySubsequences: false) {
            let name = pair.prefix { $0 != "=" }
            let value = pair.dropFirst(name.count + 1)
            if let numbers = Self.numbers(in: value), Self.isSize(numbers, named: name.lowercased()) {
                sizes += numbers
                pairs.append("\(name)=")
            } else if Self.isTrait(value, named: name.lowercased()) {
                traits.append(String(value))
                pairs.append("\(name)=")
            } else {
                pairs.append(String(pair))
            }
        }
        guard !sizes.isEmpty || !traits.isEmpty, let rest = url.replacingQuery(pairs.joined(separator: "&"))
        else { return nil }
        (self.rest, self.sizes, self.traits) = (rest, sizes, traits)
    }

    /// Returns how much both sizes differ; nil if the URLs differ in anything else than the device.
    package func distance(to other: RequestedDevice) -> Double? {
        guard rest == other.rest, sizes.count == other.sizes.count, traits.count == other.traits.count else {
            return nil
        }
        return zip(sizes, other.sizes).reduce(0) { $0 + ($1.0 - $1.1).magnitude }
    }

    private static func isSize(_ numbers: [Double], named name: String) -> Bool {
        if name == "dpr" { return true }
        let isNamed = sizeNames.contains(name) || name == "s" && numbers.count == 2
        return isNamed && numbers.allSatisfy { $0 >= minSize }
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

// MARK: - Traits

extension RequestedDevice {
    /// Whether a value describes the device, by itself or together with its name.
    private static func isTrait(_ value: Substring, named name: String) -> Bool {
        let decoded = [UInt8](percentDecoding: Array(value.utf8).span)
        let text = String(decoding: decoded, as: UTF8.self)
        if text.hasPrefix("Mozilla/5.0") || isPlatform(text) { return true }
        if languageNames.contains(name) { return isLanguage(text) }
        if zoneNames.contains(name) { return isTimeZone(text) }
        if numberNames.contains(name) {
            return !text.isEmpty && text.utf8.allSatisfy { $0.isASCIIDigit || "+-.".utf8.contains($0) }
        }
        return colorNames.contains(name) && ["dark", "light", "no-preference"].contains(text)
    }

    /// Names of languages, in lower case.
    private static let languageNames: Set<String> = [
        "lang", "language", "languages", "locale", "lng", "userlang", "user_lang",
        "browserlanguage", "browser_language",
    ]
    private static let zoneNames: Set<String> = [
        "tz", "timezone", "time_zone", "timezonename", "timezone_name",
    ]
    /// Names of numbers that describe a device.
    private static let numberNames: Set<String> = [
        "cores", "hardwareconcurrency", "devicememory", "device_memory", "pixelratio", "pixel_ratio",
        "devicepixelratio", "colordepth", "color_depth", "tzoffset", "tz_offset", "timezoneoffset",
        "timezone_offset", "utcoffset", "utc_offset",
    ]
    private static let colorNames: Set<String> = [
        "colorscheme", "color_scheme", "prefers-color-scheme", "theme",
    ]

    /// Whether a text is a value of `navigator.platform`.
    private static func isPlatform(_ text: String) -> Bool {
        ["Win32", "Win64", "MacIntel", "iPhone", "iPad"].contains(text)
            || text.hasPrefix("Linux ") && text.utf8.count <= 16
    }

    /// Whether a text is a language tag or a list of them: `de`, `en-US,en`, `zh_Hant`.
    private static func isLanguage(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 64
            && text.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).allSatisfy {
                tag in
                let parts = tag.split(omittingEmptySubsequences: false) { $0 == 0x2D || $0 == 0x5F }
                return (2...3).contains(parts[0].count)
                    && parts.allSatisfy {
                        !$0.isEmpty && $0.count <= 8 && $0.allSatisfy(\.isASCIIAlphanumeric)
                    }
            }
    }

    /// Whether a text is the name of a time zone, `UTC` or `Europe/Vienna`, or an offset such as `-60` or `+01:00`.
    private static func isTimeZone(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 48
            && text.utf8.allSatisfy { $0.isASCIIAlphanumeric || "/_+-:".utf8.contains($0) }
    }
}
