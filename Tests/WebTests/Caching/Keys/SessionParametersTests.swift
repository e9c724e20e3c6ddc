import Testing

@testable import Web

@Suite struct SessionParametersTests {
    @Test(arguments: [
        ("http://a.test/x;jsessionid=0A1B2C3D", "http://a.test/x"),
        ("http://a.test/x;JSESSIONID=0A1B;v=2/y?z", "http://a.test/x;v=2/y?z"),
        ("http://a.test/x?PHPSESSID=4fa8", "http://a.test/x"),
        ("http://a.test/x?a=1&PHPSESSID=4fa8&b=2", "http://a.test/x?a=1&b=2"),
        ("http://a.test/x?utm_source=mail&utm_medium=x", "http://a.test/x"),
        ("http://a.test/x?ASPSESSIONIDQQ=ABC&n=1", "http://a.test/x?n=1"),
        ("http://a.test/x?sid=4fa8b23c4fa8b23c", "http://a.test/x"),
        ("http://a.test/x?fbclid=1&a", "http://a.test/x?a"),
        ("http://a.test/(S(lit3py55t21z5v55vlm25s55))/x.aspx", "http://a.test/x.aspx"),
        ("http://a.test:81/x?gclid=1#y", "http://a.test:81/x"),
        ("http://a.test/x;jsessionid=1?", "http://a.test/x?"),
    ])
    func `what names who asks is left out`(url: String, stripped: String) throws {
        #expect(SessionParameters.stripped(try #require(WebURL(url)))?.href == stripped)
    }

    @Test(arguments: [
        "http://a.test/", "http://a.test/x?sid=12", "http://a.test/x?s=search+words", "http://a.test/x?token=overview",
        "http://a.test/x?utm=1", "http://a.test/x;v=1", "http://a.test/f(x)", "http://a.test/(S(x))/",
        "http://a.test/x?a=1&&b", "http://a.test/x?=PHPSESSID", "http://a.test/jsessionid=1",
    ])
    func `everything else is left alone`(url: String) throws {
        #expect(SessionParameters.stripped(try #require(WebURL(url))) == nil)
    }
}
