/// What a body says to a loader of modules, or asks of one.
///
/// It names no file by itself: `require(["a/b"])` asks for what the configuration makes of `a/b`, and that
/// may stand in the page, or in another script of it. ``LoaderEnvironment`` puts the notes of a page
/// together.
package struct LoaderNote: Hashable, Sendable {
    /// The raw values are stored.
    package enum Kind: UInt8, Sendable {
        // What is set, for all scripts of the page.

        /// The folder that modules are named from: `baseUrl`.
        case base = 1
        /// A name, or its beginning, and the path that stands for it: `paths`.
        case path = 2
        /// A name that is a folder with a main module, and that folder: `packages`.
        case package = 3
        /// A package's name and its main module.
        case packageMain = 4
        /// A name, and another one that is meant by it: `map`.
        case alias = 5
        /// A name, and the module whose file holds it: `bundles`.
        case bundle = 6
        /// What stands behind the question mark of every address: `urlArgs`.
        case arguments = 7
        /// A variable with an address that scripts put others together with: `base_url`.
        case constant = 8
        /// The beginning of specifiers and the folder it stands for: import maps.
        case prefix = 9
        /// The script that a loader starts with: `data-main`.
        case main = 10
        /// A name that a script defines by itself.
        case definition = 11
        /// A loader of AMD modules is part of the page.
        case loader = 12

        // What is asked for.

        /// A module or a plugin's resource: `require([…])`.
        case request = 32
        /// The same where it depends on the page whether anybody asks for modules: `define([…])`.
        case dependency = 33
        /// A resource below the folder of modules: `require.toUrl(…)`.
        case resource = 34
        /// An address that is relative to the document, whichever that is.
        case address = 35
        /// What a module imports by the beginning of a specifier.
        case specifier = 36

        var isSetting: Bool { rawValue < 32 }
    }

    package var kind: Kind
    /// What it is for; empty where there is only a value.
    package var name: String
    /// May hold `${name}` for a ``Kind/constant``.
    package var value: String
    /// What an ``Kind/address`` is for.
    package var link: LinkKind

    package init(_ kind: Kind, _ value: String, name: String = "", link: LinkKind = .script) {
        self.kind = kind
        self.name = name
        self.value = value
        self.link = link
    }

    /// No name and no value is longer.
    static let maximalLength = 2048
    /// More modules than a script asks for, or a configuration names.
    static let maximalCount = 4096
}

/// Why a browser may find more in a page than a scan: what was seen there and could not be read.
package struct RenderReasons: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// A document with scripts and hardly any text.
    package static let hardlyAnyText = RenderReasons(rawValue: 1)
    /// A loader of modules or chunks whose names are put together in a way that was not understood.
    package static let unreadLoader = RenderReasons(rawValue: 2)
    /// A script asks for an address that it puts together.
    package static let composedAddress = RenderReasons(rawValue: 4)
    /// A script asks for an address that stands somewhere else.
    package static let unreadFetch = RenderReasons(rawValue: 8)

    /// All of them.
    static let largest: UInt8 = 15
}
