import Bundles
import Digest
import Testing

/// A manifest as its tool writes it, with one bundle whose body is `Sample.body`.
struct FormatSample: Sendable, CustomTestStringConvertible {
    let name: String
    let format: ManifestFormat
    let text: String
    /// The bundle that is compared with bodies.
    let reference: String
    /// The number of bundles in the manifest.
    let count: Int
    /// The verdict on the correct body: a format without digests cannot verify it.
    var good = "verified"
    var altered = "mismatch"

    var testDescription: String { name }

    static let all: [FormatSample] = ours + apps + workers + bundlers + lists + frameworks

    private static let ours = [
        FormatSample(
            name: "larder", format: .larder,
            text: """
                {"site": "demo", "start": ["/"], "bundles": [
                  {"url": "/app.js", "md5": "\(Sample.md5)", "sha256": "\(Sample.sha256)", "size": 23},
                  {"url": "/b.js", "integrity": "\(Sample.sri)", "required": false}]}
                """, reference: "/app.js", count: 2),
        FormatSample(
            name: "larder, integrity", format: .larder,
            text: "{\"bundles\": [{\"url\": \"/app.js\", \"integrity\": \"\(Sample.sri)\"}]}",
            reference: "/app.js",
            count: 1),
    ]

    private static let apps = [
        FormatSample(
            name: "Weex configuration", format: .weex,
            text: """
                {"md5": "abd6d8", "version": "5.0.0", "pages": [
                  {"page": "activity", "h5": "https://m.example.com/weex/index?page=activity",
                   "js": "https://m.example.com/weex/dist/activity.weex.js", "md5": "\(Sample.md5)"},
                  {"page": "built in", "h5": "", "js": "", "md5": ""}]}
                """, reference: "https://m.example.com/weex/dist/activity.weex.js", count: 1),
        FormatSample(
            name: "Weex answer", format: .weexBundle,
            text:
                "{\"url\": \"https://m.example.com/a.weex.js\", \"md5\": \"\(Sample.md5)\", \"version\": 12}",
            reference: "https://m.example.com/a.weex.js", count: 1),
        FormatSample(
            name: "Weex answer in an envelope", format: .weexBundle,
            text:
                "{\"code\": 0, \"data\": {\"js\": \"/a.weex.js\", \"md5\": \"\(Sample.md5.uppercased())\"}}",
            reference: "/a.weex.js", count: 1),
        FormatSample(
            name: "chcp.manifest", format: .cordova,
            text: """
                [
                  {"file": "index.html", "hash": "5540bd44cbcb967efef932bc8381f886"},
                  {"file": "js/my app#1.js", "hash": "\(Sample.md5)"}
                ]
                """, reference: "js/my%20app%231.js", count: 2),
        FormatSample(
            name: "project.manifest", format: .cocos,
            text: """
                {"packageUrl": "https://game.example.com/remote", "version": "1.0.3",
                 "remoteManifestUrl": "https://game.example.com/remote/project.manifest",
                 "remoteVersionUrl": "https://game.example.com/remote/version.manifest",
                 "assets": {
                   "src/main.js": {"size": 23, "md5": "\(Sample.md5)"},
                   "res/pack.zip": {"size": 9, "md5": "5540bd44cbcb967efef932bc8381f886", "compressed": true}},
                 "searchPaths": []}
                """, reference: "src/main.js", count: 2),
    ]

