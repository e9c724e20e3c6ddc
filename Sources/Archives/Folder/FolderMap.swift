internal import Glibc
internal import Store
internal import System
internal import Web

/// The files of an imported folder and their URLs.
///
/// `init` tries these sources of URLs, and uses the first one that applies:
///
/// 1. the list that Larder writes into exported folders (``FolderList``),
/// 2. HTTrack's cache or its list of files (``HTTrackCache``),
/// 3. for a single page: the URL that the page states, or that the user named,
/// 4. folders that are named after hosts, as wget, wget2 and HTTrack write them,
/// 5. the base URL that the user named,
/// 6. pages that state their URLs (``SavedPage``), with their assets,
/// 7. the name of the folder itself, if it is a host.
struct FolderMap {
    enum Content {
        /// The response has no body, as a redirect.
        case none
        case file(SourceFile)
        /// The body is in HTTrack's cache.
        case cached(ZipFile.Entry)
    }

    /// A response of the folder.
    struct Entry {
        var url: WebURL
        var content: Content
        var status = 200
        /// The response headers. Nil if only the file shows its type.
        var fields: HTTPFields?
        var fetched: Int64
        /// Whether links in the file may have been rewritten to file paths.
        var isConverted = false
        /// Whether the file has the name that the site itself gave it, as far as the names of the folder show.
        var hasOwnName = false
        /// The path in the folder.
        var name: String?
        /// The origin and file name, if the name may also stand for another URL and only links can show which URL is
        /// right.
        var ambiguousName: String?
        /// Another URL that the name may have been derived from.
        var alternativeURL: WebURL?
    }

    private(set) var entries: [Entry] = []
    /// The problems of files that are not imported, and doubts about URLs.
    var faults: [ArchiveFault] = []
    /// The number of files that the tool wrote for its own use.
    private(set) var toolFileCount = 0
    /// The URL of the start page.
    var start: String?
    /// Whether links refer to files if a file has the name, rather than to URLs.
    private(set) var linksPreferFiles = false
    /// Whether Larder wrote the folder, with its changes for browsers.
    private(set) var isWrittenByLarder = false
    private(set) var cache: HTTrackCache?
    /// The origins of all entries.
    private(set) var origins: Set<String> = []
    /// Indexes of the files in the folders beside saved pages, by their original names. Nil for a name that
    /// several files had.
    var assetsByOriginalName: [String: Int?] = [:]
    private var indexByURL: [String: Int] = [:]
    private(set) var indexByName: [String: Int] = [:]

    /// Returns the index of the entry with a URL.
    func index(at href: String) -> Int? { indexByURL[href] }

    func entry(at href: String) -> Entry? { indexByURL[href].map { entries[$0] } }

    /// Returns the only file beside saved pages whose name is the last part of the URL.
    func asset(named url: WebURL) -> Entry? {
        guard let last = url.path.split(separator: "/").last, !assetsByOriginalName.isEmpty else {
            return nil
        }
        let name = FileName.text([UInt8](percentDecoding: Array(last.utf8).span))
        return assetsByOriginalName[name].flatMap { $0 }.map { entries[$0] }
    }
    func entry(named name: String) -> Entry? { indexByName[name].map { entries[$0] } }

