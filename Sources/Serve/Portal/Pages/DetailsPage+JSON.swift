internal import Store
internal import Web

extension DetailsPage {
    func write(to json: inout JSONWriter, _ context: PortalContext) {
        json.member("url", href)
        json.member("held", !rows.isEmpty)
        json.member("mirror", context.mirrored(href))
        json.member("rows") { list in
            list.array { array in for row in rows { row.write(to: &array) } }
        }
        json.member("links") { list in
            list.object { object in
                for links in links {
                    object.member(links.list.rawValue) { list in
                        list.object { object in
                            object.member("count", links.count)
                            object.member("targets") { list in
                                list.array { array in
                                    for target in links.targets {
                                        array.object { object in
                                            object.member("url", target.href)
                                            object.member("held", target.isHeld)
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
        json.member("linkedFrom", linkers.hrefs)
        json.member("after", linkers.next)
        json.member("nearby", neighbours)
    }
}

extension HeldRow {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("site", site)
            object.member("visit", response.visit)
            object.member("shown", isShown)
            object.member("status", response.status)
            object.member("role", response.role == 0 ? "page" : "requisite")
            object.member("type", response.type)
            object.member("request", response.request == .get ? nil : response.request.text)
            object.member("variant", response.variant.isEmpty ? nil : response.variant)
            object.member("fetched", response.fetched)
            object.member("referrer", referrer)
            object.member("headers") { list in
                list.array { array in
                    for field in HTTPFields(block: response.fields.utf8.span).list {
                        array.object { object in
                            object.member("name", field.name)
                            object.member("value", field.value)
                        }
                    }
                }
            }
            object.member("bytes", response.body?.byteCount)
            object.member("sha256", response.body.map { Hex.encode($0.sha256) })
            object.member("md5", response.body.flatMap { $0.md5.map(Hex.encode) })
            object.member("title", response.body?.title)
        }
    }
}
