import Archives

/// Two parsers of exports and imports: the tag that encloses a link, and the listing of a ZIM file.
struct PagePartsTarget: Target {
    let name = "parts"
    let suffixes = [".html", ".list"]
    let pieces = [
        "<iframe src=", "<link rel=preload href=", "<meta http-equiv=refresh content=", " src=\"", "='", "\"",
        "'", ">",
        "/>", "=",
        "path: ", "path: ../", "* title:          ", "* type:           item\n",
        "* mime-type:      text/html\n",
        "* item size:      9\n", "* item size:      99999999999999999999\n", "\n", "../", "/..",
    ]

    func fault(_ input: [UInt8]) -> String? {
        let step = max(1, input.count / 64)
        for place in stride(from: 0, to: input.count, by: step) {
            guard let tag = EnclosingTag(around: place..<place + 1, in: input, mustBeWholeValue: false) else {
                continue
            }
            for attribute in tag.attributes {
                let isInside =
                    attribute.nameStart < input.count && attribute.valueRange.upperBound <= input.count
                if !isInside { return "places: \(attribute) of \(input.count) bytes" }
            }
            if !tag.attributes.contains(where: { $0.valueRange.contains(place) }) {
                return "the place: \(place)"
            }
        }
        for entry in ZIMListing(input)?.entries ?? [] {
            let isInside = !entry.path.hasPrefix("/") && !entry.path.split(separator: "/").contains("..")
            if !isInside || entry.byteCount < 0 { return "a name: \(entry)" }
        }
        return nil
    }
}
