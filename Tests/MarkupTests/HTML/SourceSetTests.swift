import TestOrigin
import Testing
import Web

@testable import Markup

@Suite struct SourceSetTests {
    struct Case: Sendable, CustomStringConvertible {
        var srcset: String
        var chosen: String
        var description: String { srcset.debugDescription }
    }

    private static func cases(_ name: String) -> [Case] {
        ConformanceData.cases("srcset/\(name).json").map {
            Case(srcset: $0["srcset"]?.string ?? "", chosen: $0["expect_url"]?.string ?? "")
        }
    }

    static func addresses(_ srcset: String) -> [String] {
        Array(srcset.utf8).withUnsafeBufferPointer { bytes in
            var found: [String] = []
            SourceSet.forEachAddress(bytes) { found.append(String(decoding: bytes[$0], as: UTF8.self)) }
            return found
        }
    }

    /// The data say which candidate a browser chooses; every candidate must be found, so that one too.
    @Test(
        "The candidate that a browser chooses is found", .enabled(if: ConformanceData.isThere),
        arguments: cases("albell-srcset") + cases("wpt-srcset"))
    func conformance(_ test: Case) {
        let found = Self.addresses(test.srcset)
        #expect(test.chosen.isEmpty || found.contains(test.chosen), "\(found) \(test.chosen)")
        // One that the data reject has a descriptor that is not understood: it is kept.
        #expect(found.allSatisfy { test.srcset.contains($0) && !$0.isEmpty })
    }

    @Test(
        "Commas and white space part the candidates as the standard says",
        arguments: [
            ("a", ["a"]), (" a , b ", ["a", "b"]), ("a,b", ["a,b"]), ("a, b", ["a", "b"]),
            ("a,,b 1x,c", ["a,,b", "c"]),
            (",a 1x,, b 2x,", ["a", "b"]), ("a (x, y) 1x, b", ["a", "b"]), ("a 1x b, c", ["a", "c"]),
            ("a 9q, b", ["a", "b"]),
            ("data:,a 1x, data:image/png;base64,x= 2x", ["data:,a", "data:image/png;base64,x="]), (", ,", []), ("", []),
        ] as [(String, [String])])
    func candidates(_ srcset: String, _ addresses: [String]) {
        #expect(Self.addresses(srcset) == addresses)
    }
}