    private static let workers = [
        FormatSample(
            name: "Workbox, JSON", format: .workbox,
            text: """
                [{"revision": "\(Sample.md5)", "url": "./index.html"},
                 {"revision": null, "url": "assets/app.4f2a9c1b.js"}, "/static/vendor.0f0f0f0f.js",
                 {"revision": "ab12", "url": "x.css", "integrity": "\(Sample.sri)"}]
                """, reference: "./index.html", count: 4),
        FormatSample(
            name: "Workbox, minified worker", format: .workbox,
            text: """
                if(!self.define){let e,s={};}define(["./workbox-1d305bb8"],(function(e){"use strict";\
                self.skipWaiting(),\
                e.clientsClaim(),e.precacheAndRoute([{url:"index.html",revision:"\(Sample.md5)"},\
                {url:"a.js",revision:null},\
                ],{}),e.cleanupOutdatedCaches()}));
                """, reference: "index.html", count: 2),
        FormatSample(
            name: "Workbox, injected", format: .workbox,
            text: """
                // importScripts("x");
                precacheAndRoute([{'revision':'\(Sample.md5)','url':'/index.html'} /* the page */]);
                """, reference: "/index.html", count: 1),
        FormatSample(
            name: "Workbox 4", format: .workbox,
            text: """
                self.__precacheManifest = (self.__precacheManifest || []).concat([
                  {"revision": "\(Sample.md5)", "url": "./index.html"},
                  {"revision": "5a67f673dcdf30bf693d", "url": "./static/js/2.b1c975ff.chunk.js"}
                ]);
                """, reference: "./index.html", count: 2),
        FormatSample(
            name: "Workbox, page of a template", format: .workbox,
            text: "[{\"revision\": \"\(Sample.md5)\", \"url\": \"/shell\"}]", reference: "/shell", count: 1,
            good: "unverifiable", altered: "unverifiable"),
        FormatSample(
            name: "ngsw.json", format: .angular,
            text: """
                {"configVersion": 1, "timestamp": 1700000000000, "index": "/index.html",
                 "assetGroups": [{"name": "app", "installMode": "prefetch", "updateMode": "prefetch",
                   "cacheQueryOptions": {"ignoreVary": true},
                   "urls": ["/index.html", "/main.js", "https://fonts.example.com/a.woff2"],
                   "patterns": ["\\\\/fonts\\\\/.*"]}],
                 "dataGroups": [{"name": "api", "patterns": ["\\\\/api\\\\/.*"], "maxSize": 10}],
                 "hashTable": {"/index.html": "da39a3ee5e6b4b0d3255bfef95601890afd80709", "/main.js": "\(Sample.sha1)"},
                 "navigationUrls": [{"positive": true, "regex": "^\\\\/.*$"}]}
                """, reference: "/main.js", count: 3),
    ]

