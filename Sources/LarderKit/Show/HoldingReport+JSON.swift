internal import Web

extension HoldingReport {
    /// The report for programs.
    public var json: String {
        var writer = JSONWriter(.pretty)
        writer.object { object in
            object.member("url", url)
            object.member("held", isHeld)
            object.member("shownAt", shownAt)
            object.member("rows") { list in
                list.array { array in for row in rows { row.write(to: &array) } }
            }
            object.member("linkedFrom", linkedFrom)
            if let absence { object.member("instead") { absence.write(to: &$0) } }
        }
        return writer.text
    }
}

extension HoldingReport.Row {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("site", site)
            object.member("visit", visit)
            object.member("shown", isShown)
            object.member("status", status)
            object.member("role", isRequisite ? "requisite" : "page")
            object.member("type", type)
            object.member("request", request)
            object.member("variant", variant)
            object.member("requested", requested)
            object.member("fetched", fetched)
            object.member("referrer", referrer)
            object.member("invalidated", isInvalidated)
            object.member("part", isPart)
            object.member("private", isPrivate)
            object.member("headers") { list in
                list.array { array in
                    for header in headers {
                        array.object { object in
                            object.member("name", header.name)
                            object.member("value", header.value)
                        }
                    }
                }
            }
            object.member("body") { body?.write(to: &$0) ?? $0.null() }
            object.member("links") { links?.write(to: &$0) ?? $0.null() }
        }
    }
}

extension HoldingReport.Body {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("bytes", byteCount)
            object.member("sha256", sha256)
            object.member("md5", md5)
            object.memberIfPresent("fault", fault)
            object.member("form", form)
            object.member("title", title)
            object.member("place", place)
        }
    }
}

extension HoldingReport.Links {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("pages", pages)
            object.member("requisites", requisites)
            object.member("guesses", guesses)
        }
    }
}
