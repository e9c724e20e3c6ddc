import Store
import TestOrigin
import Testing

@Suite struct PressureFileTests {
    @Test(arguments: [
        ("some avg10=0.00 avg60=0.00 avg300=0.00 total=1446408\nfull avg10=0.00", 0),
        ("some avg10=1.23 avg60=4.56 avg300=7.89 total=1\n", 123),
        ("some avg10=100.00 avg60=0.00", 10_000),
        ("some avg10=12.3", nil), ("some avg10=", nil), ("some avg10=.50", nil), ("some avg10=5,00", nil),
        ("some avg10=1.2.3", nil), ("some avg10=99999999999999999999.00", nil), ("full avg10=1.00", nil), ("", nil),
    ])
    func `the share of the last ten seconds is read in hundredths of a percent`(text: String, average: Int?) {
        let found = PressureFile.average(in: text.utf8.span)
        #expect(found == average)
    }

    @Test(arguments: [
        ("0::/user.slice/app.scope\n", "/user.slice/app.scope"), ("0::/\n", ""), ("0::/", ""),
        ("4:memory:/a\n1:cpu:/b\n0::/c\n", "/c"), ("4:memory:/a\n", nil), ("10::/a\n", nil), ("0::\n", nil), ("", nil),
    ])
    func `our control group is that of version 2`(text: String, path: String?) {
        #expect(PressureFile.controlGroup(in: Array(text.utf8)) == path)
    }

    @Test func `where there is no file there is nothing to watch`() throws {
        let scratch = try TemporaryFolder()
        #expect(PressureFile.open(scratch.file("pressure")) == nil)
        let watcher = try MemoryPressure([], held: { 1 }, shrink: { _ in })
        #expect(watcher == nil)
    }
}
