import Check
import Fetch
import Testing

@testable import LarderKit
@testable import Store

/// Every error message says what happened, to what, and what to do next.
@Suite struct ErrorMessageTests {
    /// One of these precedes the next step or the correction.
    private static let turns = ["; ", ": ", " must ", " wants ", " with: ", "there are "]

    @Test(arguments: SourceMessage.all)
    func `a message says what to do next`(message: SourceMessage) {
        // These errors get their advice elsewhere; it is tested below.
        if ["StoreError", "ServerError", "SystemError"].contains(message.maker) { return }
        // The name of the option precedes the text, which states the requirement.
        if message.maker == "invalidValue" { return #expect(message.text.hasPrefix("must ")) }
        #expect(Self.turns.contains { message.text.contains($0) }, "\(message.file)")
    }

    @Test func `the scan finds messages of each kind`() {
        let makers = Set(SourceMessage.all.map(\.maker))
        #expect(SourceMessage.all.count > 60)
        #expect(
            makers.isSuperset(of: ["UsageError", "LarderError", "StoreError", "ServerError", "terminal.fail"])
        )
    }

    @Test(arguments: SourceMessage.all)
    func `no message contains error numbers or internal terms`(message: SourceMessage) {
        for word in ["errno", "error code", "code …", "nil", "Optional(", "fatal", "exception"] {
            #expect(!message.text.contains(word), "\(message.file): \(message.text)")
        }
    }

    @Test(arguments: [StoreError.Reason.missing, .busy, .full, .denied, .unusable, .failed])
    func `every reason for a store error has advice`(reason: StoreError.Reason) {
        let error = StoreError(reason, doing: "open the larder", path: "/s", detail: "no")
        #expect(error.description.hasPrefix("cannot open the larder /s: no; "))
        #expect(error.advice.split(separator: " ").count >= 4)
    }

    @Test(arguments: [
        FetchFailure.Kind.unknownHost, .unreachable, .timeout, .insecure, .broken, .invalidResponse,
        .tooLarge,
        .refused,
        .mismatch, .endless, .diskFull, .interrupted, .machine,
    ])
    func `every kind of fetch failure has advice`(kind: FetchFailure.Kind) {
        let error = LarderError(FetchFailure(kind, "example.com"))
        #expect(error.description.contains("example.com"))
        let advice = error.description.split(separator: ";", maxSplits: 1).last ?? ""
        #expect(advice.split(separator: " ").count >= 4)
    }
}
