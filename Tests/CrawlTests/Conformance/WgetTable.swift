/// What becomes of each of wget's tests.
enum WgetTable {
    /// Done as wget does it.
    static let met: [String] = [
        "tests/Test--no-content-disposition-trivial",
        "tests/Test--no-content-disposition",
        "tests/Test-204",
        "tests/Test-E-k-K",
        "tests/Test-HTTP-Content-Disposition-1",
        "tests/Test-HTTP-Content-Disposition-2",
        "tests/Test-HTTP-Content-Disposition",
        "tests/Test-N--no-content-disposition-trivial",
        "tests/Test-N--no-content-disposition",
        "tests/Test-N-HTTP-Content-Disposition",
        "tests/Test-N-current",
        "tests/Test-N-no-info",
        "tests/Test-N-old",
        "tests/Test-N",
        "tests/Test-O--no-content-disposition-trivial",
        "tests/Test-O--no-content-disposition",
        "tests/Test-O-HTTP-Content-Disposition",
        "tests/Test-O-nc",
        "tests/Test-O-nonexisting",
        "tests/Test-O",
        "tests/Test-c-full",
        "tests/Test-c-partial",
        "tests/Test-c",
        "tests/Test-cookies-401",
        "tests/Test-cookies",
        "tests/Test-iri-forced-remote",
        "tests/Test-iri",
        "tests/Test-nonexisting-quiet",
        "tests/Test-noop",
        "tests/Test-np",
        "testenv/Test--convert-links--content-on-error",
        "testenv/Test--rejected-log",
        "testenv/Test-416",
        "testenv/Test-504",
        "testenv/Test-Content-disposition-2",
        "testenv/Test-Content-disposition",
        "testenv/Test-O",
        "testenv/Test-Proto",
        "testenv/Test-auth-basic-fail",
        "testenv/Test-auth-basic-netrc-pass-given",
        "testenv/Test-auth-basic-netrc-user-given",
        "testenv/Test-auth-basic-netrc",
        "testenv/Test-auth-basic-no-netrc-fail",
        "testenv/Test-auth-basic",
        "testenv/Test-auth-both",
        "testenv/Test-auth-digest",
        "testenv/Test-auth-no-challenge-url",
        "testenv/Test-auth-no-challenge",
        "testenv/Test-auth-retcode",
        "testenv/Test-auth-with-content-disposition",
        "testenv/Test-c-full",
        "testenv/Test-condget",
        "testenv/Test-cookie-401",
        "testenv/Test-cookie-domain-mismatch",
        "testenv/Test-cookie-expires",
        "testenv/Test-cookie",
        "testenv/Test-k",
        "testenv/Test-recursive-basic",
        "testenv/Test-recursive-include",
        "testenv/Test-recursive-pathmax",
        "testenv/Test-redirect",
        "testenv/test_css_url",
    ]

    /// Left out, or done otherwise on purpose.
    static let others: [(reason: String, ids: [String])] = [
        (
            "its pages may be had by either scheme",
            [
                "tests/Test--httpsonly-r"
            ]
        ),
        (
            "nothing is sent but what a page asks for",
            [
                "tests/Test--post-file",
                "testenv/Test-Head",
                "testenv/Test-Post",
            ]
        ),
        (
            "looking at a site without keeping it is `larder plan`",
            [
                "tests/Test--spider-fail",
                "tests/Test--spider-r--no-content-disposition-trivial",
                "tests/Test--spider-r--no-content-disposition",
                "tests/Test--spider-r-HTTP-Content-Disposition",
                "tests/Test--spider-r",
                "tests/Test--spider",
                "testenv/Test--spider-r",
                "testenv/Test-redirect-crash",
                "testenv/Test-reserved-chars",
            ]
        ),
        (
            "where to begin in a file is not for anybody to say",
            [
                "tests/Test--start-pos--continue",
                "tests/Test--start-pos",
            ]
        ),
        (
            "files have the names of their URLs, and links are rewritten when they are served",
            [
                "tests/Test-E-k",
                "tests/Test-Restrict-Lowercase",
                "tests/Test-Restrict-Uppercase",
                "tests/Test-restrict-ascii",
            ]
        ),
        (
            "a date that the server confirms is believed",
            [
                "tests/Test-N-smaller"
            ]
        ),
        (
            "what the server has counts, not what is longer",
            [
                "tests/Test-c-shorter"
            ]
        ),
        (
            "only http and https are fetched",
            [
                "tests/Test-ftp--start-pos",
                "tests/Test-ftp-bad-list",
                "tests/Test-ftp-dir",
                "tests/Test-ftp-iri-disabled",
                "tests/Test-ftp-iri-fallback",
                "tests/Test-ftp-iri-recursive",
                "tests/Test-ftp-iri",
                "tests/Test-ftp-list-Multinet",
                "tests/Test-ftp-list-UNIX-hidden",
                "tests/Test-ftp-list-Unknown-a",
                "tests/Test-ftp-list-Unknown-hidden",
                "tests/Test-ftp-list-Unknown-list-a-fails",
                "tests/Test-ftp-list-Unknown",
                "tests/Test-ftp-pasv-fail",
                "tests/Test-ftp-pasv-not-supported",
                "tests/Test-ftp-recursive",
                "tests/Test-ftp",
                "tests/Test-i-ftp",
            ]
        ),
        (
            "a list of pages goes along with a start",
            [
                "tests/Test-i-http"
            ]
        ),
        (
            "proxies have their own tests",
            [
                "tests/Test-idn-cmd-utf8",
                "tests/Test-idn-cmd",
                "tests/Test-idn-headers",
                "tests/Test-idn-meta",
                "tests/Test-idn-robots-utf8",
                "tests/Test-idn-robots",
                "tests/Test-proxy-auth-basic",
            ]
        ),
        (
            "paths are encoded as browsers do it, whatever the command line says",
            [
                "tests/Test-iri-disabled",
                "tests/Test-iri-list",
                "tests/Test-iri-percent",
            ]
        ),
        (
            "nofollow is not asked for by default",
            [
                "tests/Test-meta-robots"
            ]
        ),
        (
            "output goes to a larder",
            [
                "tests/Test-stdouterr"
            ]
        ),
        (
            "TLS has its own tests",
            [
                "testenv/Test--https-crl",
                "testenv/Test--https",
                "testenv/Test-hsts",
                "testenv/Test-https-k",
            ]
        ),
        (
            "a command line without an URL is the command's own matter",
            [
                "testenv/Test-missing-scheme-retval"
            ]
        ),
        (
            "a start that was moved takes its site along",
            [
                "testenv/Test-recursive-redirect"
            ]
        ),
    ]
}
