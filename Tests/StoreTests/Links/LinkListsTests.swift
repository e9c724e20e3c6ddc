import Testing

@testable import Store

@Suite struct LinkListsTests {
    @Test(
        arguments: [
            ([], ""), ([1], ",1,"), ([0, 10, 9_223_372_036_854_775_807], ",0,10,9223372036854775807,"),
            ([3, 3], ",3,3,"),
        ] as [([Int64], String)])
    func `numbers are written with a comma before and after each, and read again`(numbers: [Int64], text: String) {
        #expect(LinkLists.text(numbers) == text)
        #expect(LinkLists.numbers(text) == numbers)
    }

    @Test(
        arguments: [
            ("1", []), (",", []), (",,1,,2,,", [1, 2]), (",a,1,", [1]), (",1", []), (",99999999999999999999,5,", [5]),
            (",9223372036854775808,5,", [5]), (",-1,2,", [2]), ("\u{0},1,é,2,1 ,", [1, 2]),
        ] as [(String, [Int64])])
    func `what is no number is left out`(text: String, expected: [Int64]) {
        #expect(LinkLists.numbers(text) == expected)
    }
}
