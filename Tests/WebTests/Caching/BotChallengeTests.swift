import Testing
import Web

/// Pages that check whether the client is a browser, and pages that only look like them.
@Suite struct BotChallengeTests {
    @Test(arguments: [
        (403, "cf-mitigated", "challenge", "Cloudflare"), (429, "x-vercel-mitigated", "challenge", "Vercel"),
        (202, "x-amzn-waf-action", "challenge", "AWS WAF"), (405, "X-Amzn-Waf-Action", "captcha", "AWS WAF"),
        (429, "x-kpsdk-ct", "0a1b", "Kasada"), (200, "x-kpsdk-ct", "0a1b", nil),
        (403, "cf-mitigated", "block", nil),
        (403, "Server", "cloudflare", nil),
    ])
    func `a header field announces a challenge`(status: Int, name: String, value: String, service: String?) {
        var fields = HTTPFields()
        fields.append(name, value)
        #expect(BotChallenge(status: status, fields: fields)?.service == service)
    }

    @Test(arguments: [
        (
            403,
            "<title>Just a moment...</title><noscript>Enable JavaScript and cookies to continue</noscript>"
                + "<script>window._cf_chl_opt={cvId:'3'};a.src='/cdn-cgi/challenge-platform/h/g/orchestrate/chl_page/v1'</script>",
            "Cloudflare"
        ),
        (
            200,
            "<title>Making sure you&#39;re not a bot!</title><script id=\"anubis_challenge\" type=\"application/json\">{}</script>",
            "Anubis"
        ),
        (
            403,
            "<title>shop.test</title><p id=cmsg>Please enable JS and disable any ad blocker</p>"
                + "<script src=\"https://ct.captcha-delivery.com/c.js\"></script>", "DataDome"
        ),
        (
            200, "<iframe src=\"/_Incapsula_Resource?SWUDNSAI=31&xinfo=1\">Request unsuccessful.</iframe>",
            "Imperva"
        ),
        (
            403, "<title>Access to this page has been denied</title><div id=\"px-captcha\"></div>", "HUMAN"
        ),
        (
            429,
            "<title>Too many requests</title><p>Please verify that you are human.<div class=\"g-recaptcha\"></div>",
            ""
        ),
        (
            503, "<title>One moment</title><p>Checking your browser before accessing example.test.", ""
        ),
        (
            200, "<title>Robot Check</title><p>Enter the characters you see below<form><input name=c></form>",
            ""
        ),
    ])
    func `a document is a challenge`(status: Int, document: String, service: String) {
        #expect(BotChallenge(status: status, body: document.utf8.span)?.service == service)
    }

    private static let article = String(repeating: "Words of an article about walls. ", count: 60)

    @Test(arguments: [
        (
            200,
            "<title>App</title><noscript>You need to enable JavaScript to run this app.</noscript><div id=root></div>"
        ),
        (403, "<title>403 Forbidden</title><h1>Forbidden</h1><p>You do not have permission."),
        (
            200,
            "<title>Contact</title><p>Write to us.<form method=post><textarea></textarea><div class=g-recaptcha></div>"
        ),
        (
            200,
            "<title>Sign in</title><form method=post><input type=password><div class=h-captcha></div></form>"
        ),
        (
            200,
            "<title>How Cloudflare works</title><p>It says: checking your browser before accessing. \(article)"
        ),
        (200, "<title>Captcha</title>\(article)<div class=g-recaptcha></div>"),
        (404, "<title>Not found</title><p>Nothing here."), (200, ""),
        // Scripts of services in ordinary pages.
        (
            200,
            "<title>App</title><div id=root></div><script src=\"/_Incapsula_Resource?SWJIYLWA=719d&ns=1\"></script>"
        ),
        (
            200,
            "<title>Home</title><p>Hello<script>a.src='/cdn-cgi/challenge-platform/h/b/scripts/jsd/main.js'</script>"
        ),
        (200, "<title>Shop</title><script>AwsWafIntegration.getToken()</script><p>Welcome"),
        (403, "<title>Members</title><p>Members only.<script src=\"/recaptcha/api.js\"></script>"),
        (200, "<title>Security checklist for admins</title><p>Verify you are human beings first."),
    ])
    func `a document is not a challenge`(status: Int, document: String) {
        #expect(BotChallenge(status: status, body: document.utf8.span) == nil)
    }
}
