internal import Codings
package import Digest
package import Web

/// The list of an update file: the responses that change from one release to the next, and how each body is made from the
/// bodies of the earlier release.
///
/// It is the signed part of the file. It contains the digests of everything else, so that nothing else needs a signature.
/// docs/json.md describes its text.
package struct UpdateList: Sendable, Equatable {
    /// When the update was made.
    package var created: HTTPDate
    /// The version of the earlier release, if its publisher named one. It only helps to explain why a machine lacks files.
    package var fromVersion: String?
    /// The manifest of the later release, which lists all of its bundles, changed or not.
    package var manifest: Blob
    package var files: [File]

    /// The size and the digest of some bytes.
    package struct Blob: Sendable, Hashable {
        package var byteCount: Int
        package var sha256: Digest

        package init(byteCount: Int, sha256: Digest) {
            (self.byteCount, self.sha256) = (byteCount, sha256)
        }

        package init(_ bytes: [UInt8]) {
            self.init(byteCount: bytes.count, sha256: DigestStream.digest(.sha256, of: bytes.span))
        }
    }

    /// A body of the earlier release.
    package struct Base: Sendable, Equatable {
        /// The URL in the earlier release, as in `File.url`.
        package var url: String
        package var blob: Blob

        package init(url: String, blob: Blob) {
            (self.url, self.blob) = (url, blob)
        }
    }

    /// A response of the later release that the earlier one does not have.
    package struct File: Sendable, Equatable {
        /// The URL as the manifest refers to it: relative to its base, or absolute.
        package var url: String
        package var status = 200
        /// Whether it is a page of the site, and not an asset.
        package var isPage = false
        package var fields: HTTPFields
        /// The body; nil for a redirect, and for a URL that is gone.
        package var body: Blob?
        /// The body that the frame refers to; the body itself if it only has another URL now.
        package var base: Base?
        /// The frame with the body. Nil if the body is the base, or that of an earlier file in the list.
        package var frame: Blob?

        package init(url: String, fields: HTTPFields) {
            (self.url, self.fields) = (url, fields)
        }

        package var isSuccess: Bool { (200..<300).contains(status) }
    }

    package init(created: HTTPDate, fromVersion: String? = nil, manifest: Blob, files: [File]) {
        (self.created, self.fromVersion) = (created, fromVersion)
        (self.manifest, self.files) = (manifest, files)
    }

    /// The version of the format, which other versions refuse.
    static let version = 1
    /// The binary logarithm of the largest window that a frame may need.
    static let maxWindowLog = PatchFrame.maxWindowLog
    /// The maximum size of a base, and of a body that is made from one.
    package static let maxBaseBytes = PatchFrame.maxBaseBytes

    /// The name of the frame of a file in the archive.
    package static func frameName(ofFile index: Int) -> String {
        let number = String(index + 1)
        return "files/" + String(repeating: "0", count: max(0, 6 - number.utf8.count)) + number + ".zst"
    }
}

/// The limits of update files. A file that exceeds one is refused.
package enum UpdateLimits {
    /// The maximum size of the list in bytes, the same as for manifests.
    package static let maxListBytes = JSONLimits().byteCount
    /// The maximum number of files in the list, the same as for bundles in a manifest.
    package static let maxFiles = 500_000
    /// The maximum size of a body, which fits the size field of a tar header.
    package static let maxBodyBytes = 4 << 30
    /// The maximum length of a URL in bytes, the same as in manifests.
    static let maxURLBytes = 16 * 1024
    /// The maximum length of a version in bytes.
    package static let maxVersionBytes = 256
    /// The maximum size of the header fields of a file.
    static let maxFieldsBytes = 64 * 1024
    /// The bodies of an update may have together `expansionFactor` times the size of its file, plus twice the size of the
    /// different bases, plus `expansionAllowanceBytes`.
    static let expansionFactor = 200
    static let expansionAllowanceBytes = 512 << 20

    /// Whether a text can be the version of a release.
    package static func isVersion(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= maxVersionBytes && UpdateNode.isPrintable(text)
    }
}

// MARK: - Text

extension UpdateList {
    /// The text of the list, with a line feed at its end. Equal lists have equal texts.
    package var text: String { members.text() + "\n" }
}

extension UpdateList: JSONObject {
    package var members: JSONMembers {
        [
            "larderUpdate": Self.version, "created": created.iso8601, "fromVersion": IfAny(fromVersion),
            "windowLog": Self.maxWindowLog,
            "manifest": manifest, "files": files.enumerated().map { NumberedFile(index: $0, file: $1) },
        ]
    }

    /// A file with its number, which gives the name of its frame.
    private struct NumberedFile: JSONObject {
        let index: Int
        let file: File

