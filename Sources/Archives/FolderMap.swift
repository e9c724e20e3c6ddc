internal import Glibc
internal import Store
internal import System
internal import Web

/// The files of an imported folder and their URLs. The URLs come from the list that Larder wrote, HTTrack's
/// cache, folders named after hosts (wget, wget2, HTTrack), the notes in saved pages, or a base URL that the
/// user named.
struct FolderMap {
    enum Content {
        case none
        case file(SourceFile)
        case cached(ZipFile.Entry)
    }

    struct Entry {
        var url: WebURL
        var content: Content
        var status = 200
        /// The response headers. Nil if only the file shows its type.
        var fields: HTTPFields?
        var fetched: Int64
        /// Whether links in the file may have been rewritten to file paths.
        var isConverted = false
        /// The path in the folder.
        var name: String?
        /// The origin and file name if the name may also stand for another URL and nothing else decides.
        var uncertain: String?
        /// Another URL that the name may have been derived from.
        var other: WebURL?
    }

    private(set) var entries: [Entry] = []
    var faults: [ArchiveFault] = []
    /// The number of files that the tool wrote for its own use.
    private(set) var ownCount = 0
    var start: String?
    /// Whether links refer to files if a file has the name, rather than to URLs.
    private(set) var leadsByFiles = false
    /// Whether Larder wrote the folder, with its changes for browsers.
    private(set) var isLarders = false
    private(set) var cache: HTTrackCache?
    private(set) var origins: Set<String> = []
    /// Indexes of the files in the folders beside saved pages, by their original names. Nil for a name that
    /// several files had.
    var besidePages: [String: Int?] = [:]
    private var byHref: [String: Int] = [:]
    private(set) var byName: [String: Int] = [:]

    func number(at href: String) -> Int? { byHref[href] }

    func entry(at href: String) -> Entry? { byHref[href].map { entries[$0] } }

    /// Returns the only file beside saved pages whose name is the last part of the URL.
    func entry(besidePages url: WebURL) -> Entry? {
        guard let last = url.path.split(separator: "/").last, !besidePages.isEmpty else { return nil }
        let name = FileName.text([UInt8](percentDecoding: Array(last.utf8).span))
        return besidePages[name].flatMap { $0 }.map { entries[$0] }
    }

    func entry(named name: String) -> Entry? { byName[name].map { entries[$0] } }

    /// - Parameter base: The URL of the folder; nil if the folder states it.
    init(
        _ source: any FileSource, base: WebURL?, isPage: Bool = false, _ limits: ArchiveLimits
    ) throws(ArchiveError) {
        faults = source.faults
        var named = Self.withoutOuter(source.files, of: source)
        if let list = named.first(where: { $0.name == FolderList.name }),
            try readList(list.file, named, source, limits)
        {
            return
        }
        let isHTTrack = named.contains {
            HTTrackCache.own.contains($0.name) || $0.name.hasPrefix("hts-cache/")
        }
        if isHTTrack, try readCache(named, source) { return }
        if isPage, let file = named.first {
            let beside = Self.beside(named)
            let told = try saved(file, beside, source, isTold: base != nil)
            guard let url = base ?? told.flatMap({ WebURL($0.url) }) else {
                throw Self.withoutAddress("\(source.name)/\(file.name)", isPage: true)
            }
            let page = SavedPage(url: url.key.href, date: told?.date)
            try add(page: file, beside, page, source)
            return
        }
        if isHTTrack { takeOutOwn(&named) }
        let hosts = Self.hosts(named, source)
        if !hosts.isEmpty, base.map({ base in hosts.values.contains { $0.host == base.host } }) ?? true {
            try read(hosts, named, source, base, isHTTrack: isHTTrack)
        } else if let base {
            // The name of a packed folder is usually part of the paths in the archive, so it is not part of
            // the URL.
            read(source.isPacked ? named : source.files.map { ($0, $0.path) }, below: base)
        } else if try !readPages(named, source) {
            guard let (host, port) = Self.ownHost(source) else {
                throw Self.withoutAddress(source.name, isPage: false)
            }
            let origins = try Self.origins([host: port], named, source)
            let origin = origins[host] ?? "https://\(host)\(port.map { ":\($0)" } ?? "")"
            if let base = WebURL(origin + "/") { read(named, below: base) }
            if origins[host] == nil { tellGuess(host, "https", source) }
        }
    }

