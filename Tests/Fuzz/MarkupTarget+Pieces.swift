extension MarkupTarget {
    static let htmlPieces = [
        "<", ">", "'", "\"", "=", "/", "&", ";", "&amp;", "&quot;", "&lt;", "&#x", "&#39;", "&notit;", "<!--",
        "-->", "--!>", "<!", "<?", "</", "<![CDATA[", "]]>", "<!--[if IE]>", "<![endif]-->", "<svg>",
        "</svg>",
        "<math>", "<style>", "</style>", "<script>", "</script>", "<title>", "</title>", "<textarea>",
        "<template>", "<noscript>", "<plaintext>", "<base href=", "<meta charset=shift_jis>",
        "<meta charset=utf-8>", "<meta http-equiv=refresh content='0;url=", "<iframe srcdoc='", " srcdoc=\"",
        " style=", " href=", " src=", " srcset='", " xlink:href=", " ping=", " data-src=",
        "<object codebase=",
        " archive=", "url(", "\\", "\\26 ", "@import ", "image-set(", "\r\n", "\t", " ", ",", " 2x",
        "javascript:", "http://", "//", "#", " crossorigin ", "<video crossorigin>", "<source src=",
        "<track src=",
    ]

    static let cssPieces = [
        "url(", "URL(", "src(", ")", "(", "{", "}", "[", "]", "'", "\"", "\\", "\\\n", "\\26 ", "\\000041",
        "/*", "*/", "@import ", "@import url(", "@charset \"", "@namespace ", "@font-face{", "@layer",
        "supports(", "image-set(", "-webkit-image-set(", "cross-fade(", "--x:", ";", ":", ",", "<!--", "-->",
        "\n", "\r\n", "\u{C}", "#", "http://", "//", "data:", "u\\72l(", "é", "format('woff2')",
        "mask:", "-webkit-mask-image:", "clip-path:", "filter:",
    ]

    static let scriptPieces = [
        "require([", "require.config({", "requirejs({", "var require={", "define([", "define(\"a/b\",[",
        "define(function(require){",
        "baseUrl:", "paths:{", "packages:[", "map:{\"*\":{", "text!", "addAll(U)", "U=[", "base_url+",
        "fetch(`${",
        "!0",
        "__VP_HASH_MAP__=JSON.parse(\"{", "{type:\"data\"", "buildId:\"", "_app/immutable/", "ngsw-worker.js",
        "import ", "import(", "from ", "export * from ", "'./a.js'", "\"./b.js\"", "`./c.js`", "`${", "}`",
        "`", "'", "\"", "/", "//", "/*", "*/", "/[/]/g", "\\", "\\u{41}", "\\x41", "\\\n", "(", ")", "{", "}",
        "[", "]", ",", ";", "=", "=>", "+", ".", "...", "?", ":", "new URL(", ", import.meta.url)",
        "new Worker(", "importScripts(", "fetch(", "__webpack_require__", "__webpack_require__.u=",
        "__webpack_require__.p=", "r.u=e=>", "r.p=\"", "webpackChunk", "__vite__mapDeps",
        "//# sourceMappingURL=", "precacheAndRoute([", "{url:", "revision:", "Promise.all", "return ", "<!--",
        "-->", "</script>", "\u{2028}", "\n",
    ]

    static let xmlPieces = [
        "<", ">", "/>", "</", "<?", "?>", "<!--", "-->", "<![CDATA[", "]]>", "<!DOCTYPE a SYSTEM \"",
        "<!ENTITY ", "[",
        "]",
        "'", "\"", "=", "&", "&amp;", "&#x26;", "&lt;", " xlink:href=\"", " href='", " xml:base=\"",
        " xmlns:a=\"",
        "<?xml-stylesheet href='", "<?xml version='1.0' encoding='utf-16'?>", "<svg>", "<style>", "<image",
        "<loc>",
        "</loc>",
        "<item>", "<link>", "</link>", "<enclosure url=", "<content type='html'>", "<description>",
        "<BaseURL>",
        "<SegmentTemplate media='$Number$.m4s'", "<Representation id='", "<Period>", "\n", " ", "http://",
        "//", "#",
    ]

    static let manifestPieces = [
        "{", "}", "[", "]", "\"", ":", ",", "\\", "\\u0026", "\\/", "\"icons\":[{\"src\":\"",
        "\"start_url\":\"",
        "\"scope\":\"", "\"imports\":{", "\"scopes\":{", "\"integrity\":{", "\"prefetch\":[{\"urls\":[\"",
        "\"prerender\":[", "\"@id\":\"", "\"url\":\"", "\"image\":[\"", "\"$schema\":\"", "./", "https://",
        "null", "1",
    ]

    static let playlistPieces = [
        "#EXTM3U\n", "#EXT-X-KEY:METHOD=AES-128,URI=\"", "#EXT-X-MAP:URI=\"",
        "#EXT-X-MEDIA:TYPE=AUDIO,URI=\"",
        "#EXT-X-STREAM-INF:BANDWIDTH=1\n", "#EXTINF:1,\n", "#EXT-X-DEFINE:NAME=\"", "{$", "}", "\"", "=", ",",
        ":",
        "\n", "\r",
        "\r\n", " ", "a.ts", "b.m3u8", "WEBVTT\n", "STYLE\n", "NOTE\n", "url(", ")", "::cue{", "-->",
        "http://", "//",
        "#",
    ]
}