    /// Determines the URLs. Throws if nothing shows them.
    ///
    /// - Parameters:
    ///   - base: The URL of the folder or page that the user named, if any.
    ///   - isPage: Whether the source is a single page with its assets.
    init(
        _ source: any FileSource, base: WebURL?, isPage: Bool = false, _ limits: ArchiveLimits
    ) throws(ArchiveError) {
        faults = source.faults
        var namedFiles = Self.withoutEnclosingFolders(source.files)
        if let list = namedFiles.first(where: { $0.name == FolderList.name }),
            try readLarderList(list.file, namedFiles, source, limits)
        {
            return
        }
        let isHTTrack = namedFiles.contains {
            HTTrackCache.toolFileNames.contains($0.name) || $0.name.hasPrefix("hts-cache/")
        }
        if isHTTrack, try readHTTrackCache(namedFiles, source) { return }
        if isPage, let file = namedFiles.first {
            let assetFiles = Self.assetFiles(namedFiles)
            let stated = try savedPage(file, assetFiles, source, hasBase: base != nil)
            guard let url = base ?? stated.flatMap({ WebURL($0.url) }) else {
                throw Self.missingURLError("\(source.name)/\(file.name)", isPage: true)
            }
            let page = SavedPage(url: url.key.href, date: stated?.date)
            try addSavedPage(file, assetFiles, page, source)
            return
        }
        if isHTTrack { removeToolFiles(&namedFiles) }
        let hosts = Self.hostFolders(in: namedFiles)
        if !hosts.isEmpty, base.map({ base in hosts.values.contains { $0.host == base.host } }) ?? true {
            try addHostFolders(hosts, namedFiles, source, base, isHTTrack: isHTTrack)
        } else if let base {
            // The name of a packed folder is usually part of the paths in the archive, so it is not part of
            // the URL.
            addSite(source.isPacked ? namedFiles : source.files.map { ($0, $0.path) }, below: base)
        } else if try !readSavedPages(namedFiles, source) {
            guard let (host, port) = Self.hostOfFolderName(source) else {
                throw Self.missingURLError(source.name, isPage: false)
            }
            let origins = try Self.mostFrequentOrigins([host: port], namedFiles, source)
            let origin = origins[host] ?? "https://\(host)\(port.map { ":\($0)" } ?? "")"
            if let base = WebURL(origin + "/") { addSite(namedFiles, below: base) }
            if origins[host] == nil { addAssumedSchemeFault(host, "https", source) }
        }
    }

    private static func missingURLError(_ name: String, isPage: Bool) -> ArchiveError {
        let reason =
            isPage
            ? "it is not a WARC, and as a page it does not say what its URL is"
            : "nothing in it says what its URL is"
        return ArchiveError(
            .input, "\(name) cannot be imported: \(reason); name that URL",
            remedy: .folderAddress)
    }

    /// Adds an entry. If another one has its URL, it gets its alternative URL, or becomes a fault.
    mutating func add(_ entry: Entry) {
        var entry = entry
        if let alternativeURL = entry.alternativeURL, indexByURL[entry.url.href] != nil,
            indexByURL[alternativeURL.href] == nil
        {
            (entry.url, entry.alternativeURL) = (alternativeURL, nil)
        }
        if let name = entry.name { indexByName[name] = indexByName[name] ?? entries.count }
        guard indexByURL[entry.url.href] == nil else {
            let place = entry.name ?? "a list"
            faults.append(ArchiveFault("another file has this URL", url: entry.url.href, at: place))
            return
        }
        indexByURL[entry.url.href] = entries.count
        origins.insert(entry.url.origin)
        entries.append(entry)
    }

    mutating func addFault(_ reason: String, _ file: SourceFile, _ source: any FileSource) {
        faults.append(ArchiveFault(reason, at: source.place(of: file)))
    }

    // MARK: - Names

    /// A file, and its path without enclosing folders.
    typealias NamedFile = (file: SourceFile, name: String)

    /// Removes the enclosing folders from all paths, except hosts. Packed folders usually have one. The folder in a zip file
    /// of Larder, in which its list is, has the name of a host.
    private static func withoutEnclosingFolders(_ files: [SourceFile]) -> [NamedFile] {
        // The number of folders that all files have in common and that are no hosts.
        var depth = 0
        let listName = Substring(FolderList.name)
        while let first = files.first, depth < FileName.maxDepth {
            let rest = first.path.split(separator: "/").dropFirst(depth)
            guard rest.count > 1, let name = rest.first, name != "hts-cache",
                FileURLMapper.host(ofFolder: String(name)) == nil
                    || files.contains(where: {
                        $0.path.split(separator: "/").dropFirst(depth).elementsEqual([name, listName])
                    }),
                files.allSatisfy({
                    let parts = $0.path.split(separator: "/").dropFirst(depth)
                    return parts.count > 1 && parts.first == name
                })
            else { break }
            depth += 1
        }
        guard depth > 0 else { return files.map { ($0, $0.path) } }
        return files.map { ($0, $0.path.split(separator: "/").dropFirst(depth).joined(separator: "/")) }
    }

