/// A jar with a lid.
enum PortalIcon {
    static let path = "/-/jar-1.svg"

    static let text = """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">\
        <rect x="8" y="3" width="16" height="5" rx="1.5" fill="#c2672f"/>\
        <path d="M9 10h14c3 2 4 4 4 7v8a4 4 0 0 1-4 4H9a4 4 0 0 1-4-4v-8c0-3 1-5 4-7z" fill="#2f7d5b"/>\
        <rect x="9" y="16" width="14" height="8" rx="1.5" fill="#fbf6ea"/>\
        <path d="M12 19h8M12 21.5h5" stroke="#2f7d5b" stroke-width="1.4" stroke-linecap="round"/></svg>
        """
}
