import def, { a as b } from "./a.js"; import * as ns from '../b.js'; import "./c.js" with { type: "json" };
export * from "./d.js"; export { e } from './e.js'; const f = await import(`./f.js`), g = await import("./g/" + h + ".js");
const u = new URL("./asset.png", import.meta.url); new Worker(new URL('./worker.js', import.meta.url), { type: "module" });
importScripts("i.js", 'j.js'); fetch("/api/data.json").then(r => r.json()); navigator.serviceWorker.register("/sw.js");
var r = /[/"']\/\//g.test(s) ? a / b / c : `x${ `y${ "}" }` }z`; // "no.js"
/* import "no.js" */ const t = "str\x41\u{42}\
ing"; x = y++ / 2; if (z) /re/.exec(w); const __vite__mapDeps=(i,m=__vite__mapDeps,d=(m.f||(m.f=["assets/a.js","assets/a.css"])))=>i.map(i=>d[i]);
precacheAndRoute([{url:"index.html",revision:"0123456789abcdef"},{"revision":null,"url":"assets/x.js"}]);
//# sourceMappingURL=bundle.js.map
