internal import Web

extension CacheRules {
    /// - Throws: `LarderError` of kind `.input` that names the rule and what is wrong with it.
    init(texts: [String]) throws(LarderError) {
        var rules: [Rule] = []
        for text in texts {
            do throws(Rule.Mistake) {
                rules.append(try Rule(text))
            } catch {
                let reason =
                    switch error {
                    case .empty: "it is empty"
                    case .pattern(let pattern): "\(pattern) is no pattern of URLs"
                    case .setting(let word): "\"\(word)\" is nothing that a rule can set"
                    case .nothingSet: "it sets nothing"
                    }
                throw LarderError(
                    .input, "the rule \"\(text)\" cannot be used: \(reason); write it like \"/api/** max-age=600\"")
            }
        }
        self.init(rules)
    }
}
