import Digest
import Glibc
import Store
import System
import TestOrigin
import Testing
import Web

@testable import LarderKit

/// Tests of bodies in buckets of Amazon S3 and compatible servers.
struct S3BodyDepotTests {
    private let scratch: TemporaryFolder

    init() throws {
        scratch = try TemporaryFolder()
        #expect(mkdir(scratch.file("incoming"), 0o700) == 0)
    }

    /// A bucket with test credentials, whose settings are the parameters of the store's address.
    private func depot(
        _ words: String, id: String = "KEYID", secret: String = "sec/ret+key", _ more: [String: String] = [:]
    ) throws -> S3BodyDepot {
        let folder = StoreFolder("postgres://h/db?folder=\(scratch.path)&\(words)")
        let place = try #require(folder.server?.bodies)
        let variables = more.merging(["AWS_ACCESS_KEY_ID": id, "AWS_SECRET_ACCESS_KEY": secret]) { $1 }
        let depot = try S3BodyDepot(place, folder) { variables[$0] }
        depot.maxAttempts = 3
        return depot
    }

    private static func body(_ name: String, _ bytes: [UInt8]) -> BodyUpload {
        BodyUpload(
            name: name, content: .bytes(bytes), byteCount: bytes.count,
            sha256: DigestStream.digest(.sha256, of: bytes.span).bytes)
    }

    private static let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

    // MARK: Signatures

    /// The examples of Amazon's document "Signature Calculations for the Authorization Header".
    @Test(
        arguments: [
            (
                "GET", "/test.txt", "", [("range", "bytes=0-9")], empty,
                "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
            ),
            (
                "PUT", "/test%24file.text", "",
                [("date", "Fri, 24 May 2013 00:00:00 GMT"), ("x-amz-storage-class", "REDUCED_REDUNDANCY")],
                "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
                "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"
            ),
            (
                "GET", "/", "lifecycle=", [], empty,
                "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"
            ),
            (
                "GET", "/", "max-keys=2&prefix=J", [], empty,
                "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"
            ),
        ] as [(String, String, String, [(String, String)], String, String)])
    func `requests are signed as Amazon's examples are`(
        method: String, path: String, query: String, fields: [(String, String)], body: String,
        signature: String
    ) {
        let signed =
            fields + [
                ("host", "examplebucket.s3.amazonaws.com"), ("x-amz-content-sha256", body),
                ("x-amz-date", "20130524T000000Z"),
            ]
        let text = S3Signature.authorization(
            method: method, path: path, query: query, signed: signed.sorted { $0.0 < $1.0 }, body: body,
            S3Keys(id: "AKIAIOSFODNN7EXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
            time: "20130524T000000Z", region: "us-east-1", service: "s3")
        #expect(
            text.hasPrefix(
                "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "))
        #expect(text.hasSuffix("Signature=\(signature)"), "\(text)")
    }

