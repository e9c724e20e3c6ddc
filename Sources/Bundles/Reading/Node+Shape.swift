internal import Web

extension Node {
    /// The form of manifest that a JSON text is, by what it has and no other form has; nil when it is none.
    var shape: ManifestFormat? {
        if let items = value.array { return Self.shape(ofList: items) }
        guard let members = value.members, !members.isEmpty else { return nil }
        func has(_ key: String, _ is: (JSONValue) -> Bool = { _ in true }) -> Bool { value[key].map(`is`) ?? false }
        let isObject = { (value: JSONValue) in value.members != nil }
        let isArray = { (value: JSONValue) in value.array != nil }
        let isText = { (value: JSONValue) in value.string != nil }

        if has("bundles") || has("start", isArray) { return .larder }
        if has("pages") { return .weex }
        if has("hashTable") { return .angular }
        if has("remoteManifestUrl") || (has("packageUrl") && has("assets", isObject)) { return .cocos }
        if has("content_url") { return .cordova }
        if has("files", isObject), has("assets", isObject) { return .sprockets }
        if has("files", isObject), has("entrypoints", isArray) || members.count == 1 { return .cra }
        if has("assets", isArray) || (has("children", isArray) && has("hash")) { return .webpackStats }
        if has("imports", isObject) || has("scopes", isObject) || has("integrity", isObject) { return .importMap }
        if has("jsPath", isText) || WeexManifest.isAnswer(value) { return .weexBundle }
        if members.allSatisfy({ $0.value["file"]?.string != nil }) { return .vite }
        return AssetMap.isRecognised(members) ? .webpackAssets : nil
    }

    private static func shape(ofList items: [JSONValue]) -> ManifestFormat? {
        guard let first = items.first else { return nil }
        if first["file"] != nil, first["hash"] != nil { return .cordova }
        return first.string != nil || first["url"] != nil ? .workbox : nil
    }

    /// Whether a key of it is, or is meant to be, one of ours: then what is wrong can be told.
    var isNearlyOurs: Bool {
        value.members?.contains { Spelling.closest(to: $0.key, among: LarderManifest.keys) != nil } ?? false
    }
}