    private static let bundlers = [
        FormatSample(
            name: "webpack-assets-manifest", format: .webpackAssets,
            text: """
                {"entrypoints": {"main": {"assets": {"js": ["/js/main-1a2b3c4d.js"], "css": ["/css/main.css"]}}},
                 "main.js": {"src": "/js/main-1a2b3c4d.js", "integrity": "sha256-xx \(Sample.sri)"},
                 "main.js.map": "/js/main-1a2b3c4d.js.map"}
                """, reference: "/js/main-1a2b3c4d.js", count: 3),
        FormatSample(
            name: "create-react-app", format: .cra,
            text: """
                {"files": {"main.css": "/static/css/main.css", "main.js": "/static/js/main.3f2a9c81.js",
                  "main.js.map": "/static/js/main.3f2a9c81.js.map", "index.html": "/index.html"},
                 "entrypoints": ["static/css/main.css", "static/js/main.3f2a9c81.js"]}
                """, reference: "/static/js/main.3f2a9c81.js", count: 4, good: "unverifiable",
            altered: "unverifiable"),
        FormatSample(
            name: "Vite", format: .vite,
            text: """
                {"_shared-B7PI925R.js": {"file": "assets/shared-B7PI925R.js", "name": "shared",
                   "css": ["assets/shared-ChJ_j-JJ.css"]},
                 "views/foo.js": {"file": "assets/foo-BRBmoGS9.js", "src": "views/foo.js", "isEntry": true,
                   "imports": ["_shared-B7PI925R.js"], "dynamicImports": ["baz.js"], "integrity": "\(Sample.sri)"},
                 "baz.js": {"file": "assets/baz-B2H3sXNv.js", "src": "baz.js", "isDynamicEntry": true,
                   "assets": ["assets/logo-Dx1.svg"]},
                 "left.js": {"file": "assets/left-AbCdEf12.js", "src": "left.js"}}
                """, reference: "assets/foo-BRBmoGS9.js", count: 6),
        FormatSample(
            name: "webpack stats", format: .webpackStats,
            text: """
                {"version": "5.90.0", "hash": "2f1c", "publicPath": "/static/", "outputPath": "/srv/dist",
                 "assets": [{"type": "asset", "name": "app.3f2a.js", "size": 23, "chunks": [1],
                   "info": {"immutable": true, "contenthash": "3f2a"}, "integrity": "\(Sample.sri)"},
                   {"type": "asset", "name": "app.js.map?x", "size": 5}],
                 "children": [{"assets": [{"name": "worker.js", "size": 1}], "publicPath": "auto"}]}
                """, reference: "/static/app.3f2a.js", count: 3),
        FormatSample(
            name: "webpack stats without integrity", format: .webpackStats,
            text: "{\"assets\": [{\"name\": \"app.js\", \"size\": 23}], \"publicPath\": \"auto\"}",
            reference: "app.js",
            count: 1, good: "unverifiable", altered: "unverifiable"),
        FormatSample(
            name: "Sprockets, SHA-256", format: .sprockets,
            text: """
                {"files": {"application-\(Sample.sha256).js": {"logical_path": "application.js",
                   "mtime": "2024-01-02T03:04:05+00:00", "size": 23, "digest": "\(Sample.sha256)",
                   "integrity": "\(Sample.integrity(.sha256))"},
                  "old-1.js": {"logical_path": "application.js", "size": 1, "digest": "\(Sample.md5)"}},
                 "assets": {"application.js": "application-\(Sample.sha256).js"}}
                """, reference: "application-\(Sample.sha256).js", count: 2),
        FormatSample(
            name: "Sprockets, MD5", format: .sprockets,
            text: """
                {"files": {"a-\(Sample.md5).js": {"logical_path": "a.js", "size": 23, "digest": "\(Sample.md5)"}},
                 "assets": {"a.js": "a-\(Sample.md5).js"}}
                """, reference: "a-\(Sample.md5).js", count: 1),
        FormatSample(
            name: "import map", format: .importMap,
            text: """
                {"imports": {"square": "./module/square.js", "lib/": "/lib/", "bare": "other"},
                 "scopes": {"/a/": {"square": "https://cdn.example.com/s.js", "none": null}},
                 "integrity": {"./module/square.js": "\(Sample.sri)"}}
                """, reference: "./module/square.js", count: 2),
    ]

    private static let lists = [
        FormatSample(
            name: "page", format: .html,
            text: """
                <!doctype html><link rel=stylesheet href=/a.css integrity=\(Sample.integrity(.sha256))>
                <script src=/app.js integrity="\(Sample.sri)" crossorigin></script>
                """, reference: "/app.js", count: 2),
        FormatSample(
            name: "md5sum", format: .checksums,
            text: "\(Sample.md5)  js/app.js\n5540bd44cbcb967efef932bc8381f886 *img/logo 1.png\n",
            reference: "js/app.js",
            count: 2),
        FormatSample(
            name: "sha256sum with escapes and comments", format: .checksums,
            text: "# made today\r\n\r\n\\\(Sample.sha256)  a\\\\b\\nc.js\r\n", reference: "a%5Cb%0Ac.js",
            count: 1),
        FormatSample(
            name: "BSD", format: .checksums,
            text: """
                MD5 (a (1).js) = \(Sample.md5)
                SHA256 (a (1).js) = \(Sample.sha256)
                SIZE (a (1).js) = 23
                RMD160 (a (1).js) = 9c1185a5c5e9fc54612808977ee8f548b2258d31
                """, reference: "a%20(1).js", count: 1),
        FormatSample(
            name: "openssl dgst", format: .checksums, text: "SHA2-256(app.js)= \(Sample.sha256)\n",
            reference: "app.js",
            count: 1),
        FormatSample(
            name: "cksum, base64", format: .checksums, text: "SHA512 (app.js) = \(Sample.base64(.sha512))",
            reference: "app.js", count: 1),
        FormatSample(
            name: "sha1sum, one space", format: .checksums, text: "\(Sample.sha1) app.js",
            reference: "app.js", count: 1
        ),
    ]

