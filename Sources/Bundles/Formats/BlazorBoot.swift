internal import Web

/// The boot configuration of .NET in WebAssembly, as Blazor and other apps use it: `blazor.boot.json`, or JSON between
/// `/*json-start*/` and `/*json-end*/` in `dotnet.boot.js` and `dotnet.js` since .NET 10.
///
/// Its `resources` are groups of files. Up to .NET 9 a group maps names to integrity metadata, since .NET 10 it is a
/// list of objects with `name` and `integrity` (in previews `hash`). References are relative to the folder of the app,
/// which contains the folder `_framework` with the configuration and most files.
struct BlazorBoot {
    private let root: ManifestNode
    /// The folder of the configuration, relative to the base of the references: `_framework/`, or empty.
    private let framework: String
    /// The base of the references, relative to the configuration.
    private let base: String?
    private var list = BundleList()
    private var notes: [String] = []

    private static let folder = "_framework/"

    private init(_ root: ManifestNode) {
        self.root = root
        let folder = root.source.folderOfFile.utf8
        let isInside =
            folder.elementsEqual("_framework".utf8) || folder.suffix(11).elementsEqual("/_framework".utf8)
        // In a folder with another name, the files are beside the configuration. If the folder is not known, it counts as
        // `_framework`.
        framework = isInside || folder.isEmpty ? Self.folder : ""
        base = isInside ? "../" : nil
    }

    static func read(_ root: ManifestNode) throws(ManifestError) -> Manifest {
        var reader = BlazorBoot(root)
        return try reader.manifest()
    }

    /// Reads the configuration inside a script.
    static func read(script source: ManifestText) throws(ManifestError) -> Manifest {
        guard let range = configuration(in: source.bytes) else {
            throw source.error(
                at: 0,
                "expected a boot configuration after \(startMark), found none: name _framework/blazor.boot.json, or "
                    + "the published dotnet.js")
        }
        return try read(try source.json(in: range))
    }

    static func isRecognised(_ value: JSONValue) -> Bool {
        value["resources"]?.members != nil
            && ["mainAssemblyName", "entryAssembly"].contains { value[$0]?.string != nil }
    }

    /// Whether a script contains a boot configuration.
    static func isRecognised(_ source: ManifestText) -> Bool {
        guard let range = configuration(in: source.bytes) else { return false }
        let text = Array(source.bytes[range])
        return ["\"resources\"", "AssemblyName\""].allSatisfy {
            !ManifestText.offsets(of: $0, in: text, atMost: 1).isEmpty
        }
    }

    private static let startMark = "/*json-start*/"
    private static let endMark = "/*json-end*/"

    /// The range between the marks; nil if there are none with an object between them.
    private static func configuration(in bytes: [UInt8]) -> Range<Int>? {
        let starts = ManifestText.offsets(of: startMark, in: bytes, atMost: 16)
        let ends = ManifestText.offsets(of: endMark, in: bytes, atMost: 16).map { $0 - endMark.utf8.count }
        for start in starts where bytes[start...].first(where: { $0 > 0x20 }) == 0x7B {
            if let end = ends.first(where: { $0 >= start }) { return start..<end }
        }
        return nil
    }

    // MARK: Groups

    /// Members of `resources` that are not groups of files.
    private static let otherMembers: Set<String> = ["hash", "fingerprinting"]
    private static let groups: Set<String> = [
        "assembly", "coreAssembly", "lazyAssembly", "satelliteResources", "pdb", "corePdb", "runtime",
        "runtimeAssets", "jsModuleNative", "jsModuleRuntime", "jsModuleWorker", "jsModuleGlobalization",
        "jsModuleDiagnostics", "wasmNative", "wasmSymbols", "icu", "vfs", "coreVfs", "libraryInitializers",
        "modulesAfterConfigLoaded", "modulesAfterRuntimeReady",
    ]
    /// Groups that only debuggers load. Servers often do not publish them.
    private static let debuggingGroups: Set<String> = ["pdb", "corePdb", "wasmSymbols"]
    /// Groups whose names are relative to the folder of the app instead of that of the configuration.
    private static let appGroups: Set<String> = ["libraryInitializers"]

