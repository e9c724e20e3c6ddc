(()=>{var n={},t={};function r(e){var o=t[e];if(void 0!==o)return o.exports;var i=t[e]={exports:{}};return n[e](i,i.exports,r),i.exports}
r.m=n;r.e=e=>Promise.all(Object.keys(r.f).reduce(((n,t)=>(r.f[t](e,n),n)),[]));
r.u=e=>"static/js/"+({12:"main",34:"lazy"}[e]||e)+"."+{12:"abcd1234",34:"ef567890",56:"01234567"}[e]+".chunk.js";
r.miniCssF=e=>"static/css/"+e+"."+{34:"11112222"}[e]+".css";r.p="/app/";
r.u=e=>12===e?"a.js":34===e?"b.js":void 0;r.e(34).then(r.bind(r,99));r.e(56);
var s=document.createElement("script");s.src=r.p+""+({0:"x"}[c]||c)+".js";
(self.webpackChunkapp=self.webpackChunkapp||[]).push([[12],{99:(e,n,t)=>{e.exports=t.p+"media/logo.3f2a.svg"}}])})();
