internal import Markup
internal import Web

/// Where the shim is, what it is, and how a page comes to have it.
struct Shim: Sendable {
    /// What every origin has of the larder's; nobody's site has it.
    static let folder = "/-/larder/"
    static let path = folder + "shim.js"
    /// Behind it the name of an origin is asked for: what a registrable domain is, the server knows.
    static let names = folder + "name/"
    /// Behind it stands where somebody is to be led.
    static let ways = folder + "to/"

    /// As it is served: the same bytes for as long as the larder's layout is the same.
    let answer: Answer
    /// With what its bytes are, so that a browser may keep it.
    private let address: String

    init(layout: OriginLayout) {
        // In a block, so that nothing of it has a name that the page's scripts could meet.
        let script = Array("{\n\(Self.address(layout))\(ShimScript.text)\n}\n".utf8)
        // FNV-1a: it only has to change when the script does.
        let version = script.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
        address = "\(Self.path)?\(String(version, radix: 36))"
        let fields: [(name: String, value: String)] = [
            ("Content-Type", "text/javascript; charset=utf-8"), ("Cache-Control", "max-age=31536000, immutable"),
        ]
        answer = Answer(status: 200, fields: fields + layout.commonFields, body: script, sharing: .everybodys)
    }

    /// Goes into documents. It is told where these have others shown.
    func tag(_ format: BodyFormat, _ layout: OriginLayout) -> [UInt8] {
        let space = format.isXMLDocument ? " xmlns=\"http://www.w3.org/1999/xhtml\"" : ""
        let folder = layout.folder == RootOrigin.prefix ? "" : "&\(layout.folder)"
        return Array("<script\(space) src=\"\(address)\(folder)\"></script>".utf8)
    }

    static func nameAnswer(_ name: String) -> Answer {
        .text(200, name, fields: [("Cache-Control", "max-age=86400")], sharing: .everybodys)
    }

    static func isTarget(_ target: String) -> Bool {
        target.hasPrefix(path) && (target.utf8.count == path.utf8.count || target.hasPrefix(path + "?"))
    }

    /// `OriginLayout.address`, for a browser, and the name of a domain.
    private static func address(_ layout: OriginLayout) -> String {
        guard let root = layout.root else {
            return #"""
                const larderHere = new URL(document.currentScript.src);
                const larderIsInside = \#(!layout.allowsNetwork);
                const larderName = ((names) => (origin) => {
                  if (!names.has(origin)) {
                    // At once, since addresses are: it is this machine that is asked.
                    const request = new XMLHttpRequest();
                    request.open("GET", larderHere.origin + "\#(Shim.names)" + origin, false);
                    request.send();
                    names.set(origin, request.status === 200 ? request.responseText : "");
                  }
                  return names.get(origin);
                })(new Map());
                const larderAddress = (url) => {
                  const port = larderHere.port ? ":" + larderHere.port : "";
                  if (url.host === "localhost" + port || url.host.endsWith(".localhost" + port)) return url.href;
                  let name = "";
                  try {
                    name = larderName(url.origin);
                  } catch {
                    // A page that is on its way out may not wait.
                  }
                  return name
                    ? `http://${name}${port}${url.pathname}${url.search}${url.hash}`
                    : larderHere.origin + "\#(Shim.ways)" + url.href;
                };
                const larderDomain = (domain) => {
                  try {
                    return domain.endsWith(".localhost") ? domain : larderName("https://" + domain.replace(/^\./, ""));
                  } catch {
                    return "";
                  }
                };

                """#
        }
        return #"""
            const larderHere = new URL(document.currentScript.src);
            const larderIsInside = \#(!layout.allowsNetwork);
            const larderAddress = (url) => {
              const others = larderHere.search.split("&")[1] ?? "\#(RootOrigin.prefix)";
              if (url.hostname === "\#(OriginLayout.portalName)" && url.port === larderHere.port) return url.href;
              if (url.host === larderHere.host)
                return url.href.replace(larderHere.origin + "\#(RootOrigin.prefix)", larderHere.origin + others);
              const isRoot = \#(JSONText.array(root.origins)).includes(url.origin);
              const place = isRoot ? "" : `${others}${url.protocol.slice(0, -1)}/${url.host}`;
              return larderHere.origin + place + url.pathname + url.search + url.hash;
            };
            const larderDomain = () => "";

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
