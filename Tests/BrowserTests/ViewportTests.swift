import Testing

@testable import Browser

@Suite struct ViewportTests {
    @Test(arguments: [
        ("1280x900", Viewport(width: 1280, height: 900)),
        ("390x844", Viewport(width: 390, height: 844, isMobile: true)),
        ("390x844@3", Viewport(width: 390, height: 844, scale: 3, isMobile: true)),
        ("600x800@1.5", Viewport(width: 600, height: 800, scale: 1.5)),
    ])
    func `a viewport is parsed`(text: String, expected: Viewport) {
        #expect(Viewport(text) == expected)
    }

    @Test(arguments: [
        "", "x", "1280", "1280x", "x900", "0x900", "1280x900x3", "1280x900@", "1280x900@0", "1280x900@3@2",
        "-1280x900", "+1280x900", "99999999999999999999x900", "1280x9000", "1280x900@1e1", "1280x900@inf",
        "1280X900", " 1280x900",
    ])
    func `a text outside the format or the range is not a viewport`(text: String) {
        #expect(Viewport(text) == nil)
    }
}
