internal import LarderKit

extension Arguments {
    /// What the options say of a prefetch, as far as they do.
    func prefetchOptions() throws(UsageError) -> PrefetchOptions {
        var options = PrefetchOptions()
        options.plan = try sitePlan()
        options.limits.byteCount = try byteCount(.maxBytes)
        options.limits.time = try time(.maxTime)
        if let patience = try time(.hostPatience) { options.patience = patience }
        options.policy = try choice(.fetchPolicy) ?? .revalidate
        options.allowsShrinking = has(.allowShrink)
        options.network = try networkOptions()
        return options
    }

    private func sitePlan() throws(UsageError) -> SitePlan {
        var plan = SitePlan()
        plan.scope = ScopeOptions(
            extent: try choice(.scope) ?? .host, include: texts(.include), exclude: texts(.exclude),
            depth: try numberIfGiven(.depth, in: 0...65_000))
        plan.sitemaps = texts(.sitemap)
        plan.rules = texts(.rule)
        plan.guesses = !has(.noGuesses)
        plan.connectionsPerHost = try numberIfGiven(.perHost, in: 1...256)
        plan.robots = try choice(.robots)
        plan.nofollow = try choice(.nofollow)
        plan.noindex = try choice(.noindex)
        plan.maxPages = try numberIfGiven(.maxPages, in: 1...Int(Int32.max))
        return plan
    }

    func networkOptions() throws(UsageError) -> NetworkOptions {
        var network = NetworkOptions()
        network.userAgent = text(.userAgent)
        network.headers = texts(.header)
        network.login = try login()
        network.netrc = text(.netrc)
        network.cookies = texts(.cookies)
        network.saveCookies = text(.saveCookies)
        network.proxy = text(.proxy)
        network.authorities = text(.authorities)
        network.certificate = text(.certificate)
        network.certificateKey = text(.certificateKey)
        network.resolve = texts(.resolve)
        network.isInsecure = has(.insecure)
        guard !has(.ipv4) || !has(.ipv6) else {
            throw UsageError("--ipv4 and --ipv6 exclude each other: give one of them")
        }
        network.family = has(.ipv4) ? .ipv4 : has(.ipv6) ? .ipv6 : nil
        network.rate = try byteCount(.rate)
        network.timeout = try time(.timeout)
        network.maxBody = try byteCount(.maxBody)
        network.mayReachPrivate = has(.allowPrivate)
        return network
    }

    private func login() throws(UsageError) -> NetworkOptions.Login? {
        if let token = text(.bearer) {
            guard !has(.user) else { throw UsageError("--user and --bearer exclude each other: give one of them") }
            return .bearer(token: token)
        }
        guard let text = text(.user) else { return nil }
        let digest = "digest:"
        let isDigest = text.hasPrefix(digest)
        let pair = text.dropFirst(isDigest ? digest.count : 0)
        // What was typed is not repeated: it is a secret.
        guard let colon = pair.firstIndex(of: ":") else {
            throw UsageError("--user wants NAME:PASSWORD, or digest:NAME:PASSWORD")
        }
        let (user, password) = (String(pair[..<colon]), String(pair[pair.index(after: colon)...]))
        return isDigest ? .digest(user: user, password: password) : .basic(user: user, password: password)
    }

    private func byteCount(_ option: Option) throws(UsageError) -> Int? {
        guard let size = try size(option) else { return nil }
        guard size.byteCount > 0 else { throw wrong(option, "wants more than nothing, such as 500M or 2G") }
        return Int(size.byteCount)
    }

    /// `90`, `90s`, `10m`, `2h` or `1d`; nil when the option is not given.
    func time(_ option: Option) throws(UsageError) -> Duration? {
        guard let text = text(option) else { return nil }
        let units: [Character: Int] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
        let unit = text.last.flatMap { units[$0] }
        guard let number = Int(unit == nil ? text : String(text.dropLast())), (1...31_536_000).contains(number) else {
            throw wrong(option, "wants a time such as 90s, 10m or 2h, not \"\(text)\"")
        }
        return .seconds(number * (unit ?? 1))
    }
}