    private static func withoutAddress(_ name: String, isPage: Bool) -> ArchiveError {
        let what =
            isPage
            ? "it is not a WARC, and as a page it does not say what its URL is"
            : "nothing in it says what its URL is"
        return ArchiveError(
            .input, "\(name) cannot be imported: \(what); name that URL",
            remedy: .folderAddress)
    }

    mutating func add(_ entry: Entry) {
        var entry = entry
        if let other = entry.other, byHref[entry.url.href] != nil, byHref[other.href] == nil {
            (entry.url, entry.other) = (other, nil)
        }
        if let name = entry.name { byName[name] = byName[name] ?? entries.count }
        guard byHref[entry.url.href] == nil else {
            let place = entry.name ?? "a list"
            faults.append(ArchiveFault("another file has this URL", url: entry.url.href, at: place))
            return
        }
        byHref[entry.url.href] = entries.count
        origins.insert(entry.url.origin)
        entries.append(entry)
    }

    mutating func refuse(_ reason: String, _ file: SourceFile, _ source: any FileSource) {
        faults.append(ArchiveFault(reason, at: source.place(of: file)))
    }

    // MARK: - Names

    typealias Named = (file: SourceFile, name: String)

    /// Removes the enclosing folders that are not hosts from all paths. Packed folders usually have one.
    private static func withoutOuter(_ files: [SourceFile], of source: any FileSource) -> [Named] {
        var outer = 0
        while let first = files.first, outer < FileName.deepest {
            let rest = first.path.split(separator: "/").dropFirst(outer)
            guard rest.count > 1, let name = rest.first, FolderAddresses.host(String(name)) == nil,
                name != "hts-cache",
                files.allSatisfy({
                    let own = $0.path.split(separator: "/").dropFirst(outer)
                    return own.count > 1 && own.first == name
                })
            else { break }
            outer += 1
        }
        guard outer > 0 else { return files.map { ($0, $0.path) } }
        return files.map { ($0, $0.path.split(separator: "/").dropFirst(outer).joined(separator: "/")) }
    }

    /// Passes the lines of a file to `take` until it returns false. Returns the reason if the file could not
    /// be read completely.
    private static func eachLine(
        of file: SourceFile, _ source: any FileSource, _ limits: ArchiveLimits,
        _ take: (ArraySlice<UInt8>) -> Bool
    ) throws(ArchiveError) -> String? {
        var rest: [UInt8] = []
        var isWanted = true
        let reason = try source.read(file) { (piece) throws(ArchiveError) in
            rest.append(contentsOf: piece)
            var start = 0
            while isWanted, let end = rest[start...].firstIndex(of: 0x0A) {
                isWanted = take(rest[start..<end])
                start = end + 1
            }
            rest.removeSubrange(..<start)
            return isWanted && rest.count <= limits.line
        }
        if isWanted, !rest.isEmpty { _ = take(rest[...]) }
        return isWanted ? reason : nil
    }

    // MARK: - Folders written by Larder

    private static let ofLarder: Set<String> = [
        FolderList.name, ".nojekyll", FolderWriter.missingList, FolderScript.name, StartHere.name,
    ]

    private static func isOfLarder(_ name: String) -> Bool {
        ofLarder.contains(name) || name.hasPrefix(FolderScript.twins)
            || name.hasPrefix(FolderModules.twins)
    }

    private mutating func readList(
        _ list: SourceFile, _ named: [Named], _ source: any FileSource, _ limits: ArchiveLimits
    ) throws(ArchiveError) -> Bool {
        let files = Dictionary(named.map { ($0.name, $0.file) }, uniquingKeysWith: { first, _ in first })
        var (isHead, isList, taken) = (true, true, Self.ofLarder)
        var map = self
        let reason = try Self.eachLine(of: list, source, limits) { line in
            if isHead {
                isHead = false
                map.start = FolderList.start(line)
                isList = map.start != nil
                return isList
            }
            guard map.entries.count < FileName.mostFiles else { return false }
            guard let line = FolderList.line(line), let url = WebURL(line.url), url.isHTTP else {
                map.faults.append(
                    ArchiveFault("a line of it is not in Larder's format", at: source.place(of: list)))
                return map.faults.count < ImportReport.mostFaults
            }
            var entry = Entry(
                url: url.key, content: .none, status: line.status, fields: line.fields, fetched: line.fetched,
                isConverted: true, name: line.file)
            if let name = line.file {
                taken.insert(name)
                guard let file = files[name] else {
                    map.faults.append(
                        ArchiveFault("\(name) is not in the folder", url: line.url, at: source.name))
                    return true
                }
                if (200..<300).contains(line.status) { entry.content = .file(file) }
            }
            map.add(entry)
            return true
        }
        guard isList else { return false }
        self = map
        if let reason { refuse(reason, list, source) }
        leadsByFiles = true
        // A start page that is not in the list is a redirect to the page where the site starts.
        taken.insert("index.html")
        for (file, name) in named where !taken.contains(name) && !Self.isOfLarder(name) {
            refuse("Larder's list does not contain it", file, source)
        }
        ownCount = named.count { Self.isOfLarder($0.name) }
        isLarders = true
        return true
    }

