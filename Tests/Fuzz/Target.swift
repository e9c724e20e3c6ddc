/// A parser of outside input, with properties that must hold for all bytes.
protocol Target {
    var name: String { get }
    /// The suffixes of the target's files in the corpus.
    var suffixes: [String] { get }
    /// Tokens of its language, which random bytes would seldom contain.
    var pieces: [String] { get }
    /// The bytes to change, computed from a file of the corpus.
    func seed(_ body: [UInt8]) -> [UInt8]
    /// The property that the parser violates for the input, a colon, and the details; nil if all properties hold.
    func fault(_ input: [UInt8]) -> String?
}

extension Target {
    func seed(_ body: [UInt8]) -> [UInt8] { body }
}

enum Targets {
    static var all: [any Target] {
        MarkupTarget.all
            + [
                TableTarget(), AddressTarget(), JSONTarget(), RobotsTarget(), FieldsTarget(),
                SignaturesTarget(), RangeTarget(),
                RequestTarget(), HelloTarget(), BundlesTarget(), MinisignTarget(), ExpoTarget(),
                DevicesTarget(),
                TUFMetadataTarget(),
                ArchiveTarget(), UpdateTarget(),
                PagePartsTarget(),
                SearchTarget(),
            ]
            as [any Target]
    }
}
