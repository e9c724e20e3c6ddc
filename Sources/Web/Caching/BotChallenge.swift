internal import Glibc

/// A page that a network or a service sends in place of the requested one, to check whether the client is a browser
/// with a person in front of it.
package struct BotChallenge: Sendable, Equatable, CustomStringConvertible {
    /// The name of the service, such as `Cloudflare`; empty if it is not known.
    package let service: String

    package init(service: String = "") { self.service = service }

    package var description: String { service.isEmpty ? "a bot challenge" : "a bot challenge (\(service))" }

    /// Finds a challenge that the header fields of a response announce.
    package init?(status: Int, fields: HTTPFields) {
        func has(_ name: String, _ value: String) -> Bool { fields[name]?.lowercased() == value }
        if has("cf-mitigated", "challenge") {
            service = "Cloudflare"
        } else if has("x-vercel-mitigated", "challenge") {
            service = "Vercel"
        } else if let action = fields["x-amzn-waf-action"]?.lowercased(),
            ["challenge", "captcha"].contains(action)
        {
            service = "AWS WAF"
        } else if status >= 400, fields.contains("x-kpsdk-ct") {
            service = "Kasada"
        } else {
            return nil
        }
    }

    /// Finds a challenge in an HTML document.
    ///
    /// Services also add scripts to ordinary pages, sites have captchas in their forms, and some write about
    /// challenges. So a challenge must be short, and with a status of success it must have hardly any links.
    package init?(status: Int, body: Span<UInt8>) {
        guard body.count <= Self.maxBodyBytes else { return nil }
        let text = Self.lowercased(body)
        func has(_ mark: String) -> Bool { Self.find(mark, in: text[...]) != nil }
        let isRefusal = [401, 403, 405, 429, 503].contains(status)
        guard Self.wordCount(of: text, atMost: Self.maxWords) < Self.maxWords,
            Self.linkCount(in: text) <= (isRefusal ? Self.maxLinksOfRefusal : Self.maxLinks)
        else { return nil }
        if let found = Self.markers.first(where: { has($0.mark) }) {
            self.init(service: found.service)
            return
        }
        let title = Self.title(in: text)
        let known = Self.titles.first { Self.matches(title: title, $0.text) }
        let hasWidget = Self.widgets.contains(where: has)
        let hasSentence = Self.sentences.contains(where: has)
        guard
            isRefusal
                ? known != nil || hasSentence
                : known != nil && (hasSentence || hasWidget) || hasWidget && hasSentence
        else { return nil }
        self.init(service: known?.service ?? "")
    }

    /// Recognises a challenge by its title alone, where the document is not available.
    package init?(title: String) {
        let title = title.lowercased()
        guard let found = Self.titles.first(where: { Self.matches(title: title, $0.text) }) else {
            return nil
        }
        self.init(service: found.service)
    }

    /// Whether a title in lower case is the given one, apart from punctuation at its end.
    private static func matches(title: String, _ known: String) -> Bool {
        title.hasPrefix(known) && title.dropFirst(known.count).allSatisfy { ".!?… ".contains($0) }
    }

    /// The maximum size of a challenge. Larger documents are not examined.
    package static let maxBodyBytes = 128 * 1024
    // The maximum numbers of words and links of a challenge. A page with more is an ordinary page. With an error status,
    // a challenge may have more links, such as those of a footer.
    private static let maxWords = 250
    private static let maxLinks = 5
    private static let maxLinksOfRefusal = 20

    /// Parts of documents that only challenges have, in lower case.
    private static let markers: [(mark: String, service: String)] = [
        ("/orchestrate/chl_page/", "Cloudflare"), ("window._cf_chl_opt", "Cloudflare"),
        ("id=\"challenge-error-text\"", "Cloudflare"), ("id=\"cf-challenge-running\"", "Cloudflare"),
        ("id=\"anubis_challenge\"", "Anubis"), ("/.within.website/x/cmd/anubis/static/js/main", "Anubis"),
        ("captcha-delivery.com/c.js", "DataDome"), ("captcha-delivery.com/i.js", "DataDome"),
        ("src=\"/_incapsula_resource?swudnsai", "Imperva"), ("incapsula incident id", "Imperva"),
        ("id=\"px-captcha\"", "HUMAN"),
        ("id=\"sec-if-cpt-container\"", "Akamai"), ("awswafintegration.checkforcerefresh", "AWS WAF"),
        ("sucuri_cloudproxy_js", "Sucuri"), ("/.well-known/ddos-guard/", "DDoS-Guard"),
        ("/.well-known/.git.gammaspectra.live/git/go-away/", "go-away"),
    ]

    /// The beginnings of titles of challenges, in lower case.
    private static let titles: [(text: String, service: String)] = [
        ("just a moment...", "Cloudflare"), ("attention required! | cloudflare", "Cloudflare"),
        ("ddos-guard", "DDoS-Guard"), ("making sure you're not a bot", "Anubis"),
        ("making sure you&#39;re not a bot", "Anubis"), ("vercel security checkpoint", "Vercel"),
        ("sucuri website firewall", "Sucuri"), ("verifying your browser", ""), ("checking your browser", ""),
        ("human verification", ""), ("verify you are human", ""), ("are you a robot", ""),
        ("are you a human", ""), ("security check", ""), ("bot verification", ""), ("captcha", ""),
        ("access to this page has been denied", "HUMAN"), ("pardon our interruption", "Imperva"),
        ("robot check", ""), ("client challenge", ""), ("one moment, please", ""),
    ]

    /// Parts of documents that have a captcha, in lower case.
    private static let widgets = [
        "g-recaptcha", "recaptcha/api.js", "recaptcha/enterprise.js", "h-captcha", "hcaptcha.com/1/api.js",
        "cf-turnstile", "challenges.cloudflare.com/turnstile", "funcaptcha", "arkoselabs.com",
        "altcha-widget",
        "geetest", "mcaptcha__widget", "friendly-challenge", "frc-captcha", "smartcaptcha",
    ]

    /// Sentences of challenges, in lower case. "You need to enable JavaScript to run this app" is none.
    private static let sentences = [
        "enable javascript and cookies to continue", "checking your browser before",
        "checking if the site connection is secure",
        "verify you are human", "verifying you are human", "verify that you are human", "verify you're human",
        "confirm you are human", "prove you are human", "prove you're human", "that you are not a robot",
        "you're not a robot", "you are not a bot", "you're not a bot", "you&#39;re not a bot",
        "unusual traffic from your", "requests from your network", "automated access to",
        "please complete the security check", "complete the captcha", "solve the captcha",
        "enter the characters you see",
        "browser will redirect to your requested content", "ddos protection by",
        "please turn javascript on and reload",
    ]

    private static func lowercased(_ body: Span<UInt8>) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(body.count)
        for index in body.indices { text.append(body[index].lowercasedASCII) }
        return text
    }

    /// The index after the first occurrence of a mark; nil if there is none.
    private static func find(_ mark: String, in text: ArraySlice<UInt8>) -> Int? {
        let mark = Array(mark.utf8)
        return text.withUnsafeBytes { bytes in
            mark.withUnsafeBytes { mark in
                guard let start = bytes.baseAddress, let wanted = mark.baseAddress, let first = mark.first
                else { return nil }
                var offset = 0
                while offset + mark.count <= bytes.count {
                    let count = bytes.count - mark.count - offset + 1
                    guard let candidate = memchr(start + offset, Int32(first), count) else { return nil }
                    let candidateOffset = UnsafeRawPointer(candidate) - start
                    if memcmp(candidate, wanted, mark.count) == 0 {
                        return text.startIndex + candidateOffset + mark.count
                    }
                    offset = candidateOffset + 1
                }
                return nil
            }
        }
    }

    /// The title of a document in lower case; empty if it has none.
    private static func title(in text: [UInt8]) -> String {
        guard let start = find("<title", in: text[...]), let begin = find(">", in: text[start...]) else {
            return ""
        }
        let title = text[begin...].prefix { $0 != UInt8(ascii: "<") }.drop { $0 <= 0x20 }
        return String(decoding: title, as: UTF8.self)
    }

    /// The number of links, counted up to the largest limit.
    private static func linkCount(in text: [UInt8]) -> Int {
        var count = 0
        var rest = text[...]
        while count <= maxLinksOfRefusal, let end = find("<a", in: rest) {
            rest = rest[end...]
            if let byte = rest.first, byte <= 0x20 { count += 1 }
        }
        return count
    }

    /// The number of words outside of tags, scripts and styles.
    private static func wordCount(of text: [UInt8], atMost limit: Int) -> Int {
        var count = 0
        var rest = text[...]
        while count < limit, let byte = rest.first {
            if byte == UInt8(ascii: "<") {
                let name = ["script", "style", "noscript"].first { rest.dropFirst().starts(with: $0.utf8) }
                guard let end = find(name.map { "</\($0)" } ?? ">", in: rest) else { return count }
                rest = rest[end...]
            } else if byte.isWordByte {
                count += 1
                rest = rest.drop { $0.isWordByte }
            } else {
                rest = rest.drop { !$0.isWordByte && $0 != UInt8(ascii: "<") }
            }
        }
        return count
    }
}

extension UInt8 {
    fileprivate var isWordByte: Bool { self >= 0x80 || isASCIIDigit || (0x61...0x7A).contains(self) }
}
