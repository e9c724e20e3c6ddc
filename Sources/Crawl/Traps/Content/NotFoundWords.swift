internal import Web

/// Words by which pages say that there is nothing.
enum NotFoundWords {
    private static let phrases = [
        "not found", "page missing", "no such page", "does not exist", "doesn't exist", "nicht gefunden", "introuvable",
        "non trouvée", "no encontrada", "no encontrado", "non trovata", "não encontrada", "niet gevonden",
        "не найдена", "未找到", "見つかりません",
    ].map { Array($0.utf8) }
    private static let longestTitle = 512

    /// Whether a page's title says so: by words, or by the number of the status.
    static func areSaid(in title: String) -> Bool {
        let bytes = title.utf8.prefix(longestTitle).map(\.lowercasedASCII)
        return saysNumber(bytes) || phrases.contains { isFound($0, in: bytes) }
    }

    /// 404 as a word of its own.
    private static func saysNumber(_ bytes: [UInt8]) -> Bool {
        bytes.split { !$0.isASCIIAlphanumeric }.contains { $0.elementsEqual("404".utf8) }
    }

    private static func isFound(_ phrase: [UInt8], in bytes: [UInt8]) -> Bool {
        guard bytes.count >= phrase.count else { return false }
        return (0...bytes.count - phrase.count).contains { bytes[$0...].starts(with: phrase) }
    }
}