    /// Passes the lines of a file to `take` until it returns false. Returns the reason if the file could not
    /// be read completely.
    private static func eachLine(
        of file: SourceFile, _ source: any FileSource, _ limits: ArchiveLimits,
        _ take: (ArraySlice<UInt8>) -> Bool
    ) throws(ArchiveError) -> String? {
        var rest: [UInt8] = []
        var wantsMore = true
        let reason = try source.read(file) { (piece) throws(ArchiveError) in
            rest.append(contentsOf: piece)
            var start = 0
            while wantsMore, let end = rest[start...].firstIndex(of: 0x0A) {
                wantsMore = take(rest[start..<end])
                start = end + 1
            }
            rest.removeSubrange(..<start)
            return wantsMore && rest.count <= limits.maxLineBytes
        }
        if wantsMore, !rest.isEmpty { _ = take(rest[...]) }
        return wantsMore ? reason : nil
    }

    // MARK: - Folders written by Larder

    private static let larderFileNames: Set<String> = [
        FolderList.name, ".nojekyll", FolderWriter.missingList, FolderScript.name, StartHere.name,
    ]

    /// Whether an export writes a file of this name that is not a response.
    private static func isLarderFile(_ name: String) -> Bool {
        larderFileNames.contains(name) || name.hasPrefix(FolderScript.twinFolder)
            || name.hasPrefix(FolderModules.twinFolder)
    }

