/// The icon: a jar with a lid.
enum PortalIcon {
    /// The path of the icon. Raise the number when the image changes: browsers cache it for ever.
    static let path = "/-/jar-1.svg"

    static let text = """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">\
        <rect x="8" y="3" width="16" height="5" rx="1.5" fill="#c2672f"/>\
        <path d="M9 10h14c3 2 4 4 4 7v8a4 4 0 0 1-4 4H9a4 4 0 0 1-4-4v-8c0-3 1-5 4-7z" fill="#2f7d5b"/>\
        <rect x="9" y="16" width="14" height="8" rx="1.5" fill="#fbf6ea"/>\
        <path d="M12 19h8M12 21.5h5" stroke="#2f7d5b" stroke-width="1.4" stroke-linecap="round"/></svg>
        """

    /// The icon as PNG images, for the home screens of phones, which show no SVG. The jar is smaller and has a background,
    /// so that a round mask cuts nothing off.
    enum PNG: Int, CaseIterable {
        case small = 192
        case large = 512

        /// The path of the image. Raise the number when the image changes.
        var path: String { "/-/jar-1-\(rawValue).png" }

        /// The image with this path; nil if there is none.
        init?(path: String) {
            guard let icon = Self.allCases.first(where: { $0.path == path }) else { return nil }
            self = icon
        }

        var bytes: [UInt8] { Self.decode(base64) }

        /// Decodes base64 (RFC 4648, section 4) without line breaks.
        private static func decode(_ text: String) -> [UInt8] {
            let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
            var bytes: [UInt8] = []
            var (bits, count) = (0 as UInt32, 0)
            for byte in text.utf8 {
                guard let value = alphabet.firstIndex(of: byte) else { break }
                bits = bits << 6 | UInt32(value)
                count += 6
                guard count >= 8 else { continue }
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
            }
            return bytes
        }