    // MARK: - HTTrack

    private mutating func readCache(
        _ named: [Named], _ source: any FileSource
    ) throws(ArchiveError) -> Bool {
        let files = Dictionary(named.map { ($0.name, $0.file) }, uniquingKeysWith: { first, _ in first })
        // If the cache is damaged, the files are used.
        if let packed = files[HTTrackCache.name], let cache = try? HTTrackCache(packed, of: source) {
            let items = try cache.items()
            for item in items {
                // HTTrack records a URL twice if it moved while it was mirrored. The first entry is used.
                guard byHref[item.url.href] == nil else { continue }
                var entry = Entry(
                    url: item.url, content: .none, status: item.status, fields: item.fields,
                    fetched: packed.modified,
                    name: item.file)
                if let body = item.body {
                    entry.content = .cached(body)
                } else if item.status == 200 {
                    guard let file = item.file.flatMap({ files[$0] }) else {
                        faults.append(
                            ArchiveFault(
                                "its file is not in the folder", url: item.url.href,
                                at: source.place(of: packed)))
                        continue
                    }
                    entry.content = .file(file)
                }
                add(entry)
            }
            start =
                (entries.first { $0.status == 200 && $0.url.path != "/robots.txt" } ?? entries.first)?.url
                .href
            self.cache = cache
            ownCount = named.count { $0.name.hasPrefix("hts-cache/") || HTTrackCache.own.contains($0.name) }
            return !entries.isEmpty
        }
        guard let list = files[HTTrackCache.list] else { return false }
        var map = self
        let reason = try Self.eachLine(of: list, source, ArchiveLimits()) { line in
            guard let (url, type, listed) = HTTrackCache.listed(line) else { return true }
            // The list has paths relative to the folder in which HTTrack was started.
            var name = listed[...]
            while files[String(name)] == nil, let slash = name.firstIndex(of: "/") {
                name = name[name.index(after: slash)...]
            }
            guard let file = files[String(name)] else { return true }
            var fields = HTTPFields()
            if !type.isEmpty { fields.append("Content-Type", type) }
            map.add(
                Entry(
                    url: url, content: .file(file), fields: fields, fetched: file.modified, isConverted: true,
                    name: String(name)))
            return true
        }
        guard !map.entries.isEmpty else { return false }
        self = map
        if let reason { refuse(reason, list, source) }
        leadsByFiles = true
        start = entries.first?.url.href
        return true
    }

    private mutating func takeOutOwn(_ named: inout [Named]) {
        let all = named.count
        named.removeAll {
            $0.name.hasPrefix("hts-cache/") || HTTrackCache.own.contains($0.name) || $0.name == "index.html"
        }
        ownCount = all - named.count
    }

    // MARK: - Folders named as hosts

    private struct Host {
        let host: String
        let port: Int?
        /// The scheme, if the tool was told to use it in folder names.
        let scheme: String?
    }

    /// Returns the folders that are named after hosts. Returns none if there are pages beside them, because
    /// the folder then belongs to one site.
    private static func hosts(_ named: [Named], _ source: any FileSource) -> [String: Host] {
        var hosts: [String: Host] = [:]
        for (_, name) in named {
            let parts = name.split(separator: "/", maxSplits: 2).map(String.init)
            if parts.count == 1, SavedPage.isPage(name) { return [:] }
            if parts.count == 3, parts[0] == "http" || parts[0] == "https",
                let (host, port) = FolderAddresses.host(parts[1])
            {
                hosts["\(parts[0])/\(parts[1])"] = Host(host: host, port: port, scheme: parts[0])
            } else if parts.count > 1, hosts[parts[0]] == nil,
                let (host, port) = FolderAddresses.host(parts[0])
            {
                hosts[parts[0]] = Host(host: host, port: port, scheme: nil)
            }
        }
        return hosts
    }