    /// Adds the responses in Larder's list. Returns false if the file is not such a list.
    private mutating func readLarderList(
        _ list: SourceFile, _ namedFiles: [NamedFile], _ source: any FileSource, _ limits: ArchiveLimits
    ) throws(ArchiveError) -> Bool {
        let files = Dictionary(namedFiles.map { ($0.name, $0.file) }, uniquingKeysWith: { first, _ in first })
        var (isHeader, isList, listedNames) = (true, true, Self.larderFileNames)
        var map = self
        let reason = try Self.eachLine(of: list, source, limits) { line in
            if isHeader {
                isHeader = false
                map.start = FolderList.startURL(inHeader: line)
                isList = map.start != nil
                return isList
            }
            guard map.entries.count < FileName.maxFiles else { return false }
            guard let line = FolderList.parseLine(line), let url = WebURL(line.url), url.isHTTP else {
                map.faults.append(
                    ArchiveFault("a line of it is not in Larder's format", at: source.place(of: list)))
                return map.faults.count < ImportReport.maxReportedFaults
            }
            var entry = Entry(
                url: url.key, content: .none, status: line.status, fields: line.fields, fetched: line.fetched,
                isConverted: true, name: line.file)
            if let name = line.file {
                listedNames.insert(name)
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
        if let reason { addFault(reason, list, source) }
        linksPreferFiles = true
        // A start page that is not in the list is a redirect to the page where the site starts.
        listedNames.insert("index.html")
        for (file, name) in namedFiles where !listedNames.contains(name) && !Self.isLarderFile(name) {
            addFault("Larder's list does not contain it", file, source)
        }
        toolFileCount = namedFiles.count { Self.isLarderFile($0.name) }
        isWrittenByLarder = true
        return true
    }

    // MARK: - HTTrack

    /// Adds the responses of HTTrack's cache, or of its list of files. Returns false if there is neither.
    private mutating func readHTTrackCache(
        _ namedFiles: [NamedFile], _ source: any FileSource
    ) throws(ArchiveError) -> Bool {
        let files = Dictionary(namedFiles.map { ($0.name, $0.file) }, uniquingKeysWith: { first, _ in first })
        // If the cache is damaged, the files are used.
        if let packed = files[HTTrackCache.name], let cache = try? HTTrackCache(packed, of: source) {
            let responses = try cache.responses()
            for response in responses {
                // HTTrack records a URL twice if it moved while it was mirrored. The first entry is used.
                guard indexByURL[response.url.href] == nil else { continue }
                var entry = Entry(
                    url: response.url, content: .none, status: response.status, fields: response.fields,
                    fetched: packed.modified,
                    name: response.filePath)
                if let body = response.body {
                    entry.content = .cached(body)
                } else if response.status == 200 {
                    guard let file = response.filePath.flatMap({ files[$0] }) else {
                        faults.append(
                            ArchiveFault(
                                "its file is not in the folder", url: response.url.href,
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
            toolFileCount = namedFiles.count {
                $0.name.hasPrefix("hts-cache/") || HTTrackCache.toolFileNames.contains($0.name)
            }
            return !entries.isEmpty
        }
        guard let list = files[HTTrackCache.listName] else { return false }
        var map = self
        let reason = try Self.eachLine(of: list, source, ArchiveLimits()) { line in
            guard let (url, type, listed) = HTTrackCache.parseListLine(line) else { return true }
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
        if let reason { addFault(reason, list, source) }
        linksPreferFiles = true
        start = entries.first?.url.href
        return true
    }

    /// Removes the files that HTTrack writes for its own use, with its page of all mirrors, and counts them.
    private mutating func removeToolFiles(_ namedFiles: inout [NamedFile]) {
        let count = namedFiles.count
        namedFiles.removeAll {
            $0.name.hasPrefix("hts-cache/") || HTTrackCache.toolFileNames.contains($0.name)
                || $0.name == "index.html"
        }
        toolFileCount = count - namedFiles.count
    }

    // MARK: - Folders named as hosts

    private struct HostFolder {
        let host: String
        let port: Int?
        /// The scheme, if an option of the tool has added it to the folder names (`wget --protocol-directories`).
        let scheme: String?
    }

    /// Returns the folders that are named after hosts. Returns none if there are pages beside them, because
    /// the folder then belongs to one site.
    private static func hostFolders(in namedFiles: [NamedFile]) -> [String: HostFolder] {
        var hosts: [String: HostFolder] = [:]
        for (_, name) in namedFiles {
            let parts = name.split(separator: "/", maxSplits: 2).map(String.init)
            if parts.count == 1, SavedPage.isPage(name) { return [:] }
            if parts.count == 3, parts[0] == "http" || parts[0] == "https",
                let (host, port) = FileURLMapper.host(ofFolder: parts[1])
            {
                hosts["\(parts[0])/\(parts[1])"] = HostFolder(host: host, port: port, scheme: parts[0])
            } else if parts.count > 1, hosts[parts[0]] == nil,
                let (host, port) = FileURLMapper.host(ofFolder: parts[0])
            {
                hosts[parts[0]] = HostFolder(host: host, port: port, scheme: nil)
            }
        }
        return hosts
    }

    /// Returns the host after which the folder on the disk is named. Returns nil if its name is not a host.
    private static func hostOfFolderName(_ source: any FileSource) -> (host: String, port: Int?)? {
        guard !source.isPacked else { return nil }
        return source.name.split(separator: "/").last.flatMap { FileURLMapper.host(ofFolder: String($0)) }
    }

    /// Returns the most frequent origin of each host in the absolute URLs that pages contain. They show the schemes,
    /// and the ports that wget2 leaves out of folder names.
    private static func mostFrequentOrigins(
        _ hosts: [String: Int?], _ namedFiles: [NamedFile], _ source: any FileSource
    ) throws(ArchiveError) -> [String: String] {
        var counts: [String: [String: Int]] = [:]
        var remainingPages = maxPagesForOrigins
        for (file, name) in namedFiles where SavedPage.isPage(name) && remainingPages > 0 {
            remainingPages -= 1
            let text = String(decoding: try source.beginning(of: file, scannedBytesPerPage), as: UTF8.self)
            var rest = text[...]
            while let separator = rest.range(of: "://") {
                let before = rest[..<separator.lowerBound].suffix(5)
                let scheme = before.hasSuffix("https") ? "https" : before.hasSuffix("http") ? "http" : nil
                rest = rest[separator.upperBound...]
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

    /// The number of pages that are scanned for origins.
    private static let maxPagesForOrigins = 64
    /// The number of bytes at the beginning of each of these pages that are scanned.
    private static let scannedBytesPerPage = 64 << 10

    private mutating func addAssumedSchemeFault(_ host: String, _ scheme: String, _ source: any FileSource) {
        faults.append(
            ArchiveFault(
                "nothing says whether \(host) was fetched over http or https: \(scheme) is assumed",
                at: source.name,
                .doubtful)
        )
    }

    /// Adds the files of folders that are named after hosts. The site starts in the folder with the most files, unless
    /// the user named a base URL.
    private mutating func addHostFolders(
        _ hosts: [String: HostFolder], _ namedFiles: [NamedFile], _ source: any FileSource, _ base: WebURL?,
        isHTTrack: Bool
    ) throws(ArchiveError) {
        let ports = Dictionary(
            hosts.values.map { ($0.host, $0.port) }, uniquingKeysWith: { first, _ in first })
        let originsInPages = try Self.mostFrequentOrigins(ports, namedFiles, source)
        var origins: [String: String] = [:]
        for (folder, host) in hosts.sorted(by: { $0.key < $1.key }) {
            let authority = "\(host.host)\(host.port.map { ":\($0)" } ?? "")"
            if let scheme = host.scheme {
                origins[folder] = "\(scheme)://\(authority)"
            } else if let base, base.host == host.host {
                origins[folder] = base.origin
            } else if let origin = originsInPages[host.host] {
                origins[folder] = origin
            } else {
                let scheme = host.port == nil ? "https" : "http"
                origins[folder] = "\(scheme)://\(authority)"
                addAssumedSchemeFault(authority, scheme, source)
            }
        }
        var filesByFolder: [String: [NamedFile]] = [:]
        for (file, name) in namedFiles {
            let parts = name.split(separator: "/", maxSplits: 2).map(String.init)
            let folder = [parts.prefix(2).joined(separator: "/"), parts[0]].first { origins[$0] != nil }
            guard let folder else {
                addFault("it is not in the folder of a host", file, source)
                continue
            }
            filesByFolder[folder, default: []].append((file, name))
        }
        let first = filesByFolder.max { ($0.value.count, $1.key) < ($1.value.count, $0.key) }?.key
        for (folder, files) in filesByFolder.sorted(by: {
            ($0.key == first ? 0 : 1, $0.key) < ($1.key == first ? 0 : 1, $1.key)
        }) {
            guard let origin = origins[folder].flatMap({ WebURL($0 + "/") }) else { continue }
            try addFiles(files, below: origin, folder + "/", statedURLsFrom: isHTTrack ? source : nil)
        }
        start = base?.href ?? first.flatMap { origins[$0] }.map { $0 + "/" }
        if let start, indexByURL[start] == nil, let url = WebURL(start) {
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

    /// Adds the files of one site. Hidden files do not belong to it.
    private mutating func addSite(_ namedFiles: [NamedFile], below base: WebURL) {
        let isHidden = { (name: String) in
            name.split(separator: "/").contains { $0.hasPrefix(".") && $0 != ".well-known" }
        }
        for (file, name) in namedFiles where isHidden(name) {
            faults.append(ArchiveFault("its name begins with a dot", at: file.path, .leftOut))
        }
        // Without `statedURLsFrom`, no file is read, so this cannot throw.
        try? addFiles(namedFiles.filter { !isHidden($0.name) }, below: base, "", statedURLsFrom: nil)
        let folder = WebURL("\(base.origin)\(Self.folder(of: base))/")?.key.href
        start =
            [base.key.href, folder].compactMap { $0 }.first { indexByURL[$0] != nil }
            ?? firstPage(of: base.origin) ?? base.key.href
    }

    /// Returns the start page of a site that does not name one: the page in the fewest folders, preferring
    /// the index page of a folder. If no file has the name of a page, this is the first file.
    private func firstPage(of origin: String) -> String? {
        func rank(_ url: WebURL) -> (depth: Int, isFile: Int) {
            (url.path.utf8.count { $0 == UInt8(ascii: "/") }, url.path.hasSuffix("/") ? 0 : 1)
        }
        let ofOrigin = entries.lazy.filter { $0.url.origin == origin }
        let pages = ofOrigin.filter { $0.name.map(SavedPage.isPage) ?? false }
        return (pages.min { rank($0.url) < rank($1.url) } ?? ofOrigin.first ?? entries.first)?.url.href
    }

    /// Adds files with URLs that derive from their names.
    ///
    /// - Parameters:
    ///   - folder: The beginning of the file names that is not part of the URLs.
    ///   - source: The source of the files if pages may state their own URLs, else nil.
    private mutating func addFiles(
        _ namedFiles: [NamedFile], below base: WebURL, _ folder: String,
        statedURLsFrom source: (any FileSource)?
    ) throws(ArchiveError) {
        let host = folder.split(separator: "/").last.map(String.init)
        let mapper = FileURLMapper(
            names: namedFiles.lazy.map { String($0.name.dropFirst(folder.count)) }, in: host)
        let path = Self.folder(of: base)
        // `wget -K` converts the links of a file and keeps the original of `page` as `page.orig`.
        var backups: [String: SourceFile] = [:]
        let names = Set(namedFiles.lazy.map(\.name))
        for (file, name) in namedFiles {
            if let originalName = Self.nameOfBackup(name, among: names) { backups[originalName] = file }
        }
        for (file, name) in namedFiles where Self.nameOfBackup(name, among: names) == nil {
            let backupName = Self.possibleOriginalNames(of: name).first { backups[$0] != nil }
            let relativeName = String((backupName ?? name).dropFirst(folder.count))
            var url = WebURL(base.origin + path + mapper.target(of: relativeName))
            let alternativeURL = mapper.literalTarget(of: relativeName).flatMap {
                WebURL(base.origin + path + $0)
            }
            var statesURL = false
            var fetched = file.modified
            if let source, SavedPage.isPage(name),
                let page = SavedPage(try source.beginning(of: file, SavedPage.window))
            {
                // HTTrack's note omits some schemes, so the scheme of the folder is used.
                url =
                    WebURL(page.url).flatMap { WebURL(base.scheme + $0.href.dropFirst($0.scheme.count)) }
                    ?? url
                fetched = page.date ?? fetched
                statesURL = true
            }
            guard let url else {
                faults.append(ArchiveFault("its name cannot be part of a URL", at: file.path))
                continue
            }
            let body = backupName.flatMap { backups[$0] } ?? file
            var entry = Entry(
                url: url.key, content: .file(body),
                fetched: body.modified == file.modified ? fetched : body.modified,
                isConverted: backupName == nil, hasOwnName: mapper.namingScheme == .own, name: name)
            // Escapes and queries in names may stand for several URLs.
            let isAmbiguous =
                url.query != nil || relativeName.contains("%") || url.href.contains("%")
                || alternativeURL != nil
            if !statesURL, isAmbiguous {
                entry.ambiguousName = "\(url.origin)\(path)/\(relativeName)"
                entry.alternativeURL = alternativeURL?.key
            }
            add(entry)
        }
    }

    /// Returns the possible original names of a file: wget renames `page` to `page.html`, or keeps the name.
    private static func possibleOriginalNames(of name: String) -> [String] {
        [name] + [".html", ".css"].compactMap { name.hasSuffix($0) ? String(name.dropLast($0.count)) : nil }
    }

    /// Returns the name of the file whose backup this is, if that file exists. `page.orig` is the backup of `page`, and
    /// wget adds `orig` without a dot for style sheets. Returns nil for other files.
    private static func nameOfBackup(_ name: String, among names: Set<String>) -> String? {
        guard name.hasSuffix("orig") else { return nil }
        let stems = [name.hasSuffix(".orig") ? String(name.dropLast(5)) : nil, String(name.dropLast(4))]
        return stems.compactMap { $0 }.first { stem in
            names.contains(stem) || names.contains(stem + ".html") || names.contains(stem + ".css")
        }
    }
}
