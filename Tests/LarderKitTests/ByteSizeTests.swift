import Reports
import Testing

@testable import LarderKit

@Suite struct ByteSizeTests {
    @Test(arguments: [
        ("0", 0), ("1", 1), ("500M", 500_000_000), ("2G", 2_000_000_000), ("1.5GiB", 1_610_612_736),
        ("1k", 1000), ("1K", 1000), ("1KB", 1000), ("1kib", 1024), ("10b", 10), ("0.5T", 500_000_000_000),
        ("1.000001M", 1_000_001), ("1.9999999999k", 1999), ("2Ti", 2_199_023_255_552), ("007", 7),
        ("1,5G", 1_500_000_000), ("1 M", 1_000_000), ("5 ", 5),
        ("29.8 MB", 29_800_000), ("1,5 GB", 1_500_000_000), ("1.5 GiB", 1_610_612_736), ("12 B", 12),
        (" 1\u{A0}MB ", 1_000_000), ("1\u{202F}kB", 1000), ("8388607T", 8_388_607_000_000_000_000),
        ("9223372036854775807", Int64.max),
    ])
    func `a size is parsed`(text: String, byteCount: Int64) {
        #expect(ByteSize(text)?.byteCount == byteCount)
    }

    @Test(arguments: [0, 999, 1000, 1_000_000, 29_800_000, 18_700_000_000, 1_500_000_000_000])
    func `a size that Larder prints is parsed`(byteCount: Int64) {
        #expect(ByteSize(Wording.bytes(byteCount))?.byteCount == byteCount)
    }

    @Test(arguments: [
        "", "M", ".5M", "1.", "1.M", "-1", "+1", "1 500 M", "1 . 5M", "1MM", "1iB", "1x", "1e9", "1,500M",
        "1,G", "1.5,5G",
        "1..5G", " ",
        "0x10",
        "9223372036854775808", "9223373T", "99999999999999999999", "9223372036854775807.5k", "१", "1\u{0}",
    ])
    func `a text that is not a size, or a size over Int64, is rejected`(text: String) {
        #expect(ByteSize(text) == nil)
    }
}
