/// A setting that a body makes for a module loader, or a request that it sends to one.
///
/// A note does not contain a URL: the file of `require(["a/b"])` depends on the loader's configuration, which
/// may be in the page or in another of its scripts. ``LoaderEnvironment`` combines the notes of a page.
package struct LoaderNote: Hashable, Sendable {
    /// The kind of a note. The raw values are stored.
    package enum Kind: UInt8, Sendable {
        // Settings, which apply to all scripts of the page.

        /// The folder of all modules: `baseUrl`.
        case base = 1
        /// A module name or its first segments, and the path that replaces it: `paths`.
        case path = 2
        /// The name of a package, and its folder: `packages`.
        case package = 3
        /// The name of a package, and its main module.
        case packageMain = 4
        /// A module name, and the name that replaces it: `map`.
        case alias = 5
        /// A module name, and the module whose file contains it: `bundles`.
        case bundle = 6
        /// The query string that is added to every URL: `urlArgs`.
        case arguments = 7
        /// A variable with a URL from which scripts compose others: `base_url`.
        case constant = 8
        /// A prefix of specifiers, and the URL that replaces it: import maps.
        case prefix = 9
        /// The script that a loader starts with: `data-main`.
        case main = 10
        /// The name of a module that a script itself defines.
        case definition = 11
        /// The page has a loader of AMD modules.
        case loader = 12

        // Requests.

        /// A module, or a resource of a plugin: `require([…])`.
        case request = 32
        /// A module that is needed only if the page has a loader: `define([…])`.
        case dependency = 33
        /// A resource relative to the folder of modules: `require.toUrl(…)`.
        case resource = 34
        /// A URL relative to the document that runs the script.
        case address = 35
        /// A specifier that a module imports and that starts with a prefix of an import map.
        case specifier = 36

        var isSetting: Bool { rawValue < 32 }
    }

    package var kind: Kind
    /// The name that a setting applies to; empty if there is only a value.
    package var name: String
    /// The value. It may contain `${name}`, where `name` is that of a ``Kind/constant``.
    package var value: String
    /// The kind of link that an ``Kind/address`` becomes.
    package var link: LinkKind

    package init(_ kind: Kind, _ value: String, name: String = "", link: LinkKind = .script) {
        self.kind = kind
        self.name = name
        self.value = value
        self.link = link
    }

    /// The maximum length of a name or a value in bytes. Notes with longer ones are ignored.
    static let maxBytes = 2048
    /// The maximum number of notes of a script. Further ones are ignored.
    static let maxCount = 4096
}

/// The reasons why a browser may find more links in a page than a scan: code that the scan could not
/// interpret.
package struct RenderReasons: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// The document has scripts and hardly any text.
    package static let littleText = RenderReasons(rawValue: 1)
    /// A loader of modules or chunks composes its URLs in an unknown way.
    package static let uninterpretedLoader = RenderReasons(rawValue: 2)
    /// A script requests a URL that it composes.
    package static let composedURL = RenderReasons(rawValue: 4)
    /// A script requests a URL that is defined elsewhere.
    package static let indirectFetch = RenderReasons(rawValue: 8)
    /// A script can send requests, by `fetch`, `XMLHttpRequest`, jQuery, a socket or the source of an element.
    /// This reason is weak: the scan may have found all of them, so it justifies one look at each kind of page.
    package static let sendsRequests = RenderReasons(rawValue: 16)

    /// The reasons apart from the weak one.
    package var strong: RenderReasons { subtracting(.sendsRequests) }

    /// The raw value with all bits set; decoding rejects larger ones.
    static let allBits: UInt8 = 31
}
