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

        struct Site {
            var id: Int64
            var name: String
            var start: String
            var published: Int64?
            var settings: String
            var overlay: Int64?
        }

        struct Visit {
            var id: Int64
            var site: Int64
            var started: Int64
            var finished: Int64?
            var base: Int64?
        }

        struct Pin {
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
        guard let sha256 = json["body"]?.string, let form = json["form"]?.string, let size = json.integer("size")
        else { return nil }
        var place: PackPlace?
        if let pack = json.integer("pack"), let start = json.integer("start") {
            place = PackPlace(pack: pack, start: start)
        }
        self.init(
            sha256: sha256, form: form, byteCount: size, title: json["title"]?.string, md5: json["md5"]?.string,
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
            }
            object.memberIfPresent("bytes", bytes.map { Base64.encode($0) })
        }
    }
}

extension JournalLine.State {
    init?(_ json: JSONValue) {
        guard let time = json.integer("time"), let sites = json["sites"]?.array, let visits = json["visits"]?.array
        else { return nil }
        self.init(time: time)
        for site in sites {
            guard let id = site.integer("id"), let name = site["name"]?.string, let start = site["start"]?.string
            else { continue }
            self.sites.append(
                Site(
                    id: id, name: name, start: start, published: site.integer("published"),
                    settings: site["settings"]?.string ?? "", overlay: site.integer("overlay")))
        }
        for visit in visits {
            guard let id = visit.integer("id"), let site = visit.integer("site"),
                let started = visit.integer("started")
            else { continue }
            self.visits.append(
                Visit(
                    id: id, site: site, started: started, finished: visit.integer("finished"),
                    base: visit.integer("base")))
        }
        for pin in json["pins"]?.array ?? [] {
            guard let kind = pin["kind"]?.string, let value = pin["value"]?.string else { continue }
            pins.append(Pin(kind: kind, value: value, added: pin.integer("added") ?? 0))
        }
    }

    func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("time", time)
            object.member("sites") { list in
                list.array { array in
                    for site in sites {
                        array.object { object in
                            object.member("id", site.id)
                            object.member("name", site.name)
                            object.member("start", site.start)
                            object.memberIfPresent("published", site.published)
                            object.member("settings", site.settings)
                            object.memberIfPresent("overlay", site.overlay)
                        }
                    }
                }
            }
            object.member("visits") { list in
                list.array { array in
                    for visit in visits {
                        array.object { object in
                            object.member("id", visit.id)
                            object.member("site", visit.site)
                            object.member("started", visit.started)
                            object.memberIfPresent("finished", visit.finished)
                            object.memberIfPresent("base", visit.base)
                        }
                    }
                }
            }
            object.member("pins") { list in
                list.array { array in
                    for pin in pins {
                        array.object { object in
                            object.member("kind", pin.kind)
                            object.member("value", pin.value)
                            object.member("added", pin.added)
                        }
                    }
                }
            }
        }
    }
}