        var members: JSONMembers {
            let frame = file.frame.map { frame -> JSONMembers in
                ["file": UpdateList.frameName(ofFile: index)] + frame.members
            }
            return [
                "url": file.url, "status": IfAny(file.status == 200 ? nil : file.status),
                "page": IfAny(file.isPage ? true : nil),
                "headers": IfAny(file.fields.list.map { "\($0.name): \($0.value)" }),
                "size": IfAny(file.body?.byteCount), "sha256": IfAny(file.body?.sha256.hex),
                "from": IfAny(file.base), "frame": IfAny(frame),
            ]
        }
    }
}

extension UpdateList.Blob: JSONObject {
    package var members: JSONMembers { ["size": byteCount, "sha256": sha256.hex] }
}

extension UpdateList.Base: JSONObject {
    package var members: JSONMembers { ["url": url] + blob.members }
}

// MARK: - Parsing

extension UpdateList {
    /// The reason why a text is not the list of an update.
    package struct Malformation: Error, Equatable {
        package let detail: String
    }

    /// Parses a list, and checks it as far as that is possible without the bodies.
    package init(_ source: [UInt8]) throws(Malformation) {
        let root: JSONValue
        do throws(JSONError) {
            root = try JSONValue.parse(source.span, limits: JSONLimits(byteCount: UpdateLimits.maxListBytes))
        } catch {
            throw Malformation(detail: "\(UpdateArchive.listName) is not JSON: \(error)")
        }
        let list = try UpdateNode(root, "update.json").object([
            "larderUpdate", "created", "fromVersion", "windowLog", "manifest", "files",
        ])
        let version = try list.integer("larderUpdate")
        guard version == Self.version else {
            throw Malformation(
                detail: "its format has the version \(version), and this larder reads \(Self.version)")
        }
        let window = try list.integer("windowLog")
        guard window <= Self.maxWindowLog else {
            throw Malformation(
                detail: "it needs windows of 2^\(window) bytes, and 2^\(Self.maxWindowLog) are allowed")
        }
        guard let created = HTTPDate(rfc3339: try list.string("created")) else {
            throw Malformation(detail: "its time is malformed")
        }
        var fromVersion: String?
        if list.has("fromVersion") {
            let version = try list.string("fromVersion")
            guard UpdateLimits.isVersion(version) else {
                throw list.malformation("fromVersion", "is empty, too long or has control characters")
            }
            fromVersion = version
        }
        let elements = try list.elements("files")
        guard elements.count <= UpdateLimits.maxFiles else {
            throw Malformation(
                detail: "it lists \(elements.count) files, and \(UpdateLimits.maxFiles) are allowed")
        }
        var files: [File] = []
        files.reserveCapacity(elements.count)
        var check = ListCheck()
        for (index, element) in elements.enumerated() {
            let file = try File(element, index)
            try check.add(file)
            files.append(file)
        }
        self.init(
            created: created, fromVersion: fromVersion,
            manifest: try Blob(list.member("manifest").object(["size", "sha256"])),
            files: files)
    }
}

/// Checks that the files of a list fit together.
private struct ListCheck {
    private var urls: Set<String> = []
    private var bodies: Set<UpdateList.Blob> = []

    mutating func add(_ file: UpdateList.File) throws(UpdateList.Malformation) {
        guard urls.insert(file.url).inserted else {
            throw UpdateList.Malformation(detail: "it lists \(file.url) twice")
        }
        guard let body = file.body else { return }
        if file.frame == nil {
            let isBase = file.base?.blob == body
            guard isBase || file.base == nil && bodies.contains(body) else {
                throw UpdateList.Malformation(detail: "it says nothing about the bytes of \(file.url)")
            }
        }
        if let base = file.base, file.frame != nil {
            let maxBytes = UpdateList.maxBaseBytes
            guard base.blob.byteCount <= maxBytes, body.byteCount <= maxBytes else {
                throw UpdateList.Malformation(
                    detail: "\(file.url) and its base have more than \(maxBytes) bytes")
            }
        }
        bodies.insert(body)
    }
}