    private mutating func manifest() throws(ManifestError) -> Manifest {
        for (name, group) in try root.requiredMember("resources", "groups of files").members() {
            if Self.groups.contains(name) {
                try addGroup(
                    group, in: Self.appGroups.contains(name) ? "../" : "",
                    isRequired: !Self.debuggingGroups.contains(name))
            } else if !Self.otherMembers.contains(name), group.value.members?.isEmpty != true,
                !group.value.isNull
            {
                notes.append("\(group.key) is not known to Larder, and its files are not checked")
            }
        }
        try addSettings()
        guard !list.bundles.isEmpty else {
            throw root.error("expected files in \"resources\", found none")
        }
        var manifest = Manifest(.blazor, bundles: list.bundles)
        manifest.base = base
        for note in notes { manifest.note(note) }
        return manifest
    }

    /// Adds the settings files, which have no digest. Apps start without them.
    private mutating func addSettings() throws(ManifestError) {
        // `config` is relative to the app, `appsettings` to the configuration.
        for (key, folder) in [("config", "../"), ("appsettings", "")] {
            for name in try root[key]?.optionalElements() ?? [] {
                try add(name, in: folder, integrity: nil, isRequired: false)
            }
        }
    }

    /// Adds the files of a group.
    ///
    /// - Parameter folder: the folder of the files, relative to the configuration.
    private mutating func addGroup(
        _ group: ManifestNode, in folder: String, isRequired: Bool
    ) throws(ManifestError) {
        if group.value.isNull { return }
        guard group.value.array == nil else {
            for item in try group.elements() {
                try add(
                    try item.requiredMember("name", "the name of a file"), in: folder,
                    integrity: item["integrity"] ?? item["hash"], isRequired: isRequired)
            }
            return
        }
        for (name, value) in try group.members() {
            if value.value.array != nil || isSubgroup(value) {
                // Files of a culture are in its folder. In a virtual file system, the key is the path in the app.
                let isCulture = group.key == "resources.satelliteResources"
                try addGroup(value, in: isCulture ? "\(name)/" : folder, isRequired: isRequired)
            } else {
                let integrity = value.value.members == nil ? value : value["integrity"] ?? value["hash"]
                try add(name, in: folder, integrity, isRequired, at: value)
            }
        }
    }

    /// Whether an object has names of files, and not the properties of one file.
    private func isSubgroup(_ node: ManifestNode) -> Bool {
        node.value.members != nil && ["behavior", "hash", "integrity"].allSatisfy { node[$0] == nil }
    }

    // MARK: Files

    private mutating func add(
        _ name: ManifestNode, in folder: String, integrity: ManifestNode?, isRequired: Bool
    ) throws(ManifestError) {
        try add(try name.text(), in: folder, integrity, isRequired, at: name)
    }

    private mutating func add(
        _ name: String, in folder: String, _ integrity: ManifestNode?, _ isRequired: Bool,
        at node: ManifestNode
    ) throws(ManifestError) {
        guard !name.isEmpty else { throw node.error("expected the name of a file, found an empty one") }
        // Up to .NET 7, names contain the folder of their culture.
        let relative = name.hasPrefix(folder) ? name : folder + name
        let path =
            relative.hasPrefix("../") && !framework.isEmpty
            ? String(relative.dropFirst(3)) : framework + relative
        let bundle = Bundle(
            reference: PathReference.reference(to: path),
            claims: try integrity?.lenientIntegrityClaims() ?? [],
            isRequired: isRequired)
        try node.add(bundle, to: &list)
    }
}

extension ManifestNode {
    /// The elements of an array; none for null.
    fileprivate func optionalElements() throws(ManifestError) -> [ManifestNode] {
        value.isNull ? [] : try elements()
    }
}
