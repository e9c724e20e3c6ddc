/// Something that reads bytes from outside, with what must hold of it whatever the bytes.
protocol Target {
    var name: String { get }
    /// Of the files in the corpus that are for it.
    var suffixes: [String] { get }
    /// Pieces of its language, which random bytes would seldom make.
    var pieces: [String] { get }
    /// What is changed, made of a file of the corpus.
    func seed(_ body: [UInt8]) -> [UInt8]
    /// What is wrong with how the input was read: the property, a colon, and the particulars. Nil when
    /// nothing is.
    func fault(_ input: [UInt8]) -> String?
}

extension Target {
    func seed(_ body: [UInt8]) -> [UInt8] { body }
}

enum Targets {
    static var all: [any Target] {
        MarkupTarget.all
            + [
                TableTarget(), AddressTarget(), JSONTarget(), RobotsTarget(), FieldsTarget(), RangeTarget(),
                RequestTarget(), HelloTarget(), BundlesTarget(), ArchiveTarget(),
                PagePartsTarget(),
                SearchTarget(),
            ]
            as [any Target]
    }
}
