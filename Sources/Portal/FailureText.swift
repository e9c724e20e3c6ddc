internal import Reports
package import Store
internal import Web

/// Why a URL could not be fetched, in the languages of the portal. All pages and the results of jobs take the words from here,
/// so that one reason has one wording.
package enum FailureText {
    /// The reason for which a walk counts a URL as missing.
    static func text(for reason: SiteNeeds.UnmetNeed.Reason, in language: PortalLanguage) -> String {
        switch reason {
        case .notStored: Sentence.notStored.text(in: language)
        case .part: Sentence.statePart.text(in: language)
        case .answered(let status): Sentence.serverAnswered.text(in: language, ["\(status)"])
        case .other(let text): Self.text(for: text, in: language)
        }
    }

    /// A reason as runs record it and reports name it, such as `the server answered 503`. The English text if it has no
    /// translation.
    package static func text(for reason: String, in language: PortalLanguage) -> String {
        translation(of: reason, in: language) ?? Sentence.untranslated.text(in: language, [reason])
    }

    /// A result of a check, `URL, reason`, with the reason translated if it has a translation.
    static func translatingReason(
        after separator: String, in text: String, _ language: PortalLanguage
    ) -> String {
        guard let place = text.firstRange(of: separator),
            let words = translation(of: String(text[place.upperBound...]), in: language)
        else { return text }
        return text[..<place.lowerBound] + Sentence.comma.text(in: language) + words
    }

    private static func translation(of reason: String, in language: PortalLanguage) -> String? {
        if let status = status(in: reason) {
            return Sentence.serverAnswered.text(in: language, ["\(status)"])
        }
        if let sentence = sentences[reason] { return sentence.text(in: language) }
        // The reason of a failed connection can have details: `timed out (no response for 30 s)`.
        if let start = reason.utf8.firstIndex(of: UInt8(ascii: "(")), reason.hasSuffix(")"),
            start > reason.startIndex,
            let sentence = sentences[String(reason[..<reason.utf8.index(before: start)])]
        {
            let details = String(reason[reason.utf8.index(after: start)...].dropLast())
            return Sentence.withNote.text(in: language, [sentence.text(in: language), details])
        }
        return nil
    }

    /// The status in `the server answered 503`; nil for other reasons.
    static func status(in reason: String) -> Int? {
        let answered = "the server answered "
        return reason.hasPrefix(answered) ? Int(reason.dropFirst(answered.count)) : nil
    }

    private static let sentences: [String: Sentence] = [
        "its host has no address": .hostHasNoAddress, "host not found": .hostHasNoAddress,
        "the page says \"not found\"": .pageSaysNotFound,
        "the page says \"not found\" (soft 404)": .pageSaysNotFound, "timed out": .serverTimedOut,
        "cannot connect": .serverUnreachable, "connection broke": .connectionBroke,
    ]

    /// The last failure of a URL as a sentence: when, and why.
    ///
    /// - Parameter now: the time in seconds since 1970.
    package static func phrase(
        for failure: LastFailure, now: Int64, in language: PortalLanguage
    ) -> Phrase {
        Phrase(.lastUpdateFailed, language.age(now - failure.at), text(for: failure.reason, in: language))
    }
}
