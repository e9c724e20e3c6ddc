import TestOrigin

/// A site of any size whose pages are generated on request: a tree with eight children per page, cross links, one style
/// sheet, images on some pages, redirects, and broken links.
struct SyntheticSite: Sendable {
    let pageCount: Int

    private static let children = 8
    private static let words = [
        "amber", "basil", "cedar", "dune", "ember", "fjord", "grove", "heath", "inlet", "jade",
    ]

    static func target(_ page: Int) -> String { page == 0 ? "/" : "/section\(page % 97)/page-\(page).html" }

    func answer(to target: String) -> OriginAnswer {
        if target == "/" { return page(0) }
        if target == "/style.css" {
            return .file("p { color: #222 } b { background: url(/dot.png) }", type: "text/css")
        }
        if target == "/dot.png" { return image(0) }
        let number = Int(target.drop { $0 != "-" }.dropFirst().prefix { $0 != "." }) ?? -1
        guard (0..<pageCount).contains(number) else { return .failure(404) }
        if target.hasPrefix("/image-") { return image(number) }
        if target.hasPrefix("/old-") { return .redirect(to: Self.target(number), status: 301) }
        return target == Self.target(number) ? page(number) : .failure(404)
    }

    private func page(_ number: Int) -> OriginAnswer {
        var text =
            "<!doctype html><title>Page \(number)</title><link rel=stylesheet href=/style.css><h1>\(number)</h1><p>"
        var state = UInt64(number) &* 0x9E37_79B9_7F4A_7C15 | 1
        for _ in 0..<40 + number % 23 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            text += Self.words[Int(state >> 33) % Self.words.count] + String(state >> 50) + " "
        }
        let first = number * Self.children + 1
        for child in first..<first + Self.children where child < pageCount {
            text += "<a href=\(Self.target(child))>\(child)</a> "
        }
        for across in [number / 2, number / 3, number * 7 % pageCount] {
            text += "<a href=\(Self.target(across))>\(across)</a> "
        }
        if number % 10 == 3 { text += "<img src=/image-\(number).png>" }
        if number % 50 == 7 { text += "<a href=/old-\(number / 2).html>old</a>" }
        if number % 50 == 9 { text += "<a href=/gone-\(number)x.html>gone</a>" }
        return .page(text)
    }

    private func image(_ number: Int) -> OriginAnswer {
        .file(
            (0..<600 + number % 5000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ number) }, type: "image/png")
    }
}