    private static func ownHost(_ source: any FileSource) -> (host: String, port: Int?)? {
        guard !source.isPacked else { return nil }
        return source.name.split(separator: "/").last.flatMap { FolderAddresses.host(String($0)) }
    }

    /// Returns the most frequent origin of each host in the URLs of pages. They show the schemes, and the
    /// ports that wget2 leaves out of folder names.
    private static func origins(
        _ hosts: [String: Int?], _ named: [Named], _ source: any FileSource
    ) throws(ArchiveError) -> [String: String] {
        var counts: [String: [String: Int]] = [:]
        var left = mostAsked
        for (file, name) in named where SavedPage.isPage(name) && left > 0 {
            left -= 1
            let text = String(decoding: try source.beginning(of: file, askedByteCount), as: UTF8.self)
            var rest = text[...]
            while let mark = rest.range(of: "://") {
                let before = rest[..<mark.lowerBound].suffix(5)
                let scheme = before.hasSuffix("https") ? "https" : before.hasSuffix("http") ? "http" : nil
                rest = rest[mark.upperBound...]
                let authority = rest.prefix { $0.isLetter || $0.isNumber || ".-:[]".contains($0) }
                guard let scheme, let url = WebURL("\(scheme)://\(authority)/"), let port = hosts[url.host],
                    port == nil || port == url.port
                else { continue }
                counts[url.host, default: [:]][url.origin, default: 0] += 1
            }
        }
        return counts.compactMapValues { origins in
            origins.max { ($0.value, $1.key) < ($1.value, $0.key) }?.key
        }
    }

    private static let mostAsked = 64
    private static let askedByteCount = 64 << 10

    private mutating func tellGuess(_ host: String, _ scheme: String, _ source: any FileSource) {
        faults.append(
            ArchiveFault(
                "nothing says whether \(host) was fetched over http or https: \(scheme) is assumed",
                at: source.name,
                .doubtful)
        )
    }

    private mutating func read(
        _ hosts: [String: Host], _ named: [Named], _ source: any FileSource, _ base: WebURL?, isHTTrack: Bool
    ) throws(ArchiveError) {
        let asked = Dictionary(
            hosts.values.map { ($0.host, $0.port) }, uniquingKeysWith: { first, _ in first })
        let known = try Self.origins(asked, named, source)
        var origins: [String: String] = [:]
        for (folder, host) in hosts.sorted(by: { $0.key < $1.key }) {
            let authority = "\(host.host)\(host.port.map { ":\($0)" } ?? "")"
            if let scheme = host.scheme {
                origins[folder] = "\(scheme)://\(authority)"
            } else if let base, base.host == host.host {
                origins[folder] = base.origin
            } else if let origin = known[host.host] {
                origins[folder] = origin
            } else {
                let scheme = host.port == nil ? "https" : "http"
                origins[folder] = "\(scheme)://\(authority)"
                tellGuess(authority, scheme, source)
            }
        }
        var below: [String: [Named]] = [:]
        for (file, name) in named {
            let parts = name.split(separator: "/", maxSplits: 2).map(String.init)
            let folder = [parts.prefix(2).joined(separator: "/"), parts[0]].first { origins[$0] != nil }
            guard let folder else {
                refuse("it is not in the folder of a host", file, source)
                continue
            }
            below[folder, default: []].append((file, name))
        }
        let first = below.max { ($0.value.count, $1.key) < ($1.value.count, $0.key) }?.key
        for (folder, files) in below.sorted(by: {
            ($0.key == first ? 0 : 1, $0.key) < ($1.key == first ? 0 : 1, $1.key)
        }) {
            guard let origin = origins[folder].flatMap({ WebURL($0 + "/") }) else { continue }
            try read(files, below: origin, folder + "/", saysOwn: isHTTrack ? source : nil)
        }
        start = base?.href ?? first.flatMap { origins[$0] }.map { $0 + "/" }
        if let start, byHref[start] == nil, let url = WebURL(start) {
            self.start = firstPage(of: url.origin)
        }
    }

    // MARK: - Files below a base URL

