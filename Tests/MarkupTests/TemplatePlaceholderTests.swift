import Testing

@testable import Markup

/// References with placeholders, which are not requested.
@Suite struct TemplatePlaceholderTests {
    private func isPlaceholder(_ reference: String) -> Bool {
        Array(reference.utf8).withUnsafeBufferPointer { TemplatePlaceholder.isIn($0) }
    }

    @Test(arguments: [
        "{url}", "/items/{id}", "/items/{item.id}/edit", "/search?q={searchTerms?}", "img_{width}x.jpg",
        "/t/{0}",
        "{+base}/a", "/list{?page,per_page}", "{{ page.url }}", "{{", "/a/{{id}}.html", "{% url 'item' %}",
        "${base}/a.png", "/a/${ids[0]}", "%{path}", "<%= url %>", "/a<%", "/a/{Post-Id}",
    ])
    func `a reference with a placeholder`(reference: String) {
        #expect(isPlaceholder(reference))
    }

    @Test(arguments: [
        "", "/a", "/a?b=c", "/%7Burl%7D", "{", "}", "{}", "/a}b{c", "/a{", "$a", "%7B{", "/a?b=1%", "<b>",
        "/~/media/{3F2504E0-4F89-11D3-9A0C-0305E82C3301}.ashx", "/list?id={a1b2c3d4e5f60718293a4b5c6d7e8f90}",
        #"/q?{"a":1}"#, #"/q?f={"a":{"b":[1]}}"#, "/a?range={100}", "/{ä}", "{0A1B2C3D}",
        "{\(String(repeating: "a", count: 65))}",
    ])
    func `a reference without one`(reference: String) {
        #expect(!isPlaceholder(reference))
    }
}
