import Fetch
import TestOrigin
import Testing
import Web

@Suite struct NetrcTests {
    @Test(arguments: [
        ("machine a.test login me password secret", ["a.test": "me:secret"]),
        (
            "machine A.test\n\tlogin me\n\tpassword secret\n\nmachine b.test password p login l\n",
            ["a.test": "me:secret", "b.test": "l:p"]
        ),
        (
            "machine a.test login me account x password secret machine a.test login you password other",
            ["a.test": "me:secret"]
        ),
        (#"machine a.test login "a b" password "q\"\\u""#, ["a.test": #"a b:q"\u"#]),
        ("# machine c.test login c password c\nmachine a.test login l password p # the end", ["a.test": "l:p"]),
        ("default login anonymous password secret", [:]),
        ("machine a.test login l password p default login x password y", ["a.test": "l:p"]),
        ("machine a.test login l", [:]),
        ("machine a.test password p", ["a.test": ":p"]),
        ("macdef init\nmachine x.test login y\n\nmachine a.test login l password p", ["a.test": "l:p"]),
        ("", [:]),
    ])
    func `a file is read`(text: String, logins: [String: String]) throws {
        let netrc = try #require(Netrc(Array(text.utf8)))
        #expect(netrc.logins.mapValues { "\($0.user):\($0.password)" } == logins)
    }

    @Test(arguments: ["machine", "machine a.test login", "me a.test", "machine a.test user me", "login a password"])
    func `a word without meaning is refused`(text: String) {
        #expect(Netrc(Array(text.utf8)) == nil)
    }

    @Test func `an error names the line and shows nothing of it`() throws {
        let folder = try TemporaryFolder()
        let path = try folder.write("machine a.test login SECRET\npassword SECRET\nsecret SECRET\n", to: "netrc")
        let failure = #expect(throws: FetchFailure.self) { try Netrc(file: path) }
        #expect(failure?.detail == "\(path):3: not what a netrc file says here")
        #expect(throws: FetchFailure.self) { try Netrc(file: folder.file("missing")) }
    }

    @Test func `a host's login is sent on any of its ports, and to no other host`() throws {
        let origin = try TestOrigin()
        origin.otherwise { .page($0["Authorization"] ?? "nobody") }
        let fetching = try Fetching { options in
            options.credentials.add(try #require(Netrc(Array("machine 127.0.0.1 login u password p".utf8))))
        }
        #expect(try fetching.response(origin.url("/")).text() == "Basic dTpw")
        #expect(try fetching.response("http://localhost:\(origin.port)/").text() == "nobody")
    }
}