    /// The expected signatures come from botocore's S3SigV4Auth.
    @Test func `requests have the same signatures as those of botocore`() throws {
        func signature(_ call: S3Request, _ endpoint: String, token: String? = nil) throws -> String {
            let origin = S3Origin(url: try #require(WebURL(endpoint)), bucket: "bkt", region: "eu-west-1")
            let now = try #require(HTTPDate(iso8601: "2026-01-02T03:04:05Z"))
            let fields = S3Signature.fields(
                of: call, to: origin, S3Keys(id: "KEYID", secret: "sec/ret+key", token: token), now: now)
            #expect(fields["x-amz-security-token"] == token)
            return try #require(fields["Authorization"]?.split(separator: "=").last.map(String.init))
        }
        var range = S3Request(method: "GET", key: "pre/ab/abcd")
        range.fields = ["Range": "bytes=0-63"]
        #expect(
            try signature(range, "http://127.0.0.1:9000")
                == "7c21249ece014d31dbe4afcc95457712400e23853c6dfa286c98aac26c0f3458")
        var part = S3Request(
            method: "PUT", key: "pre/ab/abcd", words: ["uploadId": "a/b+c=", "partNumber": "2"])
        part.body = Array("hello".utf8)
        #expect(part.query == "partNumber=2&uploadId=a%2Fb%2Bc%3D")
        #expect(
            try signature(part, "http://127.0.0.1:9000", token: "to/ken==")
                == "4b21bb49ebc8a25246cbc2f3c0180a1ed72bf27a4fb15a50c6e90cf6839802ba")
        let list = S3Request(
            method: "GET", key: "", words: ["list-type": "2", "prefix": "pre/", "start-after": "pre/ab/abcd"])
        #expect(
            try signature(list, "https://s3.eu-west-1.amazonaws.com")
                == "ed845fa15c68363e181de76336166529fbfcfc94d77949f63329f449e0ab95e3")
    }

    // MARK: A server that verifies signatures

    @Test(.enabled(if: TestBucket.isInstalled, "moto is not installed (scripts/test, or LARDER_TEST_MOTO)"))
    func `bodies are stored in a bucket and read back, large ones in parts`() throws {
        let server = try TestBucket.running.get()
        let depot = try depot(
            "bodies=s3://\(server.bucket)/a.b/c&s3-endpoint=\(server.endpoint)", id: server.keyID,
            secret: server.secretKey)
        let small = (0..<40).map { number in
            Self.body("\(number + 10)/x\(number)", (0..<(number * 100)).map { UInt8(truncatingIfNeeded: $0) })
        }
        let bytes = (0..<20_000_003).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 9) }
        let path = try scratch.write(bytes, to: "large")
        let large = BodyUpload(name: "99/large", content: .file(path: path), byteCount: bytes.count)
        try depot.put(small + [large])
        #expect(try depot.byteCounts(["10/x0", "13/x3", "99/large", "no/no"]) == [0, 300, bytes.count, nil])
        #expect(try depot.read("99/large", from: 19_999_999, byteCount: 100) == Array(bytes.suffix(4)))
        #expect(try depot.read("13/x3", from: 2, byteCount: 3) == [2, 3, 4])
        #expect(try depot.read("13/x3", from: 300, byteCount: 3) == [])
        #expect(try depot.read("no/no", from: 0, byteCount: 3) == nil)
        guard case .copy(let copy)? = try depot.file("99/large", in: scratch.file("incoming")) else {
            return #expect(Bool(false))
        }
        #expect(try WholeFile.read(copy, atMost: .max - 1) == bytes)
        #expect(try depot.file("no/no", in: scratch.file("incoming")) == nil)
        #expect(try depot.list(after: "").map(\.name) == small.map(\.name) + ["99/large"])
        let rest = try depot.list(after: "48/x38")
        #expect(rest.map(\.name) == ["49/x39", "99/large"] && rest.map(\.byteCount) == [3900, bytes.count])
        #expect(rest.allSatisfy { (0..<600).contains($0.ageSeconds) })
        try depot.remove(small.map(\.name) + ["no/no"])
        #expect(try depot.list(after: "").map(\.name) == ["99/large"])
        let wrong = try self.depot(
            "bodies=s3://\(server.bucket)/a.b/c&s3-endpoint=\(server.endpoint)", id: server.keyID)
        let error = #expect(throws: StoreError.self) { try wrong.list(after: "") }
        #expect(error?.description.contains("SignatureDoesNotMatch") == true)
        #expect(error?.description.contains("; check AWS_ACCESS_KEY_ID") == true)
    }

    @Test(
        .enabled(if: TestBucket.isInstalled, "moto is not installed (scripts/test, or LARDER_TEST_MOTO)"),
        .enabled(if: TestPostgreSQL.isInstalled, "PostgreSQL is not installed (apt install postgresql)"))
    func `a site whose bodies are in a bucket is prefetched, served, inspected and removed`() async throws {
        let server = try TestBucket.running.get()
        setenv("AWS_ACCESS_KEY_ID", server.keyID, 1)
        setenv("AWS_SECRET_ACCESS_KEY", server.secretKey, 1)
        let place =
            try TestPostgreSQL.running.get().place(
                scratch.file("store"), bodies: "s3://\(server.bucket)/sites")
            + "&s3-endpoint=\(server.endpoint)"
        let origin = try TestOrigin()
        let words = String(repeating: "<p>words of a page</p>", count: 6000)
        let picture = (0..<2_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        origin.on("/", .page("<img src=/picture.png>\(words)"))
        origin.on("/picture.png", .file(picture, type: "image/png"))
        let larder = Larder(at: place)
        let report = try await larder.prefetch([origin.url("/")])
        #expect(report.isComplete && report.pages == 1 && report.assets == 1)
        #expect(try await larder.inspect().damaged.isEmpty)
        var options = ServeOptions()
        options.root = origin.url("/")
        let service = try larder.serve(port: 0, threads: 1, options: options)
        let client = try RawClient(port: Int(service.port))
        let whole = try client.get("/picture.png", host: "localhost:\(service.port)")
        #expect(whole.status == 200 && whole.body == picture)
        let part = try client.get(
            "/picture.png", host: "localhost:\(service.port)", fields: [("Range", "bytes=1999990-")])
        #expect(part.status == 206 && part.body == Array(picture.suffix(10)))
        #expect(try client.get("/", host: "localhost:\(service.port)").text.contains("words of a page"))
        service.stop()
        let condition = try await larder.storeStatus()
        #expect(condition.json.contains("s3://\(server.bucket)/sites"))
        _ = try await larder.remove(origin.url("/"))
        _ = try await larder.prune()
        let depot = try depot(
            "bodies=\(try #require(StoreFolder(place).server?.bodies?.text))&s3-endpoint=\(server.endpoint)",
            id: server.keyID, secret: server.secretKey)
        #expect(try depot.list(after: "").map(\.name) == ["larder"])
    }

    // MARK: Servers that refuse

    /// An error response as S3 sends it.
    private static func error(_ status: Int, _ code: String, _ fields: [(String, String)] = [])
        -> OriginAnswer
    {
        OriginAnswer(
            status: status, fields: fields,
            text: "<Error><Code>\(code)</Code><Message>It says \(code) &amp; more</Message></Error>")
    }

    @Test func `temporary failures are retried, and each upload has the digest of its body`() throws {
        let origin = try TestOrigin()
        origin.on("/b/p/aa/1", Self.error(503, "SlowDown"), Self.error(500, "InternalError"), OriginAnswer())
        origin.on("/b/p/aa/2", OriginAnswer())
        let depot = try depot("bodies=s3://b/p&s3-endpoint=\(origin.base)")
        try depot.put([Self.body("aa/1", [1, 2]), Self.body("aa/2", [3])])
        #expect(origin.requests(to: "/b/p/aa/1").count == 3)
        #expect(origin.requests(to: "/b/p/aa/2").count == 1)
        let request = try #require(origin.requests(to: "/b/p/aa/1").last)
        #expect(request.method == "PUT" && request.body == [1, 2])
        #expect(
            request["x-amz-content-sha256"] == DigestStream.digest(.sha256, of: ([1, 2] as [UInt8]).span).hex)
        #expect(request["Authorization"]?.contains("secret") == false)
    }

    @Test func `a clock that is an hour late is corrected by the server's Date`() throws {
        let origin = try TestOrigin()
        let later = HTTPDate(secondsSinceEpoch: SystemClock.secondsSinceEpoch() + 3600)
        origin.on("/b/aa/1", Self.error(403, "RequestTimeTooSkewed", [("Date", later.text)]), OriginAnswer())
        try depot("bodies=s3://b&s3-endpoint=\(origin.base)").put([Self.body("aa/1", [1])])
        let dates = origin.requests(to: "/b/aa/1").compactMap { $0["x-amz-date"] }
        #expect(dates.count == 2 && dates[1] >= later.iso8601.filter { $0 != "-" && $0 != ":" })
    }

    @Test(
        arguments: [
            (403, "AccessDenied", [], StoreError.Reason.denied, "allow this key s3:GetObject"),
            (403, "InvalidAccessKeyId", [], .denied, "check AWS_ACCESS_KEY_ID"),
            (404, "NoSuchBucket", [], .missing, "create the bucket"),
            (507, "XMinioStorageFull", [], .full, "free some space in the bucket"),
            (503, "SlowDown", [], .unreachable, "check the state of http://"),
            (
                301, "PermanentRedirect", [("x-amz-bucket-region", "eu-north-1")], .request,
                "s3-region=eu-north-1"
            ),
            (400, "Nonsense", [], .failed, "is an S3 endpoint"),
        ] as [(Int, String, [(String, String)], StoreError.Reason, String)])
    func `an error response of S3 is reported with advice`(
        status: Int, code: String, fields: [(String, String)], reason: StoreError.Reason, advice: String
    ) throws {
        let origin = try TestOrigin()
        origin.otherwise { _ in Self.error(status, code, fields) }
        let depot = try depot("bodies=s3://b/p&s3-endpoint=\(origin.base)")
        for use in [
            { try depot.put([Self.body("aa/1", [1])]) }, { _ = try depot.list(after: "") },
            { _ = try depot.read("aa/1", from: 0, byteCount: 1) },
        ] as [() throws -> Void] {
            let error = #expect(throws: StoreError.self) { try use() }
            #expect(error?.reason == reason, "\(String(describing: error))")
            #expect(error?.advice.contains(advice) == true, "\(String(describing: error))")
            #expect(error?.path == "s3://b/p")
            #expect(error?.description.contains("sec/ret") == false)
        }
    }

    @Test func `an unreachable server and a missing key are reported with advice`() throws {
        let origin = try TestOrigin()
        let depot = try depot("bodies=s3://b/p&s3-endpoint=\(origin.base)")
        origin.stop()
        let error = #expect(throws: StoreError.self) { try depot.byteCounts(["aa/1"]) }
        #expect(error?.reason == .unreachable)
        #expect(error?.description.contains("; check that the server is running") == true)
        let nobody = #expect(throws: StoreError.self) { try self.depot("bodies=s3://b", id: "") }
        #expect(nobody?.description.contains("; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY") == true)
        let odd = #expect(throws: StoreError.self) {
            try self.depot("bodies=s3://b", ["AWS_ENDPOINT_URL": "http://ann:secret@minio"])
        }
        #expect(odd?.description.contains("secret") == false)
    }

    @Test func `a truncated list is continued, and a failed multipart upload is aborted`() throws {
        let origin = try TestOrigin()
        func list(_ key: String, more: Bool) -> OriginAnswer {
            OriginAnswer(
                text: """
                    <ListBucketResult><IsTruncated>\(more)</IsTruncated><Contents><Key>p/\(key)</Key>
                    <LastModified>2026-01-02T03:04:05.000Z</LastModified><Size>7</Size></Contents></ListBucketResult>
                    """)
        }
        origin.on("/b?list-type=2&prefix=p%2F", list("aa/1", more: true))
        origin.on("/b?list-type=2&prefix=p%2F&start-after=p%2Faa%2F1", list("aa/2", more: false))
        let depot = try depot("bodies=s3://b/p&s3-endpoint=\(origin.base)")
        #expect(try depot.list(after: "").map(\.name) == ["aa/1"])
        #expect(try depot.list(after: "aa/1").map(\.name) == ["aa/2"])
        origin.on("/b/p/aa/1?uploads=", OriginAnswer(text: "<R><UploadId>u1</UploadId></R>"))
        origin.on("/b/p/aa/1", Self.error(403, "AccessDenied"))
        let path = try scratch.write(Array(repeating: 1, count: 17_000_000), to: "large")
        #expect(throws: StoreError.self) {
            try depot.put([BodyUpload(name: "aa/1", content: .file(path: path), byteCount: 17_000_000)])
        }
        #expect(origin.requests(to: "/b/p/aa/1?uploadId=u1").map(\.method) == ["DELETE"])
    }
}
