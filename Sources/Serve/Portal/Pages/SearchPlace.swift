internal import Store

/// Where a search is to be gone on with: first through titles, then through addresses.
enum SearchPlace: Equatable {
    case titles(BodyPlace)
    case addresses(String)

    static let start = SearchPlace.titles(.start)

    init?(text: String) {
        let rest = text.dropFirst(2)
        if text.hasPrefix("a.") {
            self = .addresses(String(rest))
            return
        }
        let numbers = rest.split(separator: ".").compactMap { Int64($0) }
        guard text.hasPrefix("t."), numbers.count == 2, numbers.allSatisfy({ $0 >= 0 && $0 < Int64.max / 2 }) else {
            return nil
        }
        self = .titles(BodyPlace(body: numbers[0], url: numbers[1]))
    }

    var text: String {
        switch self {
        case .titles(let place): "t.\(place.body).\(place.url)"
        case .addresses(let place): "a.\(place)"
        }
    }
}
