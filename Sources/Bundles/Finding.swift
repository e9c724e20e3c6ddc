/// A verdict, and what else was noticed that changes nothing about it.
package struct Finding: Sendable, Equatable {
    package var verdict: Verdict
    /// Weak evidence, and what could not be looked at; a sentence each.
    package var remarks: [String]

    package init(_ verdict: Verdict, remarks: [String] = []) {
        self.verdict = verdict
        self.remarks = remarks
    }
}
