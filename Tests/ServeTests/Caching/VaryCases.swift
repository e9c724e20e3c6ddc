import Testing

/// RFC 9111, section 4.1: which stored response a request selects.
@Suite struct VaryCases {
    private static func load(_ vary: String...) -> CacheCase.Step {
        var step = CacheCase.Step.load("Cache-Control: max-age=600")
        step.originResponse?.lines += vary.map { "Vary: \($0)" }
        return step
    }

    private static func asks(_ time: Int64, _ vary: String) -> CacheCase.Step {
        .asks(time, "Cache-Control: max-age=600", "Vary: \(vary)")
    }

    @Test(arguments: [
        CacheCase("the same value", load("Foo").with("Foo: 1"), .held(1).with("Foo: 1")),
        CacheCase("another value", load("Foo").with("Foo: 1"), .asks(1).with("Foo: 2")),
        CacheCase("no value where there was one", load("Foo").with("Foo: 1"), .asks(1)),
        CacheCase("a value where there was none", load("Foo"), .asks(1).with("Foo: 1")),
        CacheCase("no value, both times", load("Foo"), .held(1)),
        CacheCase("an empty value equals none", load("Foo").with("Foo:"), .asks(1).with("Foo: 1")),
        CacheCase("values are case-sensitive", load("Foo").with("Foo: a"), .asks(1).with("Foo: A")),
        CacheCase("names are not case-sensitive", load("FOO").with("foo: 1"), .held(1).with("fOo: 1")),
        CacheCase(
            "other fields do not matter", load("Foo").with("Foo: 1", "Bar: 1"),
            .held(1).with("Foo: 1", "Bar: 2")),
        CacheCase(
            "two names, both the same", load("Foo, Bar").with("Foo: 1", "Bar: a"),
            .held(1).with("Bar: a", "Foo: 1")),
        CacheCase(
            "two names, the second different", load("Foo, Bar").with("Foo: 1", "Bar: a"),
            .asks(1).with("Foo: 1", "Bar: b")),
        CacheCase(
            "two names, the first different", load("Foo, Bar").with("Foo: 1", "Bar: a"),
            .asks(1).with("Foo: 2", "Bar: a")),
        CacheCase(
            "two names, one missing", load("Foo, Bar").with("Foo: 1", "Bar: a"), .asks(1).with("Foo: 1")),
        CacheCase(
            "two lines", load("Foo", "Bar").with("Foo: 1", "Bar: a"), .asks(1).with("Foo: 1", "Bar: b")),
        CacheCase(
            "two lines, both the same", load("Foo", "Bar").with("Foo: 1", "Bar: a"),
            .held(1).with("Foo: 1", "Bar: a")),
        CacheCase(
            "three names", load("Foo, Bar, Baz").with("Foo: 1", "Bar: a", "Baz: x"),
            .asks(1).with("Foo: 1", "Bar: a", "Baz: y")),
        CacheCase(
            "names without spaces", load("Foo,Bar").with("Foo: 1", "Bar: a"),
            .asks(1).with("Foo: 1", "Bar: b")),
        CacheCase(
            "names with superfluous commas", load(" , Foo ,, \tBar,").with("Foo: 1", "Bar: a"),
            .asks(1).with("Foo: 1", "Bar: b")),
        CacheCase("a name twice", load("Foo, foo").with("Foo: 1"), .held(1).with("Foo: 1")),
        CacheCase("nothing named", load("").with("Foo: 1"), .held(1).with("Foo: 2")),
        CacheCase("*", load("*"), .asks(1)),
        CacheCase("* behind a name", load("Foo, *").with("Foo: 1"), .asks(1).with("Foo: 1")),
        CacheCase("* before a name", load("*, Foo").with("Foo: 1"), .asks(1).with("Foo: 1")),
        CacheCase("* in another line", load("Foo", "*").with("Foo: 1"), .asks(1).with("Foo: 1")),
        CacheCase("* among empty ones", load(", *,"), .asks(1)),
        CacheCase(
            "a list in one header or two", load("Foo").with("Foo: 1", "Foo: 2"), .held(1).with("Foo: 1, 2")),
        CacheCase("space around commas", load("Foo").with("Foo: 1,2"), .held(1).with("Foo: 1 ,  2")),
        CacheCase("the order of values", load("Foo").with("Foo: 1, 2"), .asks(1).with("Foo: 2, 1")),
        CacheCase(
            "languages in another case and order",
            load("Accept-Language").with("Accept-Language: en, de;q=0.5"),
            .held(1).with("Accept-Language: DE;q=0.5,EN")
        ),
        CacheCase(
            "other languages", load("Accept-Language").with("Accept-Language: en"),
            .asks(1).with("Accept-Language: de")
        ),
        CacheCase(
            "Accept-Encoding is ignored, since bodies are stored decoded",
            load("Accept-Encoding").with("Accept-Encoding: gzip"),
            .held(1).with("Accept-Encoding: br")),
    ])
    func selection(_ example: CacheCase) throws { try CacheProxy().run(example.steps) }

    @Test(arguments: [
        CacheCase(
            "two variants", load("Foo").with("Foo: 1"), asks(1, "Foo").with("Foo: 2"),
            .held(2).with("Foo: 1"),
            .held(2, of: 1).with("Foo: 2")),
        CacheCase(
            "three variants", load("Foo").with("Foo: 1"), asks(1, "Foo").with("Foo: 2"),
            asks(2, "Foo").with("Foo: 3"),
            .held(3).with("Foo: 1"), .held(3, of: 1).with("Foo: 2"), .held(3, of: 2).with("Foo: 3")),
        CacheCase(
            "a variant with another Vary", load("Foo").with("Foo: 1", "Bar: a"),
            asks(1, "Foo, Bar").with("Foo: 2", "Bar: a"), .held(2).with("Foo: 1", "Bar: b"),
            .asks(2).with("Foo: 2", "Bar: b")),
        CacheCase(
            "the newest matching variant is selected", load("Foo").with("Foo: 1"),
            asks(1, "Bar").with("Foo: 2", "Bar: a"), .held(2, of: 1).with("Foo: 2", "Bar: a")),
        CacheCase(
            "a new response replaces only its own variant", load("Foo").with("Foo: 1"),
            asks(1, "Foo").with("Foo: 2"),
            asks(2, "Foo").with("Foo: 1", "Cache-Control: no-cache"), .held(3, of: 2).with("Foo: 1"),
            .held(3, of: 1).with("Foo: 2")),
        CacheCase(
            "an unsafe request invalidates all variants", load("Foo").with("Foo: 1"),
            asks(1, "Foo").with("Foo: 2"),
            .asks(2).by("POST"), .asks(3).with("Foo: 1"), .asks(3).with("Foo: 2")),
    ])
    func variants(_ example: CacheCase) throws { try CacheProxy().run(example.steps) }
}