    private static let frameworks = [
        FormatSample(
            name: "Flutter", format: .flutter,
            text: """
                'use strict';
                const CACHE_NAME = 'flutter-app-cache';
                const RESOURCES = {"index.html": "\(Sample.md5)",
                "/": "\(Sample.md5)",
                "assets/assets/ara%25C3%25B1a.png": "5540bd44cbcb967efef932bc8381f886",
                "main.dart.js": "\(Sample.md5)"};
                const CORE = ["main.dart.js", "index.html"];
                """, reference: "main.dart.js", count: 4),
        FormatSample(
            name: "Flutter, minified", format: .flutter,
            text:
                "'use strict';const T='t',RESOURCES={'a.js':'\(Sample.md5)'};self.addEventListener('fetch',e=>{});",
            reference: "a.js", count: 1),
        FormatSample(
            name: "Blazor, .NET 5", format: .blazor,
            text: """
                {"cacheBootResources": true, "config": ["appsettings.json"], "debugBuild": false,
                 "entryAssembly": "App", "icuDataMode": 0, "linkerEnabled": true,
                 "resources": {
                   "assembly": {"App.dll": "\(Sample.integrity(.sha256))"}, "extensions": null,
                   "lazyAssembly": {"Lazy.dll": "\(Sample.integrity(.sha256))"},
                   "libraryInitializers": {"_content/Lib/Lib.lib.module.js": "\(Sample.integrity(.sha256))"},
                   "pdb": {"App.pdb": "\(Sample.integrity(.sha256))"},
                   "runtime": {"dotnet.wasm": "\(Sample.integrity(.sha256))"},
                   "satelliteResources": {"de": {"de/App.resources.dll": "\(Sample.integrity(.sha256))"}}}}
                """, reference: "_framework/App.dll", count: 7),
        FormatSample(
            name: "Blazor, .NET 8", format: .blazor,
            text: """
                {"mainAssemblyName": "App", "resources": {
                   "hash": "sha256-91d0uDB+nq9/wuaze1QlRg9FIY/0WxDc6My4noWSEFI=",
                   "fingerprinting": {"App.eb9oqyqqgd.wasm": "App.wasm"},
                   "jsModuleNative": {"dotnet.native.1p93gcv9fh.js": "\(Sample.integrity(.sha256))"},
                   "icu": {}, "assembly": {"App.eb9oqyqqgd.wasm": "\(Sample.integrity(.sha256))"},
                   "satelliteResources": {"de": {"App.resources.wasm": "\(Sample.integrity(.sha256))"}},
                   "runtimeAssets": {"dotnet.wasm": {"behavior": "dotnetwasm", "hash": "\(Sample.integrity(.sha256))"}},
                   "vfs": {"data/a.bin": {"a.bin": "\(Sample.integrity(.sha256))"}},
                   "modulesAfterConfigLoaded": {"../_content/Lib/Lib.lib.module.js": "\(Sample.integrity(.sha256))"}},
                 "debugLevel": 0, "appsettings": ["../appsettings.json"], "extensions": {"blazor": {}}}
                """, reference: "_framework/App.eb9oqyqqgd.wasm", count: 7),
        FormatSample(
            name: "Blazor, .NET 10", format: .blazor,
            text: """
                //! Licensed to the .NET Foundation
                const a="é";ft.withConfig(/*json-start*/{
                  "mainAssemblyName": "App",
                  "resources": {
                    "jsModuleNative": [{"name": "dotnet.native.hwglpvp32y.js"}],
                    "wasmNative": [{"name": "dotnet.native.wasm", "hash": "\(Sample.integrity(.sha256))"}],
                    "assembly": [{"virtualPath": "App.wasm", "name": "App.fpnupp8qwh.wasm",
                      "integrity": "\(Sample.integrity(.sha256))", "cache": "force-cache"}],
                    "satelliteResources": {"zh-CN": [{"virtualPath": "App.resources.wasm",
                      "name": "App.resources.phux2hphq7.wasm", "integrity": "\(Sample.integrity(.sha256))"}]},
                    "libraryInitializers": [{"name": "_content/Lib/Lib.module.js"}],
                    "modulesAfterConfigLoaded": [{"name": "../_content/Lib/Lib.module.js"}]}
                }/*json-end*/);export{gt as default};
                """, reference: "_framework/App.fpnupp8qwh.wasm", count: 5),
        FormatSample(
            name: "Expo", format: .expo,
            text: """
                {"id": "b15ed6d8-f39b-04ad-a248-fa3b95fd7e0e", "createdAt": "2026-10-28T22:40:46.016Z",
                 "runtimeVersion": "1", "metadata": {}, "extra": {},
                 "assets": [{"hash": "\(Sample.base64URL(.sha256))", "key": "4f1cb2ca", "contentType": "image/png",
                   "fileExtension": ".png", "url": "https://cdn.example.com/4f1cb2ca"}],
                 "launchAsset": {"hash": "\(Sample.base64URL(.sha256))", "key": "0fc2", "fileExtension": ".bundle",
                   "contentType": "application/javascript", "url": "https://cdn.example.com/assets?asset=0fc2"}}
                """, reference: "https://cdn.example.com/assets?asset=0fc2", count: 2),
        FormatSample(
            name: "Expo, in parts", format: .expo,
            text: """
                \r
                --formdata-4711\r
                Content-Type: application/json\r
                content-disposition: inline; name="extensions"\r
                \r
                {"assetRequestHeaders": {}}\r
                --formdata-4711\r
                content-type: application/expo+json\r
                Content-Disposition: inline; name=manifest\r
                expo-signature: sig="x", keyid="main"\r
                \r
                {"launchAsset": {"url": "/a.hbc", "key": "k", "hash": "\(Sample.base64URL(.sha256))"}, "assets": []}\r
                --formdata-4711--\r

                """, reference: "/a.hbc", count: 1),
        FormatSample(
            name: "WAICT", format: .waict,
            text: """
                {"bt-server": "https://bt.example.com", "hashes": {"/app.js": "\(Sample.base64(.sha256))",
                  "https://cdn.example.com/b.js": "\(Sample.base64URL(.sha256))"},
                 "any_hashes": ["mVuswfW4XCBOWbx+QiKkPPQy+gTfr+i1sVADexgyN+8="]}
                """, reference: "/app.js", count: 2),
        FormatSample(
            name: "WAICT with a proof", format: .waict,
            text: "{\"hashes\": {\"/app.js\": \"\(Sample.base64URL(.sha256))\"}}\nTGJ6Zy9UMFZE\n",
            reference: "/app.js", count: 1),
        FormatSample(
            name: "Next.js", format: .next,
            text: """
                {"static/chunks/main-f3.js": "\(Sample.sri)",
                 "static/chunks/app/[id]/page-1.js": "\(Sample.integrity(.sha256))"}
                """, reference: "static/chunks/app/%5Bid%5D/page-1.js", count: 2),
        FormatSample(
            name: "Next.js, build manifest", format: .next,
            text: """
                {"polyfillFiles": ["static/chunks/polyfills-42.js"], "devFiles": [], "ampDevFiles": [],
                 "lowPriorityFiles": ["static/x/_buildManifest.js"], "rootMainFiles": ["static/chunks/main-f3.js"],
                 "pages": {"/": ["static/chunks/main-f3.js"], "/_app": ["static/css/a.css"]}, "ampFirstPages": []}
                """, reference: "static/chunks/main-f3.js", count: 4, good: "unverifiable",
            altered: "unverifiable"),
    ]
}