extension UpdateList.File {
    fileprivate init(_ node: UpdateNode, _ index: Int) throws(UpdateList.Malformation) {
        let file = try node.object([
            "url", "status", "page", "headers", "size", "sha256", "from", "frame",
        ])
        self.init(url: try file.url("url"), fields: HTTPFields())
        if file.has("status") { status = try file.integer("status") }
        guard [200, 203, 301, 302, 303, 307, 308, 404, 410].contains(status) else {
            throw file.malformation("status", "is \(status), which is not stored")
        }
        if file.has("page") {
            guard try file.bool("page") else { throw file.malformation("page", "is false; leave it out") }
            isPage = true
        }
        if file.has("headers") {
            var byteCount = 0
            for element in try file.elements("headers") {
                let line = try element.string()
                byteCount += line.utf8.count
                let fields = HTTPFields(block: line.utf8.span).list
                guard byteCount <= UpdateLimits.maxFieldsBytes, fields.count == 1,
                    UpdateNode.isPrintable(line)
                else { throw file.malformation("headers", "are malformed or too long") }
                self.fields.append(fields[0].name, fields[0].value)
            }
        }
        guard isSuccess else {
            guard !file.has("size"), !file.has("sha256"), !file.has("from"), !file.has("frame") else {
                throw file.malformation("status", "is \(status), and such responses have no body")
            }
            return
        }
        body = try UpdateList.Blob(file)
        if file.has("from") {
            let from = try file.member("from").object(["url", "size", "sha256"])
            base = UpdateList.Base(url: try from.url("url"), blob: try UpdateList.Blob(from))
        }
        if file.has("frame") {
            let frame = try file.member("frame").object(["file", "size", "sha256"])
            guard try frame.string("file") == UpdateList.frameName(ofFile: index) else {
                throw frame.malformation("file", "is not \(UpdateList.frameName(ofFile: index))")
            }
            self.frame = try UpdateList.Blob(frame)
        }
    }
}

extension UpdateList.Blob {
    fileprivate init(_ node: UpdateNode) throws(UpdateList.Malformation) {
        let size = try node.integer("size")
        guard (0...UpdateLimits.maxBodyBytes).contains(size) else {
            throw node.malformation(
                "size", "is \(size); at most \(UpdateLimits.maxBodyBytes) bytes are allowed")
        }
        let hex = try node.string("sha256")
        // Exactly one text stands for each digest.
        guard let digest = Digest(.sha256, hex: hex), digest.hex == hex else {
            throw node.malformation("sha256", "is malformed")
        }
        self.init(byteCount: size, sha256: digest)
    }
}

/// A value of the list, with its path for messages.
private struct UpdateNode {
    private let value: JSONValue
    private let path: String

    init(_ value: JSONValue, _ path: String) {
        (self.value, self.path) = (value, path)
    }

    func malformation(_ name: String, _ detail: String) -> UpdateList.Malformation {
        UpdateList.Malformation(detail: "\(path).\(name) \(detail)")
    }

    /// The node itself, if it is an object with no other members than these, and each only once.
    func object(_ names: [String]) throws(UpdateList.Malformation) -> UpdateNode {
        guard let members = value.members, members.allSatisfy({ names.contains($0.key) }),
            value.duplicateMembers.isEmpty
        else {
            throw UpdateList.Malformation(
                detail: "\(path) is not an object with the members \(names.joined(separator: ", "))")
        }
        return self
    }

    func has(_ name: String) -> Bool { value[name] != nil }

    func member(_ name: String) throws(UpdateList.Malformation) -> UpdateNode {
        guard let member = value[name] else { throw malformation(name, "is missing") }
        return UpdateNode(member, "\(path).\(name)")
    }

    func elements(_ name: String) throws(UpdateList.Malformation) -> [UpdateNode] {
        guard let elements = value[name]?.array else { throw malformation(name, "is not an array") }
        return elements.enumerated().map { UpdateNode($1, "\(path).\(name)[\($0)]") }
    }

    func string() throws(UpdateList.Malformation) -> String {
        guard let text = value.string else {
            throw UpdateList.Malformation(detail: "\(path) is not a string")
        }
        return text
    }

    func string(_ name: String) throws(UpdateList.Malformation) -> String { try member(name).string() }

    func bool(_ name: String) throws(UpdateList.Malformation) -> Bool {
        guard let bool = value[name]?.bool else { throw malformation(name, "is not true or false") }
        return bool
    }

    func integer(_ name: String) throws(UpdateList.Malformation) -> Int {
        guard let number = value[name]?.int, number >= 0 else {
            throw malformation(name, "is not a whole number of at least 0")
        }
        return number
    }

    /// A URL, or a reference that stays below its base. Those who unpack an update by hand may use it as a file name.
    func url(_ name: String) throws(UpdateList.Malformation) -> String {
        let text = try string(name)
        guard !text.isEmpty, text.utf8.count <= UpdateLimits.maxURLBytes, Self.isPrintable(text) else {
            throw malformation(name, "is empty, too long or has control characters")
        }
        let path = text.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        let decoded = [UInt8](percentDecoding: Array(path).span)
        let segments = decoded.split { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
        guard !segments.contains(where: { $0.elementsEqual("..".utf8) }) else {
            throw malformation(name, "leaves the folder: \(text)")
        }
        return text
    }

    static func isPrintable(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) }
    }
}
