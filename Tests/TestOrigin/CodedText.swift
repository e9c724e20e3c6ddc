internal import Web

/// A text in each content coding that servers send, encoded by the reference tools.
package enum CodedText: String, CaseIterable, Sendable {
    case gzip, zlib, deflate, br, zstd

    /// The name in `Content-Encoding`, where `deflate` means two formats.
    package var coding: String { self == .zlib ? "deflate" : rawValue }

    /// The length of the decoded text in bytes.
    package static let byteCount = 1110
    package static let beginning = "line 0 of the page, cfcd20\nline 1 of the page, c4ca42\n"

    package var bytes: [UInt8] { Base64.decode(base64) ?? [] }

    private var base64: String {
        switch self {
        case .gzip:
            """
            H4sIAAAAAAACA13TQU4GIQyG4f1/ijmAC0pLC8dhoKjJH3Xh/aNmisl86zfMlAd4vn/4kY7PdXy/+fHVX/3lGGvMnB7Pv0SQ\
            ZHTJV8qQKrlF4nvyMc5RryT31KutpVcqsEpm5/NKek+k1lK7kt1TXSQuV6owYVtpxRjtnqQMqSO2DByTZ5P4IoGHFsrnjIYg\
            OfW514HIKDT2lIQk/eTM0cCknYtpzwkow2Q2iwYqlnzNFQ1YdEnLcXAELrSSc+wvg0v7peb4XwYXHqXNmDODy6nTdK8DFzZt\
            vNcJzrJoejRwqZ6b9mjgIm6c9zfBJWU3CZcMLsxuZTdwUe+tx91kcGEh23tgfD+kvcTZMrgoq8zdwIVqPj2eJIOLs7ZaooEL\
            Da7/s+AjaqNT3EEGl17ONeKBccVmRnvv4DLVZu2PH6MNSa1WBAAA
            """
        case .zlib:
            """
            eNpd00FOBiEMhuH9f4o5gAtKSwvHYaCoyR914f2jZorJfOs3zJQHeL5/+JGOz3V8v/nx1V/95RhrzJwez79EkGR0yVfKkCq5\
            ReJ78jHOUa8k99SrraVXKrBKZufzSnpPpNZSu5LdU10kLleqMGFbacUY7Z6kDKkjtgwck2eT+CKBhxbK54yGIDn1udeByCg0\
            9pSEJP3kzNHApJ2Lac8JKMNkNosGKpZ8zRUNWHRJy3FwBC60knPsL4NL+6Xm+F8GFx6lzZgzg8up03SvAxc2bbzXCc6yaHo0\
            cKmem/Zo4CJunPc3wSVlNwmXDC7MbmU3cFHvrcfdZHBhIdt7YHw/pL3E2TK4KKvM3cCFaj49niSDi7O2WqKBCw2u/7PgI2qj\
            U9xBBpdezjXigXHFZkZ77+Ay1Wbtjx/HtUjk
            """
        case .deflate:
            """
            XdNBTgYhDIbh/X+KOYALSksLx2GgqMkfdeH9o2aKyXzrN8yUB3i+f/iRjs91fL/58dVf/eUYa8ycHs+/RJBkdMlXypAquUXi\
            e/IxzlGvJPfUq62lVyqwSmbn80p6T6TWUruS3VNdJC5XqjBhW2nFGO2epAypI7YMHJNnk/gigYcWyueMhiA59bnXgcgoNPaU\
            hCT95MzRwKSdi2nPCSjDZDaLBiqWfM0VDVh0SctxcAQutJJz7C+DS/ul5vhfBhcepc2YM4PLqdN0rwMXNm281wnOsmh6NHCp\
            npv2aOAibpz3N8ElZTcJlwwuzG5lN3BR763H3WRwYSHbe2B8P6S9xNkyuCirzN3AhWo+PZ4kg4uztlqigQsNrv+z4CNqo1Pc\
            QQaXXs414oFxxWZGe+/gMtVm7Y8f
            """
        case .br:
            """
            G1UEoIyU7hLTbLnS16gbXxFYwuMk4Yk3+gdOZrRRjf4TORxihmEaWFgXNKSXl3h/59tXyO//V1vN52dED6kUFh9OY8BM1SuH\
            TLrtKu6MdOJBh9TiBGx8SUbgU7FnHTFyS7z+0CGNDhFQ9BK/Bqf4ZItwXqqBJPOBgZt4CypoyqTDYLEz2wuPrgQzYmjPoG/4\
            JHwJBgrqRhc4T9vUgMA0UJDQLvXgxodDExoZAxcsh8dk4RcwdhGjk5HvBicQMhQoRZoX4Euh0kDI+c2BZKDhFzdUcJT0GZUk\
            sOR9W0E/zOj9ilQ+1NrzBw==
            """
        case .zstd:
            """
            KLUv/WRWA+UHANYSMBaAKXlgRB7+CZsEBuYnJNIY2RNEVKKfLQApACcAaWzUiToUj868HGNy3ZjFcs0uH5lyq6ysLQFGne0t\
            AiwoiIIHiaIPxSjYQCgEpdaXfZoHIuox3Ft6GyWvm1LMeIns7ZRRW8cUkSMzPT8FbdoS0+zRugGFT5sg/9mGXAO3jmxXTouT\
            8KFusr0e/nh4ztQeJXvCU6eOOufRpBWAkgfvqCHE1G1DChqVVbp9fomQ1DvbYFNJ/7H71Uk5Wtoj2cdN0U6oEeCNgBDefgfw\
            pTkQEoXF+hiBWWkiayK14C+YDswOTHE+FQsJR4EfyyJxBeULM6hZAF7sYAeyCuesBJc=
            """
        }
    }
}