        private var base64: String {
            switch self {
            case .small:
                """
                iVBORw0KGgoAAAANSUhEUgAAAMAAAADABAMAAACg8nE0AAAAJFBMVEX79ur79un++/D69uqXazmjv6j79uswfVwufVsv\
                fVsvfVz89up/jHqFAAAC70lEQVR4Ae3ZwWrbMBjAcXWCnpOy9dxIpLsKicSFnAbtAyxZSHZbW9gDLATJ7FiKlAcYns67\
                7DjIYYe+3DbY5oBnyfangQPf7zQY9M/nz3YSm6ASQgghhBBCCKFhEAEbsiBw4YQNg9iAwMjn10GvRsABxtcRc9gIZ29i\
                gRvYCLfXUeegIzSKB84G8BXAl4ABDGAAAz242QE/D0Din2gE5OQuMsLN5YCADEcvlgGvz4YE6JwF3RKok2HQgKDjp2L/\
                DUTZ6fuAd0wQEConOmjBYQU1Ni7IzhVogMu11UHmEXSQZGZzH1SYDQcMwE3uIworBWQAHwUYgY7LAUIjzLuOIN9a34D5\
                xJNsIP0WprENlFu4J13Ide4bKR55txVb35CZC8g5CjhToUeoPEajLueQ9Y0ZKaArSL8Eme18Y183PP0KoCfq3rQJ2Fn7\
                He98G1LAdxzecu8C5Hu7wEfIjaLQNXLAzUJe+T+0cTWs9r/lD7zzZVA4q2sYl8cvhGjAbBeqxmRl4YHCSvZUg3GTgwNm\
                w1UtmVl4IHSG0zE8YGUowA00ELmN7U0ODnASME0WUBXkF5kqoFiFShmgTFUwkTAgM12x4QkDe+Mq7CxdgI6trjBzcUSB\
                +38eIpFwyRNdseDHdJoS9VShSMoA/d+3ihkrlc8OEu6AL0sLnj4gV65U/vBOeR3oUvmrNeWVXP0xkDTArT7wwNPvYO0O\
                pN8BmU50aTtNHyB3FwcPGm9J0sCe/KQE+evw37MEgVnoi9fe5L3/6mg+UFJLvIQHikemarF1Dg54s2C1JtbDA4XdLmus\
                TJ4g4I2rZX2KQKFr5fBAHAaON5AVvoX8S9vAaWZ9C2bzrXdPvHi7gBS9e6wpr3wLD7x/j5bpvWn+9N1ORQ/fH1ButG9E\
                d3xLJDPXqKBdYIAQylZO68giCq3dlgnSieAr53Y+6LNzW0lJR5IvtfZBWi8lB7wPZyqK7QXpjKpnLOJCCQJBVVj55xFC\
                CCGEEEIIoR+T8+zg2RN2AQAAAABJRU5ErkJggg==
                """
            case .large:
                """
                iVBORw0KGgoAAAANSUhEUgAAAgAAAAIABAMAAAAGVsnJAAAAJFBMVEX79urr6Nm7zrvQi17LfUzCZy/Fbzqau6QvfVtp\
                mnxUk3V0pIjzIIOXAAAFLUlEQVR4AezbN1LEUAyAYZFqMjW5JVMTa6K2Jt7/CnsJa2Y17/tu4N/Z1gtGAwAAAAAAAAAA\
                AAAAAAAAAAAAAAAAAAAAAACwdTWpg+hl6Tgn9rDRavtvc3K/nQrsZYHvRgfAfxaYbUQXJ1nifewDoNEhsJNF7qOHmyzy\
                ES0sZZmN6GAly5xHB2tZ5jU62M0yb12ugWNfBZ+zzGd08J9lZoPfBTOHD7AhgAACCCCAAAIIIIAAAggggAACCCCAAAII\
                IIAAAgiwSLKQn6MN+D1+kmXeR58QeTUkZUzOoOTIo7LfhqWNy1swMfBV4D4aOc3J/UQr0y+bi8Vk4SQAAAAAADBn7+y1\
                kzeCMDxLQ2yadZoQ0mxnTnJzOm6snDSBRi9Sg6vgVJBK6Uiaj8v77gCOEZp9tTPPHfg5u/NnNFvjwTQyKX7Gw/mQCTHD\
                CCSZDOGAEdhFmQq/YhT+kYkwx0hUMg0uGIlOJsEKo3EykAGuk6ZWAhksh37BqPwn5IQeo9JGAxHwKifDEXAKcXCN0dka\
                PwBAsn0AqI/AHCpUxDWQCo3xAwBUzBHAcBSYQY1k+wCQHoEARaLw8QxFjpQ5UJHGdAjkDINLqLIRNnqo0vJVgcpUdosA\
                ylIgQJ1o+wYAleUcwHcHeqjTGr8BQLLaBzD2AzVgOwj0yEBrPAQAyXYIYAoCa8B2EOiRhZ3RWQhfO7BAJs7CwQ/IxJ+2\
                YyBPFDwApqNgQDYiVx1odSjyhGzsrU6DuNLAGrCdBi7IRme5E6AZCQTAdh6cISPJdhkAVLbLAGDP0QvaLgSWyMiGow6y\
                XQnVyEgj+blYF3AAbNfCPWC7FkZWjLcCQHQB1L1Q+/YiA3l57XGFRC2gifIAQk0tYD787x9ioGIWkBROGbOAkzyMFbGA\
                hcaH7mGKAjYqLeeZV0BSyDXMAnYKLRe1gK3C2IVawFHnl3hn2qFwpZNt97QCokLPxSygVZi7UAvoFEaP1AIaheEzswAX\
                sJUHs3YBLsAFuAAX4AJcgAuYqIDw+v4l3mJZAkI/ZHtqAQJqfJmmJAEz3EEqSMASd7ApSECNO2gKEnDBHXQFCcA9tOUI\
                CLiLaPwEQMoR0OMOdnaDYAFZwOsArwS9F/Bu0OcBPhFyAS7ABbgAF+ACXIALcAEuwAX8+MfnNb6lwgXMBnwGbmQgcipa\
                wGzAbkAzQ9GqZAE1bnMsWcABt9mULGDAQhg7/xxt/AR4DChXwNp6FnjCbWLJAsKgGFiAAFnhFlXRAm7Xgh/FD0R+er9G\
                8omQC3ABxQjwT2ddgH8+7wsUfIUGkvUlKmd5KAt+AXqLlPgFKKzS4heASiEEUAvYKtwAagFQWKhIKkBhpSa/AIWlqvwC\
                uigPIVyoBeRbrMwvAO3bYAXhtQe5gOv8+zmIvwGwC8iKC3ABuXABLsAFuAAX4AJcgAtYICtnF5AZFzBHVioXkJsZspL8\
                uT3jAkT8zVHTz+52/vCyvz1u+/X5o4jtWrgSsV0JJbGdB1sR22mgEQaWBEnAahQ8CwOBoBUyWgx3wsGSIATYHApVwkEg\
                CAEmK4GtsPCELOyFhdDbvgEia9s3QGROkAPM1UKdMPFMMAwyFgbbKFSsoMxJuAg9wQGwNBXYCx01wSzMznQ4CSErIxGQ\
                4BI0wkm4QIUuimkDXRSxbKCLIpYNdFG4+a3HiLT/Cz3hd4zGX1GmQPgupfLdO2dSGczeXa40NLwPaA+OBQAAAAAG+VtP\
                YmcFAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAMAjH0ZJFFYQdAYAAAAASUVORK5CYII=
                """
            }
        }
    }
}

/// The web app manifest, with which a browser installs the portal as an app.
enum PortalManifest {
    static let path = PortalStyle.path(of: text, "larder", "webmanifest")

    static let text = """
        {"id": "/", "name": "Larder", "short_name": "Larder", "start_url": "/", "scope": "/", "display": "standalone",
          "background_color": "#faf7f1", "theme_color": "#2f7d5b",
          "icons": [{"src": "\(PortalIcon.path)", "sizes": "any", "type": "image/svg+xml"},
            {"src": "\(PortalIcon.PNG.small.path)", "sizes": "192x192", "type": "image/png", "purpose": "any maskable"},
            {"src": "\(PortalIcon.PNG.large.path)", "sizes": "512x512", "type": "image/png", "purpose": "any maskable"}],
          "shortcuts": [{"name": "Search", "url": "/-/search"}, {"name": "Activity", "url": "/-/jobs"}]}

        """
}
