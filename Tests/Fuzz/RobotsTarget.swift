internal import Web

/// The parser of robots.txt.
struct RobotsTarget: Target {
    let name = "robots"
    let suffixes = [".robots"]
    let pieces = [
        "User-agent: ", "user-agent: larder", "Disallow: ", "Allow: ", "Sitemap: ", "Crawl-delay: ", "*", "$",
        "/", "%",
        "%2F",
        "%zz", "#", ":", "\n", "\r", "\r\n", " ", "/index.html", "/*a*b*c*d$", "************", "ü",
        "\u{FEFF}", "1e309",
    ]
    private static let targets = [
        "", "/", "/index.html", "/a/b?c=d", "/%2F%zz%", "/ü", String(repeating: "/ab", count: 400),
    ]

    func fault(_ input: [UInt8]) -> String? {
        let file = RobotsFile(input.span)
        let lineCount = input.count { $0 == 0x0A || $0 == 0x0D } + 1
        for agent in ["larder", "*", "googlebot", ""] {
            let rules = file.rules(for: agent)
            if let delay = rules.crawlDelay, !(delay.isFinite && delay >= 0) { return "a delay: \(delay)" }
            for target in Self.targets {
                guard let rule = rules.decidingRule(for: target) else {
                    if rules.allows(target) { continue }
                    return "refused by nothing: \(target)"
                }
                guard rule.isAllow == rules.allows(target), (1...lineCount).contains(rule.line),
                    !rule.text.isEmpty
                else {
                    return "a rule: \(rule)"
                }
            }
        }
        return file.sitemaps.contains("") ? "a sitemap: none" : nil
    }
}
