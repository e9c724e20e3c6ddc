internal import Web

/// Where the shim is, what it is, and how a page comes to have it.
struct Shim: Sendable {
    static let path = "/-/larder/shim.js"

    /// As it is served: the same bytes for as long as the larder's layout is the same.
    let answer: Answer
    /// Goes into pages. With what its bytes are, so that a browser may keep it.
    let tag: [UInt8]

    init(layout: OriginLayout) {
        let script = Array((Self.address(layout) + ShimScript.text + "\n").utf8)
        // FNV-1a: it only has to change when the script does.
        let version = script.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
        tag = Array("<script src=\"\(Self.path)?\(String(version, radix: 36))\"></script>".utf8)
        let fields: [(name: String, value: String)] = [
            ("Content-Type", "text/javascript; charset=utf-8"), ("Cache-Control", "max-age=31536000, immutable"),
        ]
        answer = Answer(status: 200, fields: fields + layout.commonFields, body: script)
    }

    static func isTarget(_ target: String) -> Bool {
        target.hasPrefix(path) && (target.utf8.count == path.utf8.count || target.hasPrefix(path + "?"))
    }

    /// `OriginLayout.address`, for a browser.
    private static func address(_ layout: OriginLayout) -> String {
        guard let root = layout.root else {
            return #"""
                const larderAddress = (url) => {
                  const port = location.port ? ":" + location.port : "";
                  if (url.host === "localhost" + port || url.host.endsWith(".localhost" + port)) return url.href;
                  let name = url.hostname.replace(/^\[(.*)\]$/, (_, address) => address.replaceAll(":", "-") + ".ipv6");
                  // A name that would be read as one with a port has its port written out.
                  const isRead = /.--[1-9]\d{0,4}$/.test(name) && !/(^|\.)xn--\d+$/.test(name);
                  const own = url.port || (isRead ? (url.protocol === "https:" ? "443" : "80") : "");
                  if (own) name += "--" + own;
                  return `http://${name}.localhost${port}${url.pathname}${url.search}${url.hash}`;
                };

                """#
        }
        return #"""
            const larderAddress = (url) => {
              if (url.host === location.host) return url.href;
              const isRoot = \#(JSONText.array(root.origins)).includes(url.origin);
              const place = isRoot ? "" : `\#(RootOrigin.prefix)${url.protocol.slice(0, -1)}/${url.host}`;
              return location.origin + place + url.pathname + url.search + url.hash;
            };

            """#
    }
}

/// A list of words as a script reads it.
private enum JSONText {
    static func array(_ words: [String]) -> String {
        var writer = JSONWriter(.compact)
        writer.array { array in
            for word in words { array.value(word) }
        }
        return writer.text
    }
}