    /// Returns the path of the base URL's folder, without the slash at the end. A last part without a dot
    /// counts as a folder.
    private static func folder(of base: WebURL) -> Substring {
        guard let slash = base.path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "" }
        let last = base.path[base.path.index(after: slash)...]
        return last.isEmpty || last.contains(".") ? base.path[..<slash] : base.path[...]
    }

    private mutating func read(_ named: [Named], below base: WebURL) {
        let isHidden = { (name: String) in
            name.split(separator: "/").contains { $0.hasPrefix(".") && $0 != ".well-known" }
        }
        for (file, name) in named where isHidden(name) {
            faults.append(ArchiveFault("its name begins with a dot", at: file.path, .leftOut))
        }
        try? read(named.filter { !isHidden($0.name) }, below: base, "", saysOwn: nil)
        let folder = WebURL("\(base.origin)\(Self.folder(of: base))/")?.key.href
        start =
            [base.key.href, folder].compactMap { $0 }.first { byHref[$0] != nil }
            ?? firstPage(of: base.origin) ?? base.key.href
    }

    /// Returns the start page of a site that does not name one: the page in the fewest folders, preferring
    /// the index page of a folder. If no file has the name of a page, this is the first file.
    private func firstPage(of origin: String) -> String? {
        func rank(_ url: WebURL) -> (depth: Int, isFile: Int) {
            (url.path.utf8.count { $0 == UInt8(ascii: "/") }, url.path.hasSuffix("/") ? 0 : 1)
        }
        let own = entries.lazy.filter { $0.url.origin == origin }
        let pages = own.filter { $0.name.map(SavedPage.isPage) ?? false }
        return (pages.min { rank($0.url) < rank($1.url) } ?? own.first ?? entries.first)?.url.href
    }

    /// - Parameters:
    ///   - folder: The beginning of the file names that is not part of the URLs.
    ///   - saysOwn: The source of the files if pages state their own URLs, else nil.
    private mutating func read(
        _ named: [Named], below base: WebURL, _ folder: String, saysOwn source: (any FileSource)?
    ) throws(ArchiveError) {
        let host = folder.split(separator: "/").last.map(String.init)
        let addresses = FolderAddresses(
            names: named.lazy.map { String($0.name.dropFirst(folder.count)) }, in: host)
        let path = Self.folder(of: base)
        var pristine: [String: SourceFile] = [:]
        let names = Set(named.lazy.map(\.name))
        for (file, name) in named {
            if let stem = Self.pristine(name, among: names) { pristine[stem] = file }
        }
        for (file, name) in named where Self.pristine(name, among: names) == nil {
            // `wget -K` keeps the original of a converted file under its original name.
            let kept = Self.kept(name).first { pristine[$0] != nil }
            let own = String((kept ?? name).dropFirst(folder.count))
            var url = WebURL(base.origin + path + addresses.target(of: own))
            let other = addresses.spelledOut(own).flatMap { WebURL(base.origin + path + $0) }
            var saysOwn = false
            var fetched = file.modified
            if let source, SavedPage.isPage(name),
                let own = SavedPage(try source.beginning(of: file, SavedPage.window))
            {
                // HTTrack's note omits some schemes, so the scheme of the folder is used.
                url =
                    WebURL(own.url).flatMap { WebURL(base.scheme + $0.href.dropFirst($0.scheme.count)) }
                    ?? url
                fetched = own.date ?? fetched
                saysOwn = true
            }
            guard let url else {
                faults.append(ArchiveFault("its name cannot be part of a URL", at: file.path))
                continue
            }
            let body = kept.flatMap { pristine[$0] } ?? file
            var entry = Entry(
                url: url.key, content: .file(body),
                fetched: body.modified == file.modified ? fetched : body.modified,
                isConverted: kept == nil, name: name)
            if !saysOwn, url.query != nil || own.contains("%") || url.href.contains("%") || other != nil {
                (entry.uncertain, entry.other) = ("\(url.origin)\(path)/\(own)", other?.key)
            }
            add(entry)
        }
    }

    /// Returns the possible original names of a file: wget renames `page` to `page.html`, or keeps the name.
    private static func kept(_ name: String) -> [String] {
        [name] + [".html", ".css"].compactMap { name.hasSuffix($0) ? String(name.dropLast($0.count)) : nil }
    }

    /// Returns the name of the file whose original this is, if that file exists. `page.orig` is the original
    /// of `page`, and wget adds `orig` without a dot for style sheets.
    private static func pristine(_ name: String, among names: Set<String>) -> String? {
        guard name.hasSuffix("orig") else { return nil }
        let stems = [name.hasSuffix(".orig") ? String(name.dropLast(5)) : nil, String(name.dropLast(4))]
        return stems.compactMap { $0 }.first { stem in
            names.contains(stem) || names.contains(stem + ".html") || names.contains(stem + ".css")
        }
    }
}
