/// The expected outcome of each case of wget's test suite.
enum WgetTable {
    /// Cases with the same result as with wget.
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
        "tests/Test--httpsonly-r",
        "tests/Test--spider-fail",
        "tests/Test--spider-r--no-content-disposition-trivial",
        "tests/Test--spider-r--no-content-disposition",
        "tests/Test--spider-r-HTTP-Content-Disposition",
        "tests/Test--spider-r",
        "tests/Test--spider",
        "testenv/Test--spider-r",
        "testenv/Test-redirect-crash",
        "testenv/Test-reserved-chars",
        "tests/Test-i-http",
        "tests/Test-idn-cmd-utf8",
        "tests/Test-idn-headers",
        "tests/Test-idn-meta",
        "tests/Test-idn-robots-utf8",
        "tests/Test-proxy-auth-basic",
        "tests/Test-meta-robots",
    ]

    /// Cases that do not apply, or whose result differs on purpose, with the reason.
    static let others: [(reason: String, ids: [String])] = [
        (
            "a crawl asks by GET alone; other methods are only sent on what a browser asks of the server",
            ["tests/Test--post-file", "testenv/Test-Head", "testenv/Test-Post"]
        ),
        (
            "a part of a file is asked for only to go on with what is there of it",
            ["tests/Test--start-pos--continue", "tests/Test--start-pos"]
        ),
        (
            "how local files are named: there are none, and bodies stay as they came",
            [
                "tests/Test-E-k", "tests/Test-Restrict-Lowercase", "tests/Test-Restrict-Uppercase",
                "tests/Test-restrict-ascii",
            ]
        ),
        (
            "wget compares sizes although the date is the same; a server that confirms the date is believed",
            ["tests/Test-N-smaller"]
        ),
        (
            "wget keeps the longer file that is there; what the server has now is what counts",
            ["tests/Test-c-shorter"]
        ),
        (
            "FTP is not spoken: only http and https are fetched",
            [
                "tests/Test-ftp--start-pos", "tests/Test-ftp-bad-list", "tests/Test-ftp-dir",
                "tests/Test-ftp-iri-disabled", "tests/Test-ftp-iri-fallback", "tests/Test-ftp-iri-recursive",
                "tests/Test-ftp-iri", "tests/Test-ftp-list-Multinet", "tests/Test-ftp-list-UNIX-hidden",
                "tests/Test-ftp-list-Unknown-a", "tests/Test-ftp-list-Unknown-hidden",
                "tests/Test-ftp-list-Unknown-list-a-fails", "tests/Test-ftp-list-Unknown",
                "tests/Test-ftp-pasv-fail",
                "tests/Test-ftp-pasv-not-supported", "tests/Test-ftp-recursive", "tests/Test-ftp",
                "tests/Test-i-ftp",
            ]
        ),
        (
            "what is typed is UTF-8, and not in the encoding that an option names",
            ["tests/Test-idn-cmd", "tests/Test-idn-robots"]
        ),
        (
            "paths are encoded by the URL standard, in UTF-8 whatever the page is written in, and percents stay",
            ["tests/Test-iri-disabled", "tests/Test-iri-list", "tests/Test-iri-percent"]
        ),
        (
            "nothing is written to standard output; a disk that is full is tested in the store's own tests",
            ["tests/Test-stdouterr"]
        ),
        (
            "needs TLS: certificates, revocation and HSTS are tested in TLSTests and StrictTransportTests",
            [
                "testenv/Test--https-crl", "testenv/Test--https", "testenv/Test-hsts", "testenv/Test-https-k",
            ]
        ),
        (
            "the exit status of a command line without an URL is tested in CLITests",
            ["testenv/Test-missing-scheme-retval"]
        ),
        (
            "a start that was moved takes its site along, so that the folder where it is now is followed too",
            ["testenv/Test-recursive-redirect"]
        ),
    ]
}
