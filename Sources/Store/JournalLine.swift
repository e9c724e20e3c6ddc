internal import Web

/// What a line of the journal says. Its keys are short, since there are many.
enum JournalLine {
    struct Response: JSONWritable {
        var href: String
        var visit: Int64
        var request: String
        var variant: String
        var status: Int64
        var role: Int64
        var flags: Int64
        var requested: Int64
        var fetched: Int64
        var type: String?
        var referrer: String?
        var fields: String
        var sha256: String?
        var form: String?
    }

    struct Body: JSONWritable {
        var sha256: String
        var form: String
        var byteCount: Int64
        var title: String?
        var md5: String?
        /// Nil for what is in a file of its own, or in the line.
        var place: PackPlace?
        var bytes: [UInt8]?
    }

    /// All sites, visits and pins, as they are from this time on.
    struct State: JSONWritable {
        /// In microseconds since 1970. What a damaged database said counts least.
        var time: Int64
        var sites: [Site] = []
        var visits: [Visit] = []
        var pins: [Pin] = []

        struct Site: JSONWritable {
            var id: Int64
            var name: String
            var start: String
            var published: Int64?
            var settings: String
            var overlay: Int64?
        }

        struct Visit: JSONWritable {
            var id: Int64
            var site: Int64
            var started: Int64
            var finished: Int64?
            var base: Int64?
        }

        struct Pin: JSONWritable {
            var kind: String
            var value: String
            var added: Int64
        }
    }

    case response(Response)
    case body(Body)
    case state(State)

    /// Nil for what is none, or of a later larder.
    init?(_ json: JSONValue) {
        if let line = Response(json) {
            self = .response(line)
        } else if let line = Body(json) {
            self = .body(line)
        } else if let line = State(json) {
            self = .state(line)
        } else {
            return nil
        }
    }
}

extension JSONValue {
    fileprivate func integer(_ key: String) -> Int64? { self[key]?.int.map { Int64($0) } }
}

extension JournalLine.Response {
    init?(_ json: JSONValue) {
        guard let href = json["r"]?.string, let visit = json.integer("v"), let status = json.integer("s"),
            let fields = json["h"]?.string, let requested = json.integer("t"), let fetched = json.integer("u")
        else { return nil }
        self.init(
            href: href, visit: visit, request: json["q"]?.string ?? "", variant: json["x"]?.string ?? "",
            status: status, role: json.integer("o") ?? 0, flags: json.integer("f") ?? 0, requested: requested,
            fetched: fetched, type: json["m"]?.string, referrer: json["w"]?.string, fields: fields,
            sha256: json["b"]?.string, form: json["k"]?.string)
    }

    func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("r", href)
            object.member("v", visit)
            if !request.isEmpty { object.member("q", request) }
            if !variant.isEmpty { object.member("x", variant) }
            object.member("s", status)
            if role != 0 { object.member("o", role) }
            if flags != 0 { object.member("f", flags) }
            object.member("t", requested)
            object.member("u", fetched)
            object.memberIfPresent("m", type)
            object.memberIfPresent("w", referrer)
            object.member("h", fields)
            object.memberIfPresent("b", sha256)
            object.memberIfPresent("k", form)
        }
    }
}

extension JournalLine.Body {
    init?(_ json: JSONValue) {
        guard let sha256 = json["body"]?.string, let form = json["form"]?.string,
            let size = json.integer("size")
        else { return nil }
        var place: PackPlace?
        if let pack = json.integer("pack"), let start = json.integer("start") {
            place = PackPlace(
                pack: pack, start: start,
                frameByteCount: json.integer("frame").map { Int(clamping: $0) })
        }
        self.init(
            sha256: sha256, form: form, byteCount: size, title: json["title"]?.string,
            md5: json["md5"]?.string,
            place: place, bytes: json["bytes"]?.string.flatMap { Base64.decode($0) })
    }

    func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("body", sha256)
            object.member("form", form)
            object.member("size", byteCount)
            object.memberIfPresent("title", title)
            object.memberIfPresent("md5", md5)
            if let place {
                object.member("pack", place.pack)
                object.member("start", place.start)
                object.memberIfPresent("frame", place.frameByteCount)
            }
            object.memberIfPresent("bytes", bytes.map { Base64.encode($0) })
        }
    }
}

extension JournalLine.State {
    init?(_ json: JSONValue) {
        guard let time = json.integer("time"), let sites = json["sites"]?.array,
            let visits = json["visits"]?.array
        else { return nil }
        self.init(
            time: time, sites: sites.compactMap { Site($0) }, visits: visits.compactMap { Visit($0) },
            pins: json["pins"]?.array?.compactMap { Pin($0) } ?? [])
    }

    func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("time", time)
            object.member("sites", sites)
            object.member("visits", visits)
            object.member("pins", pins)
        }
    }
}

extension JournalLine.State.Site {
    init?(_ json: JSONValue) {
        guard let id = json.integer("id"), let name = json["name"]?.string, let start = json["start"]?.string
        else {
            return nil
        }
        self.init(
            id: id, name: name, start: start, published: json.integer("published"),
            settings: json["settings"]?.string ?? "", overlay: json.integer("overlay"))
    }

    func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("id", id)
            object.member("name", name)
            object.member("start", start)
            object.memberIfPresent("published", published)
            object.member("settings", settings)
            object.memberIfPresent("overlay", overlay)
        }
    }
}

extension JournalLine.State.Visit {
    init?(_ json: JSONValue) {
        guard let id = json.integer("id"), let site = json.integer("site"),
            let started = json.integer("started")
        else {
            return nil
        }
        self.init(
            id: id, site: site, started: started, finished: json.integer("finished"),
            base: json.integer("base"))
    }

    func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("id", id)
            object.member("site", site)
            object.member("started", started)
            object.memberIfPresent("finished", finished)
            object.memberIfPresent("base", base)
        }
    }
}

extension JournalLine.State.Pin {
    init?(_ json: JSONValue) {
        guard let kind = json["kind"]?.string, let value = json["value"]?.string else { return nil }
        self.init(kind: kind, value: value, added: json.integer("added") ?? 0)
    }

    func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("kind", kind)
            object.member("value", value)
            object.member("added", added)
        }
    }
}
