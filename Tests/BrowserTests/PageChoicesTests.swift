import Browser
import TestOrigin
import Testing

@Suite(.enabled(if: SharedBrowser.isInstalled, "no browser is installed"))
struct PageChoicesTests {
    /// Renders a page whose controls call `load` with a path, and returns the paths that were requested.
    private func requests(
        of html: String, _ change: (inout PageVisit) -> Void = { _ in }
    ) throws -> Set<String> {
        let origin = try TestOrigin()
        origin.on(
            "/",
            .page(
                "<!DOCTYPE html><title>Site</title><script>const load = (path) => fetch('/' + path)</script>"
                    + html))
        origin.otherwise { _ in .file("1", type: "text/plain") }
        let outcome = try SharedBrowser.render(origin.url("/")) {
            $0.acting = .all
            change(&$0)
        }
        let paths = outcome.requests.filter { $0.url.hasPrefix(origin.base + "/") }
            .map { String($0.url.dropFirst(origin.base.count + 1)) }
        return Set(paths).subtracting(["", "favicon.ico"])
    }

    @Test func `all values of a list of places become links after the first one was chosen`() throws {
        let origin = try TestOrigin()
        let options = (1...16).map { "<option value=\($0)>Place \($0)" }.joined()
        origin.on(
            "/",
            .page(
                "<!DOCTYPE html><title>Site</title><select onchange=\"location = '/place/' + value + '.html'\"><option value=''>Choose\(options)</select>"
            ))
        let outcome = try SharedBrowser.render(origin.url("/")) { $0.acting = .all }
        let expected = (1...16).map { origin.url("/place/\($0).html") }
        #expect(Set(outcome.links).isSuperset(of: expected))
        #expect(outcome.address == origin.url("/"))
    }

    @Test(
        arguments: [
            (
                "<select onchange=\"load(value)\"><option>a<option>b<option disabled>c<option>d</select>",
                ["b", "d", "a"]
            ),
            (
                "<label><input type=radio name=n value=map checked>Map</label><label><input type=radio name=n value=photo>Photo</label><script>for (const e of document.querySelectorAll('input')) e.onchange = () => load(e.value)</script>",
                ["photo", "map"]
            ),
            (
                "<label><input type=checkbox onchange=\"load(checked)\">Show comments</label>",
                ["true", "false"]
            ),
            (
                "<input type=range min=2 max=10 step=2 value=4 aria-label=Hour oninput=\"load(value)\">",
                ["2", "4", "6", "8", "10"]
            ),
            (
                "<input type=date value=2026-11-20 max=2026-11-21 aria-label=Day onchange=\"load(value)\">",
                ["2026-11-21", "2026-11-19", "2026-11-18", "2026-11-20"]
            ),
            (
                "<span style=\"cursor: pointer\" onclick=\"load('chart')\">Show chart</span>",
                ["chart"]
            ),
            (
                "<img src=small alt=Picture style=\"cursor: zoom-in\" onclick=\"load('large')\">",
                ["small", "large"]
            ),
            (
                "<label><input type=checkbox value=red>Red</label><label><input type=checkbox value=blue>Blue</label><script>const all = (s) => [...document.querySelectorAll(s)]; for (const e of all('input')) e.onchange = () => load('of-' + all(':checked').map((e) => e.value))</script>",
                ["of-red", "of-red,blue", "of-blue", "of-"]
            ),
            (
                "<ul role=tree><li role=treeitem aria-expanded=false><span onclick=\"load('node')\">Root</span><ul><li>Leaf</ul></ul>",
                ["node"]
            ),
            (
                "Press <kbd>/</kbd><input id=field hidden placeholder=Search oninput=\"load(value)\"><script>addEventListener('keydown', (e) => { if (e.key === '/') { load('index'); field.hidden = false } })</script>",
                ["index", "Site"]
            ),
            (
                "<img id=slide src=1><button onclick=\"slide.src = ++n\">Next</button><script>let n = 1</script>",
                (1...11).map(String.init)
            ),
            ("<input placeholder=City onfocus=\"load('cities')\">", ["cities"]),
            (
                "<iframe srcdoc=\"<button onclick=fetch('answer')>Show answer</button><select onchange=fetch(value)><option>x<option>y</select><button onclick=location='/away'>Go</button>\"></iframe>",
                ["answer", "y", "x"]
            ),
            (
                "<nav><ul><li onmouseenter=\"load('menu')\">Products<ul hidden></ul></li></ul></nav>",
                ["menu"]
            ),
            (
                "<a href=/page data-preview=7 onmouseover=\"timer = setTimeout(load, 200, 'preview/7')\" onmouseout=\"clearTimeout(timer)\">Term</a>",
                ["preview/7"]
            ),
            (
                "<button onclick=\"this.insertAdjacentHTML('afterend', '<select onchange=load(value)><option>x<option>y</select>')\">Filters</button>",
                ["y", "x"]
            ),
        ] as [(String, [String])])
    func `values of controls are chosen, and then the first one again`(html: String, expected: [String])
        throws
    {
        #expect(try requests(of: html) == Set(expected))
    }

    @Test func `boxes with other labels are other controls`() throws {
        let origin = try TestOrigin()
        for path in ["a", "b"] {
            let box = "<label><input type=checkbox onchange=\"fetch('/\(path).json')\">Show \(path)</label>"
            origin.on("/\(path)", .page("<!DOCTYPE html><title>Site</title>" + box))
        }
        let used = UsedControls()
        for path in ["a", "b"] {
            let outcome = try SharedBrowser.render(origin.url("/\(path)")) {
                ($0.acting, $0.usedControls, $0.controlGroup) = (.all, used, "pages")
            }
            #expect(outcome.requests.contains { $0.url == origin.url("/\(path).json") })
        }
    }

    @Test func `a control whose first values request nothing gets no more, and gets its first value again`()
        throws
    {
        let html = """
            <select onchange="if (selectedIndex > 2) load(value); seen = (window.seen ?? '') + value; if (!selectedIndex) load(seen)">
            <option>a<option>b<option>c<option>d<option>e</select>
            """
        #expect(try requests(of: html) == ["bca"])
    }

    @Test(arguments: [
        "<form method=post><select onchange=\"load(value)\"><option>a<option>b</select></form>",
        "<label><input type=checkbox onchange=\"load(checked)\">Subscribe to the newsletter</label>",
        "<select name=delete onchange=\"load(value)\"><option>a<option>b</select>",
        "<span style=\"cursor: pointer\" onclick=\"load('gone')\">Delete</span>",
        "<a href=/logout onmouseover=\"load('logout')\">Log out</a>",
    ])
    func `controls that may change something are left alone`(html: String) throws {
        #expect(try requests(of: html) == [])
    }

    @Test func `a page that loads its scripts at the first move of the mouse gets one`() throws {
        let html =
            "<script>addEventListener('mousemove', () => load('delayed'), { once: true })</script>"
        #expect(try requests(of: html) { ($0.acting, $0.scroll) = (.never, 1) } == ["delayed"])
    }
}
