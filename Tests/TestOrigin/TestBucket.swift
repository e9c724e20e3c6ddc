import Glibc

/// A server with the API of Amazon S3 that checks signatures: moto, from PyPI, with a bucket and a key. It
/// ends when the process that started it has ended for any reason.
package struct TestBucket: Sendable {
    /// The server of this process, started on first use.
    package static let running: Result<TestBucket, TestError> = Result { () throws(TestError) in
        try TestBucket()
    }

    /// Whether moto is installed: either by `scripts/test`, or by `pip install 'moto[server,s3]'`, with the
    /// path of that Python in LARDER_TEST_MOTO.
    package static let isInstalled = python() != nil

    package let endpoint: String
    package let bucket = "larder"
    package let keyID: String
    package let secretKey: String

    private static func python() -> String? {
        let own = ChildProcess.built("").split(separator: "/", omittingEmptySubsequences: false)
        let build = own.prefix { $0 != ".build" }.joined(separator: "/") + "/.build/python/bin/python3"
        let named = getenv("LARDER_TEST_MOTO").map { String(cString: $0) }
        return ([named, build].compactMap { $0 }).first { access($0, X_OK) == 0 }
    }

    private init() throws(TestError) {
        guard let python = Self.python() else { throw TestError("starting moto: it is not installed") }
        let process = try ChildProcess(
            python, ["-c", Self.script, "\(getpid())"],
            environment: ["PATH": "/usr/bin:/bin", "HOME": "/nonexistent"],
            errors: .file("/dev/null"))
        let words = process.read(until: "ready\n").split(separator: " ").map(String.init)
        guard words.count == 4 else { throw TestError("starting moto: \(words)") }
        endpoint = "http://127.0.0.1:\(words[0])"
        (keyID, secretKey) = (words[1], words[2])
    }

    /// Starts moto. The first four requests, which create the bucket and the key, need no signature.
    private static let script = """
        import json, os, sys, time
        os.environ["INITIAL_NO_AUTH_ACTION_COUNT"] = "4"
        os.environ.update(AWS_ACCESS_KEY_ID="x", AWS_SECRET_ACCESS_KEY="x", AWS_DEFAULT_REGION="us-east-1")
        import boto3
        from moto.server import ThreadedMotoServer
        server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        server.start()
        host, port = server.get_host_and_port()
        url = f"http://127.0.0.1:{port}"
        boto3.client("s3", endpoint_url=url).create_bucket(Bucket="larder")
        iam = boto3.client("iam", endpoint_url=url)
        iam.create_user(UserName="u")
        key = iam.create_access_key(UserName="u")["AccessKey"]
        allowed = {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}
        policy = json.dumps({"Version": "2012-10-17", "Statement": allowed})
        iam.put_user_policy(UserName="u", PolicyName="p", PolicyDocument=policy)
        print(port, key["AccessKeyId"], key["SecretAccessKey"], "ready", flush=True)
        while os.path.exists("/proc/" + sys.argv[1]):
            time.sleep(0.5)
        os._exit(0)
        """
}
